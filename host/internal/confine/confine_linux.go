package confine

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Operations of prctl.
const (
	prSetDumpable   = 4
	prSetNoNewPrivs = 38
)

func prctl(op, arg uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, op, arg, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// Harden closes this process to other processes and lets it start none. It checks that
// the descriptors of its pipes are pipes.
func Harden(pipes ...int) error {
	for _, fd := range pipes {
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return fmt.Errorf("descriptor %d is no pipe", fd)
		}
	}
	LeaveTerminal()
	_ = startNothing() // optional, like the first filter
	return prctl(prSetDumpable, 0)
}

// LeaveTerminal gives up the controlling terminal for good: only a session leader can
// get a new one.
func LeaveTerminal() {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return // it has none
	}
	_ = unix.IoctlSetInt(fd, unix.TIOCNOTTY, 0)
	_ = unix.Close(fd)
}

// Bind sets the limits of this process, for good.
func Bind(b Bounds) error {
	if raced {
		b.Data = 0 // the detector's own memory is beyond any useful bound
	}
	set := func(what int, most int64) error {
		return syscall.Setrlimit(what, &syscall.Rlimit{Cur: uint64(most), Max: uint64(most)})
	}
	if err := set(syscall.RLIMIT_CORE, 0); err != nil {
		return err
	}
	for what, most := range map[int]int64{syscall.RLIMIT_DATA: b.Data, syscall.RLIMIT_CPU: b.CPU, syscall.RLIMIT_NOFILE: b.Files} {
		if most <= 0 {
			continue
		}
		if err := set(what, most); err != nil {
			return err
		}
	}
	return nil
}

// CloseInherited closes the descriptors from first on that the parent's own parent
// left open. Those of the Go runtime are marked close-on-exec, inherited ones are not.
func CloseInherited(first int) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < first {
			continue
		}
		flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(fd) // the descriptor is closed even after an error
		}
	}
	return nil
}

// Path returns the path of an inherited descriptor.
func Path(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Thread restricts the calling thread and every process that it starts: no program
// gains privileges by setuid, and there are no sockets and no access to other processes.
// A kernel without system call filters offers less protection.
func Thread() {
	_ = prctl(prSetNoNewPrivs, 1)
	_ = filter()
}

// StartNothing lets this process start threads and nothing else. The error says that
// the kernel has no system call filters.
func StartNothing() error { return startNothing() }
