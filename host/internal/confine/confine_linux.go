package confine

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Hide closes this process's memory, environment and descriptors to other processes of its
// user. What it needs of its own files below /proc it opens before.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// Harden closes this process to other processes. It checks that the descriptors of its
// pipes are pipes.
func Harden(pipes ...int) error {
	for _, fd := range pipes {
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return fmt.Errorf("descriptor %d is no pipe", fd)
		}
	}
	LeaveTerminal()
	return Hide()
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

// Thread restricts the calling thread and every process that it starts: no program gains
// privileges by setuid or by a file, and one of root has few.
func Thread() {
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) // a kernel that has it never fails
	limitChildren()
}
