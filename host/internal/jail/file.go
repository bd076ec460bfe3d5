package jail

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// file is an open file or folder. It never opens a path again: everything
// happens on the handle that the root checked.
type file struct {
	sys.UnimplementedFile
	f      *os.File
	st     wsys.Stat_t // as it was when opened; device, inode and kind never change
	dir    bool
	flag   sys.Oflag
	bounds *bounds
	closed bool
}

var _ sys.File = (*file)(nil)

// Dev implements sys.File.
func (f *file) Dev() (uint64, sys.Errno) { return f.st.Dev, 0 }

// Ino implements sys.File.
func (f *file) Ino() (wsys.Inode, sys.Errno) { return f.st.Ino, 0 }

// IsDir implements sys.File.
func (f *file) IsDir() (bool, sys.Errno) { return f.dir, 0 }

// IsAppend implements sys.File.
func (f *file) IsAppend() bool { return f.flag&sys.O_APPEND != 0 }

// Stat implements sys.File.
func (f *file) Stat() (wsys.Stat_t, sys.Errno) {
	if f.closed {
		return wsys.Stat_t{}, sys.EBADF
	}
	info, err := f.f.Stat()
	if err != nil {
		return wsys.Stat_t{}, errnoOf(err)
	}
	return wsys.NewStat_t(info), 0
}

// Read implements sys.File.
func (f *file) Read(buf []byte) (int, sys.Errno) {
	return f.data(false, func() (int, error) { return f.f.Read(buf) })
}

// Pread implements sys.File.
func (f *file) Pread(buf []byte, off int64) (int, sys.Errno) {
	if off < 0 {
		return 0, sys.EINVAL
	}
	return f.data(false, func() (int, error) { return f.f.ReadAt(buf, off) })
}

// Write implements sys.File.
func (f *file) Write(buf []byte) (int, sys.Errno) {
	if errno := f.room(len(buf), nil); errno != 0 {
		return 0, errno
	}
	return f.data(true, func() (int, error) { return f.f.Write(buf) })
}

// Pwrite implements sys.File.
func (f *file) Pwrite(buf []byte, off int64) (int, sys.Errno) {
	if off < 0 {
		return 0, sys.EINVAL
	}
	if errno := f.room(len(buf), &off); errno != 0 {
		return 0, errno
	}
	return f.data(true, func() (int, error) { return f.f.WriteAt(buf, off) })
}

// room reserves n bytes of the write budget at an offset; nil: the file's current
// position, or its end.
func (f *file) room(n int, off *int64) sys.Errno {
	if f.closed || f.dir || f.flag&(sys.O_RDWR|sys.O_WRONLY) == 0 {
		return 0 // data says what is wrong
	}
	var at int64
	switch {
	case off != nil:
		at = *off
	case f.IsAppend():
		info, err := f.f.Stat()
		if err != nil {
			return errnoOf(err)
		}
		at = info.Size()
	default:
		var err error
		if at, err = f.f.Seek(0, io.SeekCurrent); err != nil {
			return errnoOf(err)
		}
	}
	return f.bounds.write(int64(n), at+int64(n))
}

// data runs a transfer on an open regular file, opened for it.
func (f *file) data(write bool, op func() (int, error)) (int, sys.Errno) {
	switch {
	case f.closed:
		return 0, sys.EBADF
	case f.dir:
		return 0, sys.EISDIR
	case write && f.flag&(sys.O_RDWR|sys.O_WRONLY) == 0, !write && f.flag&sys.O_WRONLY != 0:
		return 0, sys.EBADF
	}
	n, err := op()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, errnoOf(err)
}

// position is a name of its own because vet knows one signature of Seek only,
// and the engine wants an errno where io.Seeker has an error.
type position = int64

// Seek implements sys.File. A folder can only be rewound.
func (f *file) Seek(offset position, whence int) (position, sys.Errno) {
	switch {
	case f.closed:
		return 0, sys.EBADF
	case f.dir && (offset != 0 || whence != io.SeekStart):
		return 0, sys.EISDIR
	case whence < io.SeekStart || whence > io.SeekEnd:
		return 0, sys.EINVAL
	}
	n, err := f.f.Seek(offset, whence)
	return n, errnoOf(err)
}

// Readdir implements sys.File. Entries come without inodes: those would cost a
// look at every file, and guests that need one ask for it.
func (f *file) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	if f.closed || !f.dir {
		return nil, sys.EBADF
	}
	dirents := []sys.Dirent{}
	for n <= 0 || len(dirents) < n {
		batch := maxBatch
		if n > 0 {
			batch = min(batch, n-len(dirents))
		}
		entries, err := f.f.ReadDir(batch)
		for _, e := range entries {
			dirents = append(dirents, sys.Dirent{Name: e.Name(), Type: e.Type()})
		}
		if errors.Is(err, io.EOF) || err == nil && len(entries) == 0 {
			break
		}
		if err != nil {
			return dirents, errnoOf(err)
		}
	}
	return dirents, 0
}

// Truncate implements sys.File.
func (f *file) Truncate(size int64) sys.Errno {
	if size < 0 {
		return sys.EINVAL
	}
	if size > maxWrite {
		return sys.EIO
	}
	_, errno := f.data(true, func() (int, error) { return 0, f.f.Truncate(size) })
	return errno
}

// Sync implements sys.File.
func (f *file) Sync() sys.Errno {
	if f.closed {
		return sys.EBADF
	}
	return errnoOf(f.f.Sync())
}

// Datasync implements sys.File.
func (f *file) Datasync() sys.Errno { return f.Sync() }

// Close implements sys.File. Closing twice is no error.
func (f *file) Close() sys.Errno {
	if f.closed {
		return 0
	}
	f.closed = true
	f.bounds.leave()
	return errnoOf(f.f.Close())
}

func hasSyscall(err error) bool {
	_, ok := errors.AsType[syscall.Errno](err)
	return ok
}
