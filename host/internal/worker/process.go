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
	"sync/atomic"
	"time"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// A process is one child, as its parent sees it. The goroutine that starts it talks to
// it first, then that of its call. kill and dead are safe for concurrent use.
type process struct {
	cmd    *exec.Cmd
	link   frames.Link
	read   *frames.Reader
	send   *frames.Writer
	loan   *jail.Loan
	key    string       // mountKey of its folders
	thread atomic.Int64 // runs its guests; 0: not known yet
	low    bool         // the priority of that thread was lowered
	stderr *stderrHead

	weight   tool.Bytes // of its own memory, when it was last measured; the pool's mu guards it and the next
	measured time.Time

	once sync.Once
	gone chan struct{} // closed when it has ended and was reaped
}

// errSpawn says that no child could be started. The module is not the cause.
var errSpawn = msg.Errorf("the tool's process cannot be started")

// spawn starts a child with open descriptors of the mounts. The plugin's name is shown
// in lists of processes.
func (p *Pool) spawn(plugin string, mounts []jail.Mount) (*process, error) {
	loan, err := jail.Lend(mounts)
	if err != nil {
		return nil, &mountError{err}
	}
	ours, theirs, err := frames.NewLink()
	if err != nil {
		return nil, errors.Join(errSpawn, err, loan.Close())
	}
	w := &process{link: ours, read: frames.NewReader(ours.Out), send: frames.NewWriter(ours.In), loan: loan, key: mountKey(mounts), stderr: &stderrHead{}, gone: make(chan struct{})}
	w.cmd = exec.Command(p.cfg.Command[0], append(slices.Clone(p.cfg.Command[1:]), plugin, Argument)...)
	w.cmd.Args[0] = filepath.Base(os.Args[0])
	w.cmd.Env = []string{} // empty; nil would pass on our environment
	w.cmd.Dir = "/"
	w.cmd.ExtraFiles = append(theirs, loan.Files()...)
	w.cmd.Stderr = w.stderr
	w.cmd.WaitDelay = time.Second
	err = p.spawner.start(w.cmd)
	for _, f := range theirs {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, errors.Join(errSpawn, err, ours.Close(), loan.Close())
	}
	p.children.Go(func() { w.reap() })
	return w, nil
}

// mountError says that a granted folder cannot be opened.
type mountError struct{ error }

func (e *mountError) Unwrap() error { return e.error }

// reap waits for the end of the child. The pipes end with it, unless the child has
// passed them on to another process; so they are read for drainTime at most.
func (w *process) reap() {
	_ = w.cmd.Wait() // the state says how it ended
	over := time.Now().Add(drainTime)
	_ = errors.Join(w.link.In.SetDeadline(over), w.link.Out.SetDeadline(over)) // an error means that they are closed
	close(w.gone)
}

// drainTime is how long the pipe of a child that has ended is read.
const drainTime = time.Second

// kill kills the child; it does not wait.
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

// usable reports whether another call can use the worker. It may look at the granted
// folders, so no lock is held.
func (w *process) usable() bool { return !w.dead() && (w.key == "" || w.loan.Current()) }

// discard kills the child, waits for its end and releases what it held.
func (w *process) discard() {
	w.kill()
	<-w.gone
	w.once.Do(func() {
		_ = errors.Join(w.link.Close(), w.loan.Close())
	})
}

// load sends the module and waits until the child is ready. When ctx ends the child is
// killed, also if it was ready at the same moment: then load returns an error, so it
// gets no call.
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
	allowed := frames.Limits{kindReady: {Meta: maxText}, kindLog: {Meta: maxText}}
	for lines := 0; lines <= maxLines; lines++ {
		f, err := w.read.Read(&allowed, nil)
		switch {
		case err != nil:
			return w.lossOf(err)
		case f.Kind == kindLog:
			continue
		}
		ready, err := frames.Decode[readyMeta](f)
		switch {
		case err != nil:
			return w.lossOf(err)
		case ready.NotCompiled:
			return sandbox.ErrNotCompiled
		case ready.Refused.Format != "":
			why, err := ready.Refused.Text(clean)
			if err != nil {
				return w.lossOf(frames.ErrProtocol)
			}
			return msg.Errorf("%s", why)
		}
		return nil
	}
	return w.lossOf(frames.ErrProtocol)
}

// A lossError says that a child ended, or had to be killed, before it answered.
type lossError struct {
	err    error // the first symptom
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

// outOfMemory reports whether the child ran out of memory. If the Go runtime does not
// notice that the kernel refused memory, it crashes at address 0 on its own stack,
// which no guest can cause.
func (e *lossError) outOfMemory() bool {
	said := func(words string) bool { return strings.Contains(e.stderr, words) }
	return slices.ContainsFunc([]string{"out of memory", "cannot allocate memory", "failed to create new OS thread", "pthread_create failed"}, said) ||
		said("SIGSEGV") && said("addr=0x0;") && said("goroutine 0 ")
}

// cpu returns the CPU time that the child has used.
func (e *lossError) cpu() time.Duration { return e.state.UserTime() + e.state.SystemTime() }

// lossOf kills the child and returns the error of its loss.
func (w *process) lossOf(err error) *lossError {
	if errors.Is(err, frames.ErrProtocol) {
		w.kill()
	} else {
		// It closed its pipe, so it is about to end and report why. A child that only closes
		// its pipe is killed.
		select {
		case <-w.gone:
		case <-time.After(time.Second):
			w.kill()
		}
	}
	<-w.gone
	return &lossError{err: err, state: w.cmd.ProcessState, stderr: w.stderr.text()}
}

// stderrHead stores the beginning of a child's stderr: the Go runtime reports there
// why it crashes.
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

// text returns the first three lines that are not empty.
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
