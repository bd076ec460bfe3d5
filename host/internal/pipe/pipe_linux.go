//go:build linux && !race

package pipe

import (
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

// quick says that an End bypasses the runtime. Under the race detector it must not: the
// detector learns of data in a file from the file's methods.
const quick = true

// nonblocking reports whether no system call on the pipe blocks.
func nonblocking(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return false
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var flags uintptr
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) { flags, _, errno = syscall.RawSyscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0) })
	return err == nil && errno == 0 && flags&syscall.O_NONBLOCK != 0
}

func read(fd uintptr, p []byte) (int, syscall.Errno)  { return ask(syscall.SYS_READ, fd, p) }
func write(fd uintptr, p []byte) (int, syscall.Errno) { return ask(syscall.SYS_WRITE, fd, p) }

func ask(what, fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(what, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}
