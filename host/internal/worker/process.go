package worker

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/cpusched"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/shmring"
	"github.com/weirhost/weir/sdk/tool"
)

// A process is one child, as its parent sees it. Who starts it quietIn to it, and
// then the first call in its line; kill and dead may be used by all.
type process struct {
	cmd    *exec.Cmd
	link   shmring.Link
	queue  callQueue
	read   *shmring.Reader // the first call's
	send   *shmring.Writer
	loan   *jail.Loan
	key    string // of the mounts that it was lent
	stderr *stderrHead

	sched *cpusched.OSProcess // what shares the cores

	attached bool         // it is among its module's lines; the pool's mu holds it, and the next three
	slot     sandbox.Slot // of its line, while that has calls; nil: they need none
	weight   tool.Bytes   // of its own memory, when it was last measured
	measured time.Time

	once sync.Once
	gone chan struct{} // closed when it has ended and is reaped
}

// errSpawn says that no child could be made, which is nobody's fault in there.
var errSpawn = msg.Errorf("the tool's process cannot be started")

// spawn starts a child that was lent the mounts. The plugin's name is for who
// looks at a list of processes.
func (p *Pool) spawn(plugin string, mounts []jail.Mount) (*process, error) {
	loan, err := jail.Lend(mounts)
	if err != nil {
		return nil, &mountError{err}
	}
	ours, theirs, err := shmring.NewLink()
	if err != nil {
		return nil, errors.Join(errSpawn, err, loan.Close())
	}
	w := &process{link: ours, read: shmring.NewReader(ours.Out, ours.Shared, shmring.ToParent), send: shmring.NewWriter(ours.Carrier(), ours.Shared, shmring.ToChild), loan: loan, key: mountKey(mounts), stderr: &stderrHead{}, gone: make(chan struct{})}
	w.queue.claims, w.queue.room, w.queue.send, w.queue.kill = ours.Shared.Claims(), ours.Capacity, w.send, w.kill
	w.cmd = exec.Command(p.cfg.Command[0], append(slices.Clone(p.cfg.Command[1:]), plugin, Argument)...)
	w.cmd.Args[0] = filepath.Base(os.Args[0])
	w.cmd.Env = []string{} // not nil, which would pass ours on
	w.cmd.Dir = "/"
	w.cmd.ExtraFiles = append(theirs, loan.Files()...)
	w.cmd.Stderr = w.stderr
	w.cmd.WaitDelay = time.Second
	err = p.spawner.start(w.cmd)
	for _, f := range theirs {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.queue.close()
		return nil, errors.Join(errSpawn, err, ours.Close(), loan.Close())
	}
	w.sched = cpusched.NewOSProcess(w.cmd.Process, p.idleClass)
	p.children.Go(func() { w.reap() })
	return w, nil
}

// mountError says that a granted folder cannot be opened.
type mountError struct{ error }

func (e *mountError) Unwrap() error { return e.error }

// reap waits for the end of the child. The pipes end with it, unless it has handed
// them on: what was said lies there, and nobody waits for more.
func (w *process) reap() {
	_ = w.cmd.Wait() // how it ended stands in the state
	over := time.Now().Add(drainTime)
	_ = errors.Join(w.link.In.SetDeadline(over), w.link.Out.SetDeadline(over)) // an error means that they are closed
	close(w.gone)
}

// drainTime is for how long the last words of a child that has ended are read.
const drainTime = time.Second

// kill ends the child at once; it does not wait.
func (w *process) kill() { _ = w.cmd.Process.Kill() } // an error means that it has ended

// dead reports whether the child has ended.
func (w *process) dead() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// usable reports whether another call can have the worker. It may look at the granted
// folders, and no lock is held for that. Of one without any another call may let go
// in the same moment; one with folders has one call at a time.
func (w *process) usable() bool { return !w.dead() && (w.key == "" || w.loan.Current()) }

// discard ends the child and lets go of everything; it waits for the end.
func (w *process) discard() {
	w.kill()
	<-w.gone
	w.once.Do(func() {
		w.queue.close()
		_ = errors.Join(w.link.Close(), w.loan.Close())
	})
}

// load sends the module and waits until the child is ready. When ctx ends the
// child is killed, which is told also where it was ready in the same moment: nobody
// else may be given it.
func (w *process) load(ctx context.Context, l loadMeta, wasm []byte) (err error) {
	stop := context.AfterFunc(ctx, w.kill)
	defer func() {
		if !stop() && err == nil {
			err = w.lossOf(ctx.Err())
		}
	}()
	if err := w.send.Write(kindLoad, l, wasm); err != nil {
		return w.lossOf(err)
	}
	allowed := shmring.Limits{kindReady: {Meta: maxText}, kindLog: {Meta: maxText}}
	for lines := 0; lines <= maxLines; lines++ {
		f, err := w.read.Read(&allowed, nil)
		switch {
		case err != nil:
			return w.lossOf(err)
		case f.Kind == kindLog:
			continue
		}
		ready, err := shmring.Decode[readyMeta](f)
		switch {
		case err != nil:
			return w.lossOf(err)
		case ready.NotCompiled:
			return sandbox.ErrNotCompiled
		case ready.Refused.Format != "":
			why, err := ready.Refused.text(maxDepth)
			if err != nil {
				return w.lossOf(err)
			}
			return msg.Errorf("%s", why)
		}
		return nil
	}
	return w.lossOf(shmring.ErrProtocol)
}

// A lossError says that a child ended, or had to be ended, before it answered.
type lossError struct {
	err    error // what was noticed first
	state  *os.ProcessState
	stderr string
}

func (e *lossError) Error() string {
	if e.stderr != "" {
		return e.state.String() + ": " + e.stderr
	}
	return e.state.String()
}

func (e *lossError) Unwrap() error { return e.err }

// outOfMemory reports whether the child died for want of memory. Where the Go
// runtime does not notice that the kernel gave it none, it dies of using it: on
// its own stack, at address 0, which no guest's mistake comes to.
func (e *lossError) outOfMemory() bool {
	for _, words := range []string{"out of memory", "cannot allocate memory", "failed to create new OS thread"} {
		if strings.Contains(e.stderr, words) {
			return true
		}
	}
	return strings.Contains(e.stderr, "SIGSEGV") && strings.Contains(e.stderr, "addr=0x0;") && strings.Contains(e.stderr, "goroutine 0 ")
}

// cpu is the CPU time that the child has used.
func (e *lossError) cpu() time.Duration { return e.state.UserTime() + e.state.SystemTime() }

// why ends the child and makes the error of its loss.
func (w *process) lossOf(err error) error {
	if errors.Is(err, shmring.ErrProtocol) {
		w.kill()
	} else {
		// It closed its pipe, so it is about to end and say why; what only closes
		// its pipe is ended.
		select {
		case <-w.gone:
		case <-time.After(time.Second):
			w.kill()
		}
	}
	<-w.gone
	return &lossError{err: err, state: w.cmd.ProcessState, stderr: w.stderr.text()}
}

// tail keeps what a child prints to its stderr, the beginning of it: the Go
// runtime says there why it dies.
type stderrHead struct {
	mu   sync.Mutex
	head []byte
}

const maxStderr = 8 << 10

func (t *stderrHead) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head = append(t.head, p[:min(len(p), maxStderr-len(t.head))]...)
	return len(p), nil
}

// text is the first line that says something, and the next.
func (t *stderrHead) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for line := range strings.Lines(string(t.head)) {
		if line = sandbox.Printable(strings.TrimSpace(line), 300); line != "" {
			lines = append(lines, line)
		}
		if len(lines) == 3 {
			break
		}
	}
	return strings.Join(lines, "; ")
}
