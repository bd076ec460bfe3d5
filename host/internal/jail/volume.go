package jail

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// volume is one mount as a file system. Chmod, Link and Symlink stay what the
// embedded type makes of them, or are refused below: a guest has no use for
// them that is not an escape.
type volume struct {
	sys.UnimplementedFS
	root  *os.Root
	write bool
	veil  *veil // nil: nothing is hidden
	// bounds are shared by the mounts of a jail.
	bounds *bounds
}

var _ sys.FS = (*volume)(nil)

const (
	filePerm = 0o666 // before the process's umask, as any program creates files
	dirPerm  = 0o777
)

// local turns a guest path into one below the root. The root would refuse an
// escape as well; this refuses it by name, before any file is touched.
func local(p string) (string, sys.Errno) {
	if tooLong(p) {
		return "", sys.ENAMETOOLONG
	}
	dir := strings.HasSuffix(p, "/")
	p = path.Clean("./" + strings.TrimRight(p, "/"))
	if strings.ContainsRune(p, 0) {
		return "", sys.EINVAL
	}
	if !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", sys.EPERM
	}
	if dir && p != "." {
		p += "/" // a trailing slash asks for a folder, and the root checks it
	}
	return filepath.FromSlash(p), 0
}

// OpenFile implements sys.FS.
func (v *volume) OpenFile(name string, flag sys.Oflag, _ fs.FileMode) (sys.File, sys.Errno) {
	name, errno := local(name)
	if errno != 0 {
		return nil, errno
	}
	changes := flag&(sys.O_RDWR|sys.O_WRONLY|sys.O_CREAT|sys.O_TRUNC|sys.O_APPEND) != 0
	if !v.write && changes {
		return nil, v.readOnly(name, flag)
	}
	if flag&sys.O_NOFOLLOW != 0 {
		if info, err := v.root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, sys.ELOOP
		}
	}
	if changes && v.locks(name, false) || v.hides(name) {
		return nil, sys.EPERM
	}
	if errno := v.bounds.enter(); errno != 0 {
		return nil, errno
	}
	f, errno := v.open(name, flag, changes)
	if errno != 0 {
		v.bounds.leave()
		return nil, errno
	}
	return f, 0
}

// open opens a file that the guest may have, as far as its name tells, and
// looks at what it is before anything is cut.
func (v *volume) open(name string, flag sys.Oflag, changes bool) (*file, sys.Errno) {
	open := func(name string, flag int) (*os.File, error) { return v.root.OpenFile(name, flag, filePerm) }
	if flag&sys.O_CREAT != 0 {
		open = v.create
	}
	f, err := open(name, osFlag(flag))
	if err != nil {
		return nil, errnoOf(err)
	}
	info, err := f.Stat()
	errno := sys.Errno(0)
	switch {
	case err != nil:
		errno = errnoOf(err)
	case v.veil.shut(f, info, changes):
		errno = sys.EPERM
	case info.IsDir() && flag&(sys.O_RDWR|sys.O_WRONLY) != 0:
		errno = sys.EISDIR
	case !info.IsDir() && flag&sys.O_DIRECTORY != 0:
		errno = sys.ENOTDIR
	case !info.IsDir() && !info.Mode().IsRegular():
		errno = sys.EACCES
	case flag&sys.O_TRUNC != 0 && !info.IsDir():
		errno = errnoOf(f.Truncate(0))
	}
	if errno != 0 {
		f.Close()
		return nil, errno
	}
	return &file{f: f, st: wsys.NewStat_t(info), dir: info.IsDir(), flag: flag, bounds: v.bounds}, 0
}

// readOnly picks the error of a write to a read-only mount. A folder opened
// for writing is "is a directory" everywhere, and guests probe for that.
func (v *volume) readOnly(name string, flag sys.Oflag) sys.Errno {
	if info, err := v.root.Stat(name); err == nil && info.IsDir() && flag&sys.O_CREAT == 0 {
		return sys.EISDIR
	}
	return sys.EROFS
}

func osFlag(flag sys.Oflag) int {
	f := os.O_RDONLY
	switch { // what is cut is opened for writing first, and cut by its handle
	case flag&sys.O_RDWR != 0, flag&sys.O_TRUNC != 0 && flag&sys.O_WRONLY == 0:
		f = os.O_RDWR
	case flag&sys.O_WRONLY != 0:
		f = os.O_WRONLY
	}
	for guest, host := range map[sys.Oflag]int{
		sys.O_APPEND: os.O_APPEND, sys.O_CREAT: os.O_CREATE, sys.O_EXCL: os.O_EXCL,
		sys.O_SYNC: os.O_SYNC, sys.O_DSYNC: os.O_SYNC, sys.O_RSYNC: os.O_SYNC,
	} {
		if flag&guest != 0 {
			f |= host
		}
	}
	return f | nonblock
}

// Stat implements sys.FS.
func (v *volume) Stat(name string) (wsys.Stat_t, sys.Errno) { return v.stat(name, true) }

// Lstat implements sys.FS.
func (v *volume) Lstat(name string) (wsys.Stat_t, sys.Errno) { return v.stat(name, false) }

// stat describes what a name leads to, with or without the last link. Of a hidden file
// it tells that it is there, and neither how long it is nor when it was used.
func (v *volume) stat(name string, last bool) (wsys.Stat_t, sys.Errno) {
	name, errno := local(name)
	if errno != 0 {
		return wsys.Stat_t{}, errno
	}
	look := v.root.Lstat
	if last {
		look = v.root.Stat
	}
	info, err := look(name)
	if err != nil {
		return wsys.Stat_t{}, errnoOf(err)
	}
	st := wsys.NewStat_t(info)
	if v.veil != nil && !info.IsDir() && (v.concealed(name, last) || v.write && !v.certain(name, info)) {
		st.Size, st.Atim, st.Mtim, st.Ctim = 0, 0, 0, 0
	}
	return st, 0
}

// certain reports whether what was described of a name is not of a hidden file: a name may
// lead elsewhere from one moment to the next where the guest may write, and so exchange
// links. The file is opened for that, and known by where it lies.
func (v *volume) certain(name string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return true
	}
	f, err := v.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) // a file that weir cannot read is not one that it hides
	}
	defer f.Close()
	now, err := f.Stat()
	return err == nil && os.SameFile(now, info) && !v.veil.shut(f, now, false)
}

// Readlink implements sys.FS. The target of a link that leads out stays
// hidden: it would reveal paths of this machine.
func (v *volume) Readlink(name string) (string, sys.Errno) {
	name, errno := local(name)
	if errno != 0 {
		return "", errno
	}
	target, err := v.root.Readlink(name)
	if err != nil {
		return "", errnoOf(err)
	}
	if filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), target)) {
		return "", sys.EPERM
	}
	return filepath.ToSlash(target), 0
}

// Mkdir implements sys.FS.
func (v *volume) Mkdir(name string, _ fs.FileMode) sys.Errno {
	return v.change(name, false, func(n string) error {
		return v.in(strings.TrimSuffix(n, "/"), false, func(p *parent) error { return p.root.Mkdir(p.base, dirPerm) })
	})
}

// Rename implements sys.FS. It works within one mount only.
func (v *volume) Rename(from, to string) sys.Errno {
	target, errno := local(to)
	if errno != 0 {
		return errno
	}
	if v.write && v.locks(target, true) {
		return sys.EPERM
	}
	return v.change(from, true, func(n string) error { return v.move(n, target) })
}

// Unlink implements sys.FS.
func (v *volume) Unlink(name string) sys.Errno { return v.remove(name, false) }

// Rmdir implements sys.FS.
func (v *volume) Rmdir(name string) sys.Errno { return v.remove(name, true) }

func (v *volume) remove(name string, dir bool) sys.Errno {
	return v.change(name, true, func(n string) error {
		return v.in(n, true, func(p *parent) error {
			info, err := p.root.Lstat(p.base)
			switch {
			case err != nil:
				return err
			case info.IsDir() && !dir:
				return sys.EISDIR
			case !info.IsDir() && dir:
				return sys.ENOTDIR
			}
			return p.root.Remove(p.base)
		})
	})
}

// Utimens implements sys.FS.
func (v *volume) Utimens(name string, atim, mtim int64) sys.Errno {
	return v.change(name, false, func(n string) error { return v.setTimes(n, atim, mtim) })
}

func orTime(t, kept int64) time.Time {
	if t == sys.UTIME_OMIT {
		t = kept
	}
	return time.Unix(0, t)
}

// Link implements sys.FS; it is always refused.
func (*volume) Link(string, string) sys.Errno { return sys.EPERM }

// Symlink implements sys.FS; it is always refused.
func (*volume) Symlink(string, string) sys.Errno { return sys.EPERM }

// change runs an operation that writes, where writing is granted. One that is
// about the name moves it, or takes it away.
func (v *volume) change(name string, moving bool, op func(string) error) sys.Errno {
	name, errno := local(name)
	if errno != 0 {
		return errno
	}
	switch {
	case !v.write:
		return sys.EROFS
	case v.locks(name, moving):
		return sys.EPERM
	}
	return errnoOf(op(name))
}

// errnoOf gives guests an errno they know. An escape that the root refused is
// reported by it as an error of its own kind; for a guest it is "not permitted".
func errnoOf(err error) sys.Errno {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[sys.Errno](err); ok {
		return e
	}
	errno := sys.UnwrapOSError(err)
	if errno == sys.EIO && !hasSyscall(err) {
		return sys.EPERM
	}
	return errno
}
