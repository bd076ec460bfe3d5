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

// Supported reports whether this system can hold a worker to its bounds.
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

// harden makes a fresh worker opaque to other processes, and has it start none. It
// checks that it was given its pipes.
func harden() error {
	for _, fd := range []int{fdIn, fdOut} {
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return fmt.Errorf("descriptor %d is no pipe", fd)
		}
	}
	leaveTerminal()
	_ = childless() // as with the first filter
	return prctl(prSetDumpable, 0)
}

// leaveTerminal gives up the terminal that this process has from its parent, for good:
// only who leads a session gets one.
func leaveTerminal() {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return // it has none
	}
	_ = unix.IoctlSetInt(fd, unix.TIOCNOTTY, 0)
	_ = unix.Close(fd)
}

// bind holds this process to bounds, for good.
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

// closeInherited closes what this process has from its parent beside the
// descriptors below first: those that whoever started the parent left open.
// The Go runtime's own are marked to be closed by an exec, inherited ones never.
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
			_ = syscall.Close(fd) // whatever it says, the descriptor is gone
		}
	}
	return nil
}

// lent is the path of an inherited descriptor.
func lent(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// A spawner starts processes from one thread that lives as long as itself: a
// child is killed by the kernel when the thread that made it ends, which is how
// no child outlives this process.
type spawner struct {
	jobs chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func()), done: make(chan struct{})}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Release() // by now package os knows what it may do, which it must not ask behind the filter
	}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer close(s.done)
		// A thread's own mark, which its children inherit: no program that they
		// could start gains anything by being setuid.
		_ = prctl(prSetNoNewPrivs, 1)
		// Another one: no sockets, and no hands on other processes. A kernel
		// without filters leaves it at what a worker was given.
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
		// A terminal's Ctrl-C is for the parent, which then decides. A session of its own
		// would keep it from that too, but where the kernel groups sessions, priorities
		// count only within one.
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

// close ends the thread; no child may be left that should live on.
func (s *spawner) close() {
	close(s.jobs)
	<-s.done
}

// killed reports whether somebody else ended the process.
func killed(p *os.ProcessState) bool {
	w, ok := p.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && (w.Signal() == syscall.SIGKILL || w.Signal() == syscall.SIGTERM)
}
