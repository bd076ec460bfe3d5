//go:build linux

package worker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/cpusched"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// A queue makes calls of one worker whose guest does what its input says: the first
// call waits for a file, the others wait after it.
type queue struct {
	t     *testing.T
	m     *Module
	door  string // the file
	begun string // the file of begun calls
	calls sync.WaitGroup
	waits int // calls that were put into the line
}

// newQueue returns a queue whose waiting calls observe the first one with a given
// period.
func newQueue(t *testing.T, observeEvery time.Duration) *queue {
	begun := filepath.Join(t.TempDir(), "begun")
	q := newQueueOf(t, "gate:"+begun, observeEvery)
	q.begun = begun
	return q
}

// newQueueOf returns a queue of workers in a role.
func newQueueOf(t *testing.T, role string, observeEvery time.Duration) *queue {
	q := &queue{t: t, door: filepath.Join(t.TempDir(), "door")}
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	load(t, newPool(t, nil), pl) // so that it is compiled
	p := newPool(t, func(c *Config) { c.Command = asRole(role) })
	p.grace, p.observeEvery = max(observeEvery, cpusched.ShortCallTime), observeEvery
	q.m = load(t, p, pl)
	return q
}

// now makes a call of an export that counts as very short.
func (q *queue) now(ctx context.Context, input string, timeout time.Duration, judge func(sandbox.Output, *tool.Error)) {
	q.m.cost("run").Store(1)
	q.m.computes.Store(false) // as a call on a busy machine may have seemed to be
	inv := sandbox.Invocation{Export: "run", Input: []byte(input), Timeout: timeout}
	if strings.HasPrefix(input, "ask") {
		inv.Grant.HTTP = sender{}
	}
	judge(q.m.Call(ctx, inv))
}

// call makes a call in the background, and waits until it is in the queue, and begun
// if it is the first.
func (q *queue) call(ctx context.Context, input string, timeout time.Duration, judge func(sandbox.Output, *tool.Error)) {
	q.t.Helper()
	q.calls.Go(func() { q.now(ctx, input, timeout, judge) })
	q.waits++
	testtime.Until(q.t, input+" is in the line", func() bool { return q.length() == q.waits })
	if q.waits == 1 {
		testtime.Until(q.t, input+" is begun", func() bool {
			text, _ := os.ReadFile(q.begun)
			return slices.Contains(strings.Split(string(text), "\n"), input)
		})
	}
}

func (q *queue) length() (n int) {
	q.m.pool.mu.Lock()
	defer q.m.pool.mu.Unlock()
	for _, w := range q.m.busy {
		w.queue.mu.Lock()
		n = max(n, len(w.queue.calls))
		w.queue.mu.Unlock()
	}
	return n
}

// answered expects the call's input as its answer.
func (q *queue) answered(input string) func(sandbox.Output, *tool.Error) {
	return func(out sandbox.Output, fail *tool.Error) {
		if fail != nil || string(out.Bytes) != input {
			q.t.Errorf("%s: got %q, %v", input, out.Bytes, fail)
		}
	}
}

func (q *queue) failed(input string, code tool.Code) func(sandbox.Output, *tool.Error) {
	return func(out sandbox.Output, fail *tool.Error) {
		if fail == nil || fail.Code != code {
			q.t.Errorf("%s: got %q, %v, want %s", input, out.Bytes, fail, code)
		}
	}
}

// warm starts the worker, so calls can wait in its queue.
func (q *queue) warm() { q.now(q.t.Context(), "warm", patience, q.answered("warm")) }

func (q *queue) open() {
	if err := os.WriteFile(q.door, nil, 0o600); err != nil {
		q.t.Error(err)
	}
}

// end waits for all calls, and expects that these were begun, once each.
func (q *queue) end(begun ...string) {
	q.t.Helper()
	q.calls.Wait()
	text, err := os.ReadFile(q.begun)
	if err != nil {
		q.t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), q.door, "door")), "\n")
	slices.Sort(got)
	slices.Sort(begun)
	if !slices.Equal(got, begun) {
		q.t.Errorf("begun were %q, want %q", got, begun)
	}
}

type sender struct{}

func (sender) Do(context.Context, egress.Request) (egress.Response, *tool.Error) {
	return egress.Response{Status: 200}, nil
}

// A worker crashes with calls in its pipe: the running one fails, and the others run
// elsewhere, once each.
func TestACrashEndsOneCall(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	q.call(t.Context(), "die "+q.door, patience, q.failed("die", tool.Trapped))
	for _, input := range []string{"a", "b", "c"} {
		q.call(t.Context(), input, patience, q.answered(input))
	}
	q.open()
	q.end("warm", "die door", "a", "b", "c")
}

// The deadline of the first call in a queue ends that call only.
func TestADeadlineEndsOneCall(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	ctx, cancel := context.WithCancel(t.Context())
	q.call(ctx, "hold "+q.door, patience, q.failed("hold", tool.Cancelled))
	q.call(t.Context(), "a", patience, q.answered("a"))
	q.call(t.Context(), "b", patience, q.answered("b"))
	cancel() // which is a deadline that comes at once
	q.end("warm", "hold door", "a", "b")

	q.now(t.Context(), "hold "+q.door, 50*time.Millisecond, q.failed("hold", tool.TimedOut))
}

// A call's deadline passes while it waits: it is not begun, and the call before it
// goes on.
func TestWaitingCountsAgainstTheDeadline(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	q.call(t.Context(), "hold "+q.door, patience, q.answered("hold "+q.door))
	q.now(t.Context(), "late", 20*time.Millisecond, q.failed("late", tool.TimedOut))
	q.open()
	q.end("warm", "hold door")
}

// A waiting call is cancelled.
func TestAWaitingCallIsCancelled(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	q.call(t.Context(), "hold "+q.door, patience, q.answered("hold "+q.door))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	q.call(ctx, "gone", patience, func(out sandbox.Output, fail *tool.Error) {
		q.failed("gone", tool.Cancelled)(out, fail)
		close(done)
	})
	q.call(t.Context(), "after", patience, q.answered("after"))
	cancel()
	<-done
	q.open()
	q.end("warm", "hold door", "after")
}

// Calls that waited after a long one are answered while it runs on.
func TestALongCallDelaysNoOther(t *testing.T) {
	q := newQueue(t, observeEvery)
	q.warm()
	q.call(t.Context(), "hold "+q.door, patience, q.answered("hold "+q.door))
	for _, input := range []string{"a", "b", "c"} {
		q.now(t.Context(), input, patience, q.answered(input))
	}
	q.open()
	q.end("warm", "hold door", "a", "b", "c")
}

// A call that has waited is looked at when it has just begun: it is not long yet, and those
// after it stay.
func TestACallThatWaitedIsNotLongAtOnce(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	q.call(t.Context(), "hold "+q.door, patience, q.answered("hold "+q.door))
	q.call(t.Context(), "a", patience, q.answered("a"))
	q.m.pool.mu.Lock()
	c := q.m.busy[0].queue.calls[0]
	q.m.pool.mu.Unlock()
	c.mu.Lock()
	c.waited = true
	c.mu.Unlock()
	for _, want := range []int{2, 1} {
		if c.wake(); q.length() != want {
			t.Errorf("%d calls are in the queue, want %d", q.length(), want)
		}
	}
	q.open()
	q.end("warm", "hold door", "a")
}

// The first call sends an HTTP request: the calls after it go to another worker.
func TestACallWithARequestDelaysNoOther(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	q.call(t.Context(), "ask "+q.door, patience, q.answered("ask "+q.door))
	q.call(t.Context(), "a", patience, q.answered("a"))
	q.open()
	q.end("warm", "ask door", "a")
}

// A module with calls in a queue is closed, in time and not.
func TestCloseWithAQueue(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	q.call(t.Context(), "hold "+q.door, patience, q.failed("hold", tool.Cancelled))
	q.call(t.Context(), "a", patience, q.failed("a", tool.Cancelled))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.m.Close(over); err != nil {
		t.Error(err)
	}
	q.end("warm", "hold door")

	q = newQueue(t, time.Hour)
	q.warm()
	q.call(t.Context(), "hold "+q.door, patience, q.answered("hold "+q.door))
	q.call(t.Context(), "a", patience, q.answered("a"))
	q.open()
	if err := q.m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	q.end("warm", "hold door", "a")
}

// A call gets an idle worker just after its module has killed all busy ones.
func TestACallThatStartsAfterTheKill(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	c := &call{module: q.m, outer: t.Context(), inv: sandbox.Invocation{Export: "run", Input: []byte("hold " + q.door), Timeout: patience, MaxOutput: 10}}
	if !q.m.enter() {
		t.Fatal("it takes no calls")
	}
	i, _ := q.m.pool.tryAcquire(q.m, "", c, 0, false)
	if i == nil {
		t.Fatal("no worker waits")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	q.calls.Go(func() { _ = q.m.Close(over) })
	<-q.m.calls.Life().Done()
	q.m.endAll()
	q.m.pool.assign(q.m, i.w, c)
	out, fail := q.m.serve(c)
	q.failed("hold", tool.Cancelled)(out, fail)
	if c.expired() {
		t.Error("it ran until its own deadline")
	}
	q.m.leave()
	q.calls.Wait()
}

// A call's progress report is read when the worker has begun the next call: a slow
// Progress function delays no other call.
func TestASlowProgressFunctionDelaysNoOtherCall(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	done, reports := make(chan struct{}), 0
	c := &call{module: q.m, outer: t.Context(), inv: sandbox.Invocation{Export: "run", Input: []byte("tell"), Timeout: patience, MaxOutput: 10, Progress: func(int, int, string) {
		reports++
		select {
		case <-done:
		case <-time.After(patience / 2):
			t.Error("the call waits for the receiver of its report")
		}
	}}}
	if err := q.m.worker(t.Context(), "", c, false); err != nil {
		t.Fatal(err)
	}
	c.queue.flush()
	q.calls.Go(func() {
		q.now(t.Context(), "a", patience, q.answered("a"))
		close(done)
	})
	testtime.Until(t, "the next is begun", func() bool {
		text, _ := os.ReadFile(q.begun)
		return strings.Contains(string(text), "\na\n")
	})
	out, fail := c.run()
	q.m.release(c)
	q.answered("tell")(out, fail)
	if reports != 1 {
		t.Errorf("%d reports came", reports)
	}
	q.end("warm", "tell", "a")
}

// A call is checked while its result is unread and the next call runs: the next call
// is not killed with it.
func TestAnUnreadResultDoesNotKillTheNextCall(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	c := &call{module: q.m, outer: t.Context(), inv: sandbox.Invocation{Export: "run", Input: []byte("a"), Timeout: time.Hour, MaxOutput: 10}}
	if err := q.m.worker(t.Context(), "", c, false); err != nil {
		t.Fatal(err)
	}
	c.queue.flush()
	hold := "hold " + q.door
	q.calls.Go(func() { q.now(t.Context(), hold, patience, q.answered(hold)) })
	testtime.Until(t, "the next is begun", func() bool {
		text, _ := os.ReadFile(q.begun)
		return strings.Contains(string(text), hold)
	})
	end := c.begin()
	c.kill()
	c.wake()
	if c.lost || c.late.IsZero() {
		t.Errorf("lost %t, late %s", c.lost, c.late)
	}
	end()
	out, fail := c.run()
	q.m.release(c)
	q.answered("a")(out, fail)
	q.open()
	q.end("warm", "a", "hold door")
}

// A call that was taken back, and does not know it yet, is cancelled: the worker's
// other calls go on.
func TestCancellingACallThatWasTakenBack(t *testing.T) {
	q := newQueue(t, time.Hour)
	q.warm()
	ctx, cancel := context.WithCancel(t.Context())
	q.call(ctx, "hold "+q.door, patience, q.answered("hold "+q.door))
	c := &call{module: q.m, outer: t.Context(), inv: sandbox.Invocation{Export: "run", Input: []byte("moved"), Timeout: time.Hour}}
	if !q.m.pool.enqueue(q.m, "", c, queueMost) {
		t.Fatal("it is not in the line")
	}
	end := c.begin()
	c.queue.flush()
	if !c.queue.takeBack(c) {
		t.Fatal("it was not taken back")
	}
	c.kill()
	q.open()
	q.calls.Wait()
	cancel()
	testtime.Until(t, "the worker waits", func() bool { return q.length() == 0 })
	c.kill()
	c.wake()
	end()
	q.m.pool.release(q.m, c)
	q.m.pool.mu.Lock()
	if n := len(q.m.pool.idle); n != 1 {
		t.Errorf("one worker waits %d times", n)
	}
	q.m.pool.mu.Unlock()
	if c.lost || !c.late.IsZero() || c.w.queue.over {
		t.Errorf("it ends a worker that it was taken from: lost %t, late %s", c.lost, c.late)
	}
	q.now(t.Context(), "after", patience, q.answered("after"))
	q.end("warm", "hold door", "after")
}

// A call without folders comes at the moment when a call with folders was answered: it
// gets another worker.
func TestWorkersWithFoldersAreNotShared(t *testing.T) {
	m := load(t, newPool(t, nil), sandbox.Plugin{Name: "guest", Wasm: goGuest})
	dir := t.TempDir()
	put(t, filepath.Join(dir, "f"), "private")
	inv := sandbox.Invocation{Export: "cat", Input: []byte("/w/f"), Timeout: patience, MaxOutput: 1000}
	with := inv
	with.Grant.Mounts = []jail.Mount{{Guest: "/w", Host: dir}}
	c := &call{module: m, outer: t.Context(), inv: with, exclusive: true}
	key := mountKey(with.Grant.Mounts)
	if err := m.worker(t.Context(), key, c, false); err != nil {
		t.Fatal(err)
	}
	if out, fail := c.run(); fail != nil || string(out.Bytes) != "private" {
		t.Fatalf("got %q, %v", out.Bytes, fail)
	}
	c.queue.leave(c) // with which put begins
	m.cost("cat").Store(1)
	m.computes.Store(false)
	if out, fail := m.Call(t.Context(), inv); fail == nil {
		t.Errorf("a call without the grant reads %q", out.Bytes)
	}
	m.pool.release(m, c)
}

// Workers lie about the calls that wait in their queues: all calls end by their
// deadlines, and a failure claims no more than is known.
func TestWorkersThatLieAboutTheirQueue(t *testing.T) {
	for _, lie := range []string{
		"claims all and is silent", "claims all and dies", "answers what it has not claimed", "answers twice", "gives back what it answers",
		"gives back and takes without end", "says that all was taken back", "writes anything", "reads no more",
		"puts more than the ring holds", "puts half a frame", "puts a frame that is longer than it", "says that it sleeps, and took what was never put",
	} {
		for _, observeEvery := range []time.Duration{observeEvery, time.Hour} {
			t.Run(lie+", observeEvery every "+observeEvery.String(), func(t *testing.T) {
				t.Parallel()
				q := newQueueOf(t, "crook:"+lie, observeEvery)
				q.now(t.Context(), "x", patience, q.answered("cheated"))
				for range 4 {
					q.calls.Go(func() {
						q.now(t.Context(), "x", 100*time.Millisecond, func(out sandbox.Output, fail *tool.Error) {
							if known := []tool.Code{tool.Failed, tool.TimedOut, tool.Trapped}; fail != nil && !slices.Contains(known, fail.Code) || fail == nil && string(out.Bytes) != "cheated" {
								t.Errorf("got %q, %v", out.Bytes, fail)
							}
						})
					})
				}
				q.calls.Wait()
				if q.length() > 0 {
					t.Error("a call that has ended is in the line")
				}
			})
		}
	}
}
