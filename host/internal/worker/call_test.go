//go:build linux

package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// A worker crashes while calls wait for one: the running call fails, and the others run
// elsewhere, once each.
func TestACrashEndsOneCall(t *testing.T) {
	s := newStage(t, 2)
	s.call(t.Context(), "die "+s.door, s.failed(tool.Trapped))
	testtime.Until(t, "it runs", func() bool { return s.all()[0] == "die door" })
	for _, input := range []string{"a", "b", "c"} {
		s.call(t.Context(), input, s.answered(input))
	}
	s.have(s.door)
	s.have(s.start)
	s.end("die door", "a", "b", "c")
}

// The deadline, or the end, of a call ends that call only.
func TestADeadlineEndsOneCall(t *testing.T) {
	s := newStage(t, 2)
	s.have(s.start)
	ctx, cancel := context.WithCancel(t.Context())
	s.hold(ctx, s.failed(tool.Cancelled))
	s.call(t.Context(), "a", s.answered("a"))
	cancel() // which is a deadline that comes at once
	s.end("hold door", "a")
	s.now(t.Context(), "hold "+s.door, 50*time.Millisecond, s.failed(tool.TimedOut))
	s.now(t.Context(), "b", patience, s.answered("b"))
	s.rests(1)
}

// Calls that come after a long one are answered while it runs.
func TestALongCallDelaysNoOther(t *testing.T) {
	s := newStage(t, 2)
	s.have(s.start)
	s.hold(t.Context(), s.answered("hold "+s.door))
	for _, input := range []string{"a", "ask", "c"} {
		s.now(t.Context(), input, patience, s.answered(input))
	}
	s.have(s.door)
	s.end("hold door", "a", "ask", "c")
	s.rests(2)
}

// A call gets a worker at the moment when its module ends: it is cancelled.
func TestACallThatBeginsAtTheEndOfItsModule(t *testing.T) {
	s := newStage(t, 2)
	s.now(t.Context(), "warm", patience, s.answered("warm"))
	if !s.m.enter() {
		t.Fatal("it takes no calls")
	}
	w, err := s.m.worker(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	s.calls.Go(func() { _ = s.m.Close(over) })
	<-s.m.calls.Life().Done()
	c := &call{module: s.m, outer: t.Context(), w: w, inv: sandbox.Invocation{Export: "run", Input: []byte("hold " + s.door), Timeout: patience, MaxOutput: 10}}
	s.failed(tool.Cancelled)(s.m.serve(c))
	if c.expired() {
		t.Error("it ran until its own deadline")
	}
	s.m.leave()
	s.calls.Wait()
}

// A call's deadline comes when it has ended, and its worker has the next call already: that
// one goes on.
func TestALateKillEndsNoOtherCall(t *testing.T) {
	s := newStage(t, 2)
	w, err := s.m.worker(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &call{module: s.m, outer: t.Context(), w: w, inv: sandbox.Invocation{Export: "run", Input: []byte("a"), Timeout: time.Hour, MaxOutput: 10}}
	s.answered("a")(s.m.serve(c))
	s.hold(t.Context(), s.answered("hold "+s.door))
	c.kill()
	s.have(s.door)
	s.rests(1)
	s.end("a", "hold door")
}

// A call's Progress function panics: its slot is released, and its worker is lost.
func TestAPanicReleasesTheSlot(t *testing.T) {
	s := newStage(t, 1)
	s.have(s.start)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nobody panicked")
			}
		}()
		_, fail := s.m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("tell"), Timeout: patience, Slot: s.rooms,
			Progress: func(int, int, string) { panic("the caller's own") }})
		t.Error(fail)
	}()
	s.rests(0)
	s.now(t.Context(), "a", patience, s.answered("a"))
	s.end("tell", "a")
}

// A hearer is a context that counts its listeners.
type hearer struct {
	context.Context
	hear atomic.Int32
}

func (h *hearer) AfterFunc(f func()) (stop func() bool) {
	h.hear.Add(1)
	end := context.AfterFunc(h.Context, f)
	return func() bool {
		h.hear.Add(-1)
		return end()
	}
}

// After a call nothing listens to its caller's context any more, also when its worker
// had to be started.
func TestNoListenerIsLeftAfterACall(t *testing.T) {
	s := newStage(t, 2)
	caller, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := &hearer{Context: caller}
	s.now(h, "a", patience, s.answered("a"))
	if n := h.hear.Load(); n != 0 {
		t.Errorf("%d listen still", n)
	}
}
