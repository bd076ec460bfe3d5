package sandbox

import (
	"crypto/rand"
	"io/fs"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	wasi "github.com/tetratelabs/wazero/sys"
)

// What a guest has done for it by WASI takes time that its own code does not pay
// for: a thousand reads of a megabyte pass between two looks at the flag. So each
// of these functions looks itself, and ends the guest whose span is over.

// check ends the guest if its span is over. Only the guest's own goroutine calls
// it, in a host function.
func (e *env) check() {
	if e.span.over() {
		panic(errOver) // the engine makes it the call's error
	}
}

// world is what WASI shows to the guest.
func (e *env) world() wazero.ModuleConfig {
	mounts := wazero.NewFSConfig()
	for _, v := range e.jail.Volumes() {
		mounts = mounts.(sysfs.FSConfig).WithSysFSMount(&slowFS{v.FS, e}, v.Guest)
	}
	return wazero.NewModuleConfig().WithFSConfig(mounts).
		WithRandSource(slowRandom{e}).WithSysWalltime().WithSysNanotime().WithNanosleep(e.sleep).
		WithStdout(e.stdout).WithStderr(e.stderr)
}

// slowRandom is true randomness. A guest may ask for as much as its memory holds.
type slowRandom struct{ env *env }

// Read implements io.Reader; it gives a mebibyte at most at once.
func (r slowRandom) Read(b []byte) (int, error) {
	r.env.check()
	return rand.Read(b[:min(len(b), 1<<20)])
}

// slowFS is a folder.
type slowFS struct {
	sys.FS
	env *env
}

func (s *slowFS) OpenFile(path string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	s.env.check()
	f, errno := s.FS.OpenFile(path, flag, perm)
	if errno != 0 {
		return nil, errno
	}
	return &slowFile{f, s.env}, 0
}

func (s *slowFS) Lstat(path string) (wasi.Stat_t, sys.Errno) {
	s.env.check()
	return s.FS.Lstat(path)
}

func (s *slowFS) Stat(path string) (wasi.Stat_t, sys.Errno) {
	s.env.check()
	return s.FS.Stat(path)
}

func (s *slowFS) Mkdir(path string, perm fs.FileMode) sys.Errno {
	s.env.check()
	return s.FS.Mkdir(path, perm)
}

func (s *slowFS) Rename(from, to string) sys.Errno {
	s.env.check()
	return s.FS.Rename(from, to)
}

func (s *slowFS) Rmdir(path string) sys.Errno {
	s.env.check()
	return s.FS.Rmdir(path)
}

func (s *slowFS) Unlink(path string) sys.Errno {
	s.env.check()
	return s.FS.Unlink(path)
}

// slowFile is a file in it.
type slowFile struct {
	sys.File
	env *env
}

func (f *slowFile) Read(b []byte) (int, sys.Errno) {
	f.env.check()
	return f.File.Read(b)
}

func (f *slowFile) Pread(b []byte, at int64) (int, sys.Errno) {
	f.env.check()
	return f.File.Pread(b, at)
}

func (f *slowFile) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	f.env.check()
	return f.File.Readdir(n)
}

func (f *slowFile) Write(b []byte) (int, sys.Errno) {
	f.env.check()
	return f.File.Write(b)
}

func (f *slowFile) Pwrite(b []byte, at int64) (int, sys.Errno) {
	f.env.check()
	return f.File.Pwrite(b, at)
}

func (f *slowFile) Stat() (wasi.Stat_t, sys.Errno) {
	f.env.check()
	return f.File.Stat()
}

func (f *slowFile) Sync() sys.Errno {
	f.env.check()
	return f.File.Sync()
}

func (f *slowFile) Datasync() sys.Errno {
	f.env.check()
	return f.File.Datasync()
}
