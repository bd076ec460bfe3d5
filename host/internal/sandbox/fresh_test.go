package sandbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
	"go.uber.org/goleak"
)

// counting is a program whose instances only count, to test the supply with synctest.
type counting struct {
	mu            sync.Mutex
	made, alive   int
	fail          error
	startDuration time.Duration
}

type counted struct {
	program *counting
	env     *env
}

func (c *counting) start(e *env) (instance, error) {
	ctx := e.span.context()
	select {
	case <-time.After(c.startDuration):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return nil, c.fail
	}
	c.made++
	c.alive++
	return &counted{c, e}, nil
}

func (c *counting) renewable() bool { return false }

func (c *counting) close(context.Context) error { return nil }

func (c *counting) counts() (made, alive int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made, c.alive
}

func (i *counted) call(string, []byte) (reply, error) { return reply{}, nil }
func (i *counted) renew() error                       { return errNotReusable }
func (i *counted) environment() *env                  { return i.env }
func (i *counted) close() error {
	i.program.mu.Lock()
	defer i.program.mu.Unlock()
	i.program.alive--
	return nil
}

func TestSpares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &counting{startDuration: 5 * time.Millisecond}
		s := newFreshSupply(p, hclog.NewNullLogger(), 1<<20, 2)
		check := func(what string, made, alive int) {
			t.Helper()
			synctest.Wait()
			if m, l := p.counts(); m != made || l != alive {
				t.Errorf("%s: %d made, %d alive; want %d and %d", what, m, l, made, alive)
			}
		}
		take := func(want setup) (instance, time.Duration) {
			t.Helper()
			began := time.Now()
			i, err := s.acquire(spareSpan{t.Context()}, want)
			if err != nil {
				t.Fatal(err)
			}
			return i, testtime.Since(began)
		}
		a := setup{limits: tool.Limits{MaxChars: 1}}
		check("nothing is made before the first call", 0, 0)
		first, waited := take(a)
		if waited != 5*time.Millisecond {
			t.Errorf("the first call waited %v", waited)
		}
		testtime.Sleep(10 * time.Millisecond)
		check("two spares beside the first", 3, 3)
		second, waited := take(a)
		if waited != 0 || second == first {
			t.Errorf("a spare took %v; the same instance: %t", waited, second == first)
		}
		testtime.Sleep(10 * time.Millisecond)
		check("the spare is replaced", 4, 4)
		discard(s.log, first)
		discard(s.log, second)
		check("used ones go", 4, 2)

		other, waited := take(setup{limits: tool.Limits{MaxChars: 2}})
		if waited == 0 {
			t.Error("a spare of another setup was handed out")
		}
		testtime.Sleep(10 * time.Millisecond)
		check("spares of the old setup go", 7, 3)
		discard(s.log, other)
		testtime.Sleep(spareIdle)
		check("idle spares go", 7, 0)
		s.close()
	})
}

func TestSparesThatCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &counting{fail: errors.New("no")}
		s := newFreshSupply(p, hclog.NewNullLogger(), 1<<20, 2)
		for range 3 {
			if _, err := s.acquire(spareSpan{t.Context()}, setup{}); err == nil {
				t.Fatal("an instance out of nothing")
			}
			synctest.Wait()
		}
		p.mu.Lock()
		p.fail, p.startDuration = nil, time.Hour
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.acquire(spareSpan{ctx}, setup{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		s.close() // ends the makers that would take an hour
		if made, alive := p.counts(); made != 0 || alive != 0 {
			t.Errorf("%d made, %d alive", made, alive)
		}
	})
}

// A module is closed during a call: the call ends normally, and the next one is
// refused.
func TestCloseLetsCallsFinish(t *testing.T) {
	m := guest(t)
	running, done := make(chan struct{}), make(chan *tool.Error)
	go func() {
		_, fail := m.Call(t.Context(), Invocation{Export: "talk", Progress: func(done, _ int, _ string) {
			if done != 1 {
				return
			}
			close(running)
			for refused := false; !refused; { // until Close has begun
				_, fail := m.Call(t.Context(), Invocation{Export: "silent"})
				refused = fail != nil
			}
		}})
		done <- fail
	}()
	<-running
	closed := make(chan error)
	go func() { closed <- m.Close(t.Context()) }()
	if fail := <-done; fail != nil {
		t.Errorf("the running call: %v", fail)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, fail := m.Call(t.Context(), Invocation{Export: "echo"}); fail == nil || fail.Code != tool.Failed {
		t.Errorf("a call after the end: %v", fail)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

// Close ends calls that would not end.
func TestCloseEndsCallsInTime(t *testing.T) {
	for _, export := range []string{"spin", "sleep"} {
		m := guest(t)
		running, done := make(chan struct{}), make(chan *tool.Error)
		go func() {
			_, fail := m.Call(t.Context(), Invocation{Export: export, Progress: func(int, int, string) { close(running) }})
			done <- fail
		}()
		<-running
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		closed := make(chan error)
		go func() { closed <- m.Close(ctx) }()
		if fail := <-done; fail == nil || fail.Code != tool.Cancelled {
			t.Errorf("%s: got %v", export, fail)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
}

// Calls end in every way: no goroutine outlives the engine.
func TestNothingIsLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	e, err := New(t.Context(), Config{CacheDir: guesttest.Cache(t), Spares: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, e, Plugin{Name: "guest", Wasm: goGuest})
	for _, export := range []string{"echo", "spin", "sleep", "panics", "exit", "refuses"} {
		ctx, cancel := context.WithCancel(t.Context())
		if out, fail := m.Call(ctx, Invocation{Export: export, Progress: func(int, int, string) { cancel() }}); fail == nil && export != "echo" {
			t.Errorf("%s answered %q", export, out.Bytes)
		}
		cancel()
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := e.Load(t.Context(), Plugin{Name: "late", Wasm: echoModule()}); err == nil {
		t.Error("a closed engine loads")
	}
	goleak.VerifyNone(t, before)
}
