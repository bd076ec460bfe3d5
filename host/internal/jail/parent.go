package jail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	wsys "github.com/tetratelabs/wazero/sys"
)

// A parent is an open folder with the name of one of its entries. An operation on it
// happens in that folder even if the path to it leads elsewhere by then: a guest can
// exchange a folder for a link between a check of the path and the operation.
type parent struct {
	root *os.Root
	dir  *os.File // the same folder
	base string   // a trailing slash asks for a folder
}

// parentOf opens the folder of a name below the root. The caller must close it. The
// error is fs.ErrPermission if the entry must not be changed.
func (v *volume) parentOf(name string, moving bool) (p *parent, err error) {
	trimmed := strings.TrimSuffix(name, string(filepath.Separator))
	p = &parent{base: filepath.Base(trimmed) + name[len(trimmed):]}
	if p.root, err = v.root.OpenRoot(filepath.Dir(trimmed)); err != nil {
		return nil, err
	}
	if p.dir, err = p.root.Open("."); err == nil && v.veil.bars(p, moving) {
		err = fs.ErrPermission
	}
	if err != nil {
		_ = p.close() // the first error says more
		return nil, err
	}
	return p, nil
}

func (p *parent) close() error {
	if p.dir == nil {
		return p.root.Close()
	}
	return errors.Join(p.dir.Close(), p.root.Close())
}

// bars reports whether the entry of an open folder must not be changed: it is a ward,
// lies below one or, if it moves, contains one. Where the path of an open folder is
// unknown, only the check of the name before protects wards.
func (v *veil) bars(p *parent, moving bool) bool {
	if v == nil {
		return false
	}
	here := whereabouts(p.dir)
	if here == "" {
		return false
	}
	rel, err := filepath.Rel(v.root, here)
	if err != nil || !filepath.IsLocal(rel) {
		return true
	}
	base := filepath.Clean(p.base)
	place := append(steps(rel), steps(base)...)
	if v.named(place) {
		return true
	}
	info, _ := p.root.Lstat(base)
	for _, ws := range [][]ward{v.hidden, v.kept} {
		if at(ws, place) || is(ws, info) || moving && holds(place, ws) {
			return true
		}
	}
	return false
}

// in runs an operation on an entry in its open folder.
func (v *volume) in(name string, moving bool, op func(p *parent) error) error {
	p, err := v.parentOf(name, moving)
	if err != nil {
		return err
	}
	err = op(p)
	if cerr := p.close(); err == nil {
		err = cerr
	}
	return err
}

// create opens a file, and creates it if it is missing, in its open folder.
func (v *volume) create(name string, flag int) (f *os.File, err error) {
	place, ok := v.trace(name, true)
	if !ok || len(place) == 0 || strings.HasSuffix(name, string(filepath.Separator)) {
		return v.root.OpenFile(name, flag, filePerm) // an error, or a folder
	}
	err = v.in(filepath.Join(place...), false, func(p *parent) (err error) {
		f, err = p.create(flag)
		return err
	})
	return f, err
}

// creations is how often create looks again for an entry that appears and disappears.
const creations = 3

// create opens the entry, or creates it. It creates nothing where a link leads: a guest
// can exchange the entry for a link after the check.
func (p *parent) create(flag int) (f *os.File, err error) {
	for range creations {
		if flag&os.O_EXCL == 0 {
			if f, err = p.root.OpenFile(p.base, flag&^os.O_CREATE, filePerm); !errors.Is(err, fs.ErrNotExist) {
				return f, err
			}
		}
		f, err = p.root.OpenFile(p.base, flag|os.O_EXCL, filePerm) // follows no link
		if flag&os.O_EXCL != 0 || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return f, err
}

// setTimes sets the times of what a name leads to, in its open folder.
func (v *volume) setTimes(name string, atim, mtim int64) error {
	place, ok := v.trace(name, true)
	if !ok {
		return fs.ErrPermission
	}
	return v.in(filepath.Join(place...), false, func(p *parent) error {
		f, err := p.root.OpenFile(p.base, os.O_RDONLY|nonblock, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		switch {
		case err != nil:
			return err
		case v.veil.shut(f, info, true): // the entry was exchanged after the check
			return fs.ErrPermission
		}
		st := wsys.NewStat_t(info)
		return p.chtimes(f, orTime(atim, st.Atim), orTime(mtim, st.Mtim))
	})
}

// move renames an entry, both folders held open.
func (v *volume) move(from, to string) error {
	return v.in(from, true, func(a *parent) error {
		return v.in(to, true, func(b *parent) error { return v.rename(a, b, from, to) })
	})
}
