package worker

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/weirhost/weir/host/internal/confine"
)

// Supported reports whether this system can enforce the limits of a worker.
func Supported() bool { return true }

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
		confine.Thread() // which children inherit
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
