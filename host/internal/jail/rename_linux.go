package jail

import (
	"cmp"
	"os"
	"strconv"
	"syscall"
	"time"
)

// rename moves an entry of one open folder to another.
func (*volume) rename(a, b *parent, _, _ string) error {
	return syscall.Renameat(int(a.dir.Fd()), a.base, int(b.dir.Fd()), b.base)
}

// chtimes sets the times of an open entry.
func (*parent) chtimes(f *os.File, atime, mtime time.Time) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	controlled := conn.Control(func(fd uintptr) {
		err = os.Chtimes("/proc/self/fd/"+strconv.Itoa(int(fd)), atime, mtime)
	})
	return cmp.Or(controlled, err)
}
