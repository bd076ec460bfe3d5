package jail

import (
	"cmp"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rename moves an entry of one open folder to another.
func (*volume) rename(a, b *parent, _, _ string) error {
	return syscall.Renameat(int(a.dir.Fd()), a.base, int(b.dir.Fd()), b.base)
}

// chtimes sets the times of an open entry, and looks for no path: a worker may not.
func (*parent) chtimes(f *os.File, atime, mtime time.Time) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	times := [2]unix.Timespec{timespec(atime), timespec(mtime)}
	controlled := conn.Control(func(fd uintptr) {
		if _, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, fd, 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0); errno != 0 {
			err = errno
		}
	})
	return cmp.Or(controlled, err)
}

func timespec(t time.Time) unix.Timespec { return unix.NsecToTimespec(t.UnixNano()) }
