package sandbox

import (
	"crypto/rand"
	"io/fs"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	wasi "github.com/tetratelabs/wazero/sys"
)

// WASI functions take time that the guest's own fuel does not include: a guest can
// read a megabyte a thousand times between two checks of its flag. So each
// of these functions checks the span and ends a guest whose span is over.

// check ends the guest if its span is over. Only the guest's own goroutine calls it,
// in a host function.
func (e *env) check() {
	if e.span.over() {
		panic(errOver) // the engine returns it as the call's error
	}
}

// world returns what WASI shows to the guest.
func (e *env) world() wazero.ModuleConfig {
	mounts := wazero.NewFSConfig()
	for _, v := range e.jail.Volumes() {
		mounts = mounts.(sysfs.FSConfig).WithSysFSMount(&checkedFS{v.FS, e}, v.Guest)
	}
	return wazero.NewModuleConfig().WithFSConfig(mounts).
		WithRandSource(checkedRandom{e}).WithSysWalltime().WithSysNanotime().WithNanosleep(e.sleep).
		WithStdout(e.stdout).WithStderr(e.stderr)
}

// checkedRandom returns true random numbers. A guest may request as many as its memory
// holds.
type checkedRandom struct{ env *env }

// Read implements io.Reader; it returns a mebibyte at most.
func (r checkedRandom) Read(b []byte) (int, error) {
	r.env.check()
	return rand.Read(b[:min(len(b), 1<<20)])
}

// checkedFS is a folder whose operations check the span.
type checkedFS struct {
	sys.FS
	env *env
}

func (s *checkedFS) OpenFile(path string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	s.env.check()
	f, errno := s.FS.OpenFile(path, flag, perm)
	if errno != 0 {
		return nil, errno
	}
	return &checkedFile{f, s.env}, 0
}

func (s *checkedFS) Lstat(path string) (wasi.Stat_t, sys.Errno) {
	s.env.check()
	return s.FS.Lstat(path)
}

func (s *checkedFS) Stat(path string) (wasi.Stat_t, sys.Errno) {
	s.env.check()
	return s.FS.Stat(path)
}

func (s *checkedFS) Mkdir(path string, perm fs.FileMode) sys.Errno {
	s.env.check()
	return s.FS.Mkdir(path, perm)
}

func (s *checkedFS) Rename(from, to string) sys.Errno {
	s.env.check()
	return s.FS.Rename(from, to)
}

func (s *checkedFS) Rmdir(path string) sys.Errno {
	s.env.check()
	return s.FS.Rmdir(path)
}

func (s *checkedFS) Unlink(path string) sys.Errno {
	s.env.check()
	return s.FS.Unlink(path)
}

// checkedFile is a file of a checkedFS.
type checkedFile struct {
	sys.File
	env *env
}

func (f *checkedFile) Read(b []byte) (int, sys.Errno) {
	f.env.check()
	return f.File.Read(b)
}

func (f *checkedFile) Pread(b []byte, at int64) (int, sys.Errno) {
	f.env.check()
	return f.File.Pread(b, at)
}

func (f *checkedFile) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	f.env.check()
	return f.File.Readdir(n)
}

func (f *checkedFile) Write(b []byte) (int, sys.Errno) {
	f.env.check()
	return f.File.Write(b)
}

func (f *checkedFile) Pwrite(b []byte, at int64) (int, sys.Errno) {
	f.env.check()
	return f.File.Pwrite(b, at)
}

func (f *checkedFile) Stat() (wasi.Stat_t, sys.Errno) {
	f.env.check()
	return f.File.Stat()
}

func (f *checkedFile) Sync() sys.Errno {
	f.env.check()
	return f.File.Sync()
}

func (f *checkedFile) Datasync() sys.Errno {
	f.env.check()
	return f.File.Datasync()
}
