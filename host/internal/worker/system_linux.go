package worker

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system can enforce the limits of a worker.
func Supported() bool { return true }

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

// harden closes this process to other processes and lets it start none. It checks that
// its pipes exist.
func harden() error {
	for _, fd := range []int{fdIn, fdOut} {
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return fmt.Errorf("descriptor %d is no pipe", fd)
		}
	}
	leaveTerminal()
	_ = childless() // optional, like the first filter
	return prctl(prSetDumpable, 0)
}

// leaveTerminal gives up the controlling terminal for good: only a session leader can
// get a new one.
func leaveTerminal() {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return // it has none
	}
	_ = unix.IoctlSetInt(fd, unix.TIOCNOTTY, 0)
	_ = unix.Close(fd)
}

// bind sets the limits of this process, for good.
func bind(b bounds) error {
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

// closeInherited closes the descriptors from first on that the parent's own parent
// left open. Those of the Go runtime are marked close-on-exec, inherited ones are not.
func closeInherited(first int) error {
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

// lent returns the path of an inherited descriptor.
func lent(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// A spawner starts processes from one thread that lives as long as the spawner. The
// kernel kills a child when the thread that started it ends, so no child outlives this
// process.
type spawner struct {
	jobs chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func()), done: make(chan struct{})}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Release() // package os must probe the system before the filter is installed
	}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer close(s.done)
		// Children inherit this mark of the thread: no program that they
		// start gains privileges by setuid.
		_ = prctl(prSetNoNewPrivs, 1)
		// They inherit the filter too: no sockets, and no access to other processes. A kernel
		// without filters offers less protection.
		_ = filter()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) (err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		// Ctrl-C of a terminal is for the parent, which then decides. A session of its own
		// would do that too, but where the kernel groups sessions, priorities
		// count only within a session.
		Setpgid: true,
	}
	ready := make(chan struct{})
	s.jobs <- func() {
		defer close(ready)
		err = cmd.Start()
	}
	<-ready
	return err
}

// close ends the thread, and with it every child that is still alive.
func (s *spawner) close() {
	close(s.jobs)
	<-s.done
}

// killed reports whether another process ended the child.
func killed(p *os.ProcessState) bool {
	w, ok := p.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && (w.Signal() == syscall.SIGKILL || w.Signal() == syscall.SIGTERM)
}
