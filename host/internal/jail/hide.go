package jail

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A veil keeps files and folders of a mount from its guest. They are known by
// their place, whatever leads there, so that nothing is put where one is
// missing; a file also by what it is, so that no second name of it shows it.
type veil struct {
	root   string // of the mount, without links
	hidden []ward
	kept   []ward
	names  []string // kept wherever they lie
	env    bool     // files of secrets are hidden wherever they lie
}

// A ward is one file or folder under a veil.
type ward struct {
	path  string      // of this machine
	place []string    // the same below the root, without links; empty: the root itself
	away  bool        // it lies elsewhere: only a second name of the file leads to it
	info  fs.FileInfo // what was there when the mount was opened; nil: nothing
}

// veilOver returns the veil of a mount; nil: it covers nothing.
func veilOver(m Mount) *veil {
	root, err := filepath.EvalSymlinks(m.Host)
	if err != nil {
		return nil // the mount could not be opened either
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil
	}
	v := veil{root: root, hidden: wards(root, m.Hide), kept: wards(root, m.Keep)}
	for _, k := range m.Keep {
		if bare(k) {
			v.names = append(v.names, k)
		}
	}
	v.env = slices.Contains(m.Hide, EnvFile)
	if len(v.hidden)+len(v.kept)+len(v.names) == 0 && !v.env {
		return nil
	}
	return &v
}

// bare reports whether a path is a name without a folder.
func bare(path string) bool {
	return path != "" && !filepath.IsAbs(path) && filepath.Base(path) == path
}

// named reports whether a place has a name that is kept wherever it lies.
func (v *veil) named(place []string) bool {
	if len(place) == 0 {
		return false
	}
	last := place[len(place)-1]
	return slices.ContainsFunc(v.names, func(n string) bool { return strings.EqualFold(n, last) })
}

// EnvFile is the entry of Mount.Hide that hides every .env and .env.NAME, wherever it
// lies, except for examples.
const EnvFile = ".env"

// EnvFiles returns the entry of Mount.Hide for files of secrets, or none if the
// environment says that tools may read them. A nil lookup finds nothing.
func EnvFiles(lookup func(string) (string, bool)) []string {
	if lookup != nil {
		if v, _ := lookup("WEIR_SHOW_ENV_FILES"); v != "" {
			return nil
		}
	}
	return []string{EnvFile}
}

// secret reports whether a place has the name of a file of secrets.
func (v *veil) secret(place []string) bool {
	if !v.env || len(place) == 0 {
		return false
	}
	rest, ok := strings.CutPrefix(strings.ToLower(place[len(place)-1]), EnvFile)
	return ok && (rest == "" || rest[0] == '.') && !slices.Contains([]string{".example", ".sample", ".template", ".dist"}, filepath.Ext(rest))
}

// wards returns the paths with their places below root. Those elsewhere are wards too: a
// second name of the file may lie below root.
func wards(root string, paths []string) []ward {
	var ws []ward
	known := make(map[string]string)
	for _, path := range paths {
		if bare(path) {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(root, settledIn(known, abs))
		if err != nil { // another volume, on which no second name can lie
			continue
		}
		place := steps(rel)
		for len(place) > 0 && place[0] == ".." {
			place = place[1:]
			if len(place) == 0 { // the mount lies within it
				rel = "."
			}
		}
		w := ward{path: abs, place: place, away: rel != "." && !filepath.IsLocal(rel)}
		if info, err := os.Stat(abs); err == nil {
			w.info = info
		}
		ws = append(ws, w)
	}
	return ws
}

// settledIn is settled for one of several paths: known has the folders of those before it, by
// their names, for most lie in one.
func settledIn(known map[string]string, path string) string {
	dir, base := filepath.Split(filepath.Clean(path))
	real, ok := known[dir]
	if !ok || base == "" {
		real = filepath.Dir(settled(path))
		known[dir] = real
	}
	return filepath.Join(real, base)
}

// settled is a path whose folder, as far as it exists, is named without links.
func settled(path string) string {
	dir, base := filepath.Split(filepath.Clean(path))
	dir = filepath.Clean(dir)
	if base == "" || dir == path {
		return path
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, base)
	}
	return filepath.Join(settled(dir), base)
}

// steps are the names on the way of a relative path; the root has none.
func steps(rel string) []string {
	rel = filepath.ToSlash(filepath.Clean(rel))
	if rel == "." {
		return nil
	}
	return strings.Split(rel, "/")
}

// above reports whether a place lies at or above another. Small and capital
// letters are the same here, as they are to some file systems.
func above(place, other []string) bool {
	return len(place) <= len(other) && slices.EqualFunc(place, other[:len(place)], strings.EqualFold)
}

// at reports whether a place is that of a ward, or below it.
func at(ws []ward, place []string) bool {
	return slices.ContainsFunc(ws, func(w ward) bool { return !w.away && above(w.place, place) })
}

// holds reports whether a ward is at a place, or below it.
func holds(place []string, ws []ward) bool {
	return slices.ContainsFunc(ws, func(w ward) bool { return !w.away && above(place, w.place) })
}

// is reports whether a file is one of the wards.
func is(ws []ward, info fs.FileInfo) bool {
	if info == nil || info.IsDir() {
		return false
	}
	several := severalNames(info)
	for _, w := range ws {
		if w.away && !several {
			continue
		}
		if w.info != nil && os.SameFile(w.info, info) {
			return true
		}
		if now, err := os.Stat(w.path); err == nil && os.SameFile(now, info) {
			return true
		}
	}
	return false
}

// shut reports whether an open file must not be used after all: the name led
// elsewhere a moment ago.
func (v *veil) shut(f *os.File, info fs.FileInfo, write bool) bool {
	if v == nil {
		return false
	}
	ws := v.hidden
	if write {
		ws = append(ws[:len(ws):len(ws)], v.kept...)
	}
	if is(ws, info) {
		return true
	}
	rel, err := filepath.Rel(v.root, whereabouts(f))
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	place := steps(rel)
	return at(ws, place) || v.secret(place) && !info.IsDir() || write && v.named(place)
}

// maxLinks is how many links a path may lead through.
const maxLinks = 40

// trace follows a name below the root to its place without links. The last
// part is followed too if asked. What does not exist has its place all the same.
func (v *volume) trace(name string, last bool) (place []string, ok bool) {
	todo := steps(name)
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "..":
			if len(place) == 0 {
				return nil, false
			}
			place = place[:len(place)-1]
			continue
		case ".", "":
			continue
		}
		place = append(place, part)
		if len(todo) == 0 && !last {
			break
		}
		here := filepath.Join(place...)
		info, err := v.root.Lstat(here)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := v.root.Readlink(here)
		if links++; err != nil || links > maxLinks || filepath.IsAbs(target) {
			return nil, false // the root would not follow it either
		}
		place = place[:len(place)-1]
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	return place, true
}

// hides reports whether a name leads to something hidden, or to its place.
func (v *volume) hides(name string) bool {
	if v.veil == nil {
		return false
	}
	place, ok := v.trace(name, true)
	if v.veil.secret(place) {
		if info, err := v.root.Stat(name); err != nil || !info.IsDir() {
			return true
		}
	}
	return v.wardedAt(place, ok, name, v.root.Stat, v.veil.hidden)
}

// concealed reports whether a name is that of something hidden, with or without the last
// link: its length and times stay unknown to the guest.
func (v *volume) concealed(name string, last bool) bool {
	place, _ := v.trace(name, last)
	return v.veil.secret(place) || v.warded(name, last, v.veil.hidden)
}

// locks reports whether what a name leads to must not be changed. Moving, which
// takes the name itself and everything below, must not move a ward either.
func (v *volume) locks(name string, moving bool) bool {
	if v.veil == nil {
		return false
	}
	if place, ok := v.trace(name, !moving); !ok || v.veil.named(place) || v.veil.secret(place) {
		return true
	}
	for _, ws := range [][]ward{v.veil.hidden, v.veil.kept} {
		if v.warded(name, !moving, ws) {
			return true
		}
		place, _ := v.trace(name, false)
		if moving && holds(place, ws) {
			return true
		}
	}
	return false
}

// warded reports whether a name leads to one of the wards.
func (v *volume) warded(name string, last bool, ws []ward) bool {
	place, ok := v.trace(name, last)
	stat := v.root.Lstat
	if last {
		stat = v.root.Stat
	}
	return v.wardedAt(place, ok, name, stat, ws)
}

// wardedAt is warded for a name with its place.
func (v *volume) wardedAt(place []string, ok bool, name string, stat func(string) (fs.FileInfo, error), ws []ward) bool {
	if !ok || at(ws, place) {
		return true
	}
	info, err := stat(name)
	return err == nil && is(ws, info)
}
