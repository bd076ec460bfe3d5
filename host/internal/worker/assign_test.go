//go:build linux

package worker

import (
	"context"
	"testing"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/internal/testtime"
)

// A worker becomes free after a call found none and before another one is started: the
// call gets it.
func TestAFreeWorkerIsFoundBeforeAStart(t *testing.T) {
	s := newSearch(t, 2)
	s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
	a := s.seeker("a")
	s.open()
	s.calls.Wait()
	if !a.has() {
		t.Error("the worker was kept while somebody sought one")
	}
	if n := s.m.waiting.Load(); n != 0 {
		t.Errorf("%d seek still", n)
	}
	if err := s.m.startWorker(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	s.answered("a")(s.m.serve(a.c))
	s.rests(1)
	s.end("hold door", "a")
}

// A call finds a worker at the moment when its own is ready. Its own goes to another
// waiter, in that one's slot, or becomes idle.
func TestTwoWorkersAreReadyAtOnce(t *testing.T) {
	for _, another := range []bool{false, true} {
		s := newSearch(t, 3)
		s.have(s.start)
		s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
		testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
		a := s.seeker("a")
		begun := []string{"hold door", "a"}
		s.open()
		s.calls.Wait()
		if !a.has() {
			t.Fatal("it has no worker")
		}
		k := &start{key: a.key, done: make(chan struct{}), by: a}
		s.m.runStart(t.Context(), k, nil)
		var b *waiter
		if another {
			b = s.seeker("b")
			begun = append(begun, "b")
		}
		if err := s.m.finishStart(a, k); err != nil {
			t.Fatal(err)
		}
		s.rooms.Release() // a's own
		if another {
			if !b.has() {
				t.Fatal("the worker was kept while somebody sought one")
			}
			if n := s.rooms.busy(); n != 2 {
				t.Errorf("%d places are taken by two calls", n)
			}
			s.answered("b")(s.m.serve(b.c))
		}
		s.answered("a")(s.m.serve(a.c))
		s.rests(2)
		s.end(begun...)
		if n := s.m.pool.sched.Tasks(); n != 0 {
			t.Errorf("%d tasks are left", n)
		}
	}
}

// A free worker goes to the waiters that may use its slot and have the same folders,
// also to several, and also while a call waits for a slot.
func TestAFreeWorkerGoesToMatchingWaiters(t *testing.T) {
	s := newSearch(t, 3)
	s.have(s.start)
	s.makeCall(t.Context(), "warm", true, s.answered("warm"))
	s.calls.Wait()
	s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
	of := func(key string, slot sandbox.Slot) *waiter {
		c := s.one("a")
		c.inv.Slot = slot
		p := s.m.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		return s.m.addWaiter(key, c, true)
	}
	strange := map[string]*waiter{
		"one that was lent other folders":   of("other", s.rooms),
		"one in places of another kind":     of("", newRooms(1)),
		"one that needs no place of a kind": of("", nil),
	}
	for range 2 { // their own places
		if !s.rooms.Acquire(t.Context(), nil) {
			t.Fatal("there is no place")
		}
	}
	a, b := of("", s.rooms), of("", s.rooms)
	for who, k := range strange {
		if s.m.pool.enqueue(s.m, k.key, k.c, queueMost) {
			t.Errorf("%s is in the line", who)
		}
	}
	s.makeCall(t.Context(), "late", false, s.answered("late"))
	s.placeless(1)
	s.m.cost("run").Store(1)
	s.m.computes.Store(false)
	s.open()
	testtime.Until(t, "the first is answered", func() bool { return a.has() })
	if !b.has() {
		t.Error("there was room for two")
	}
	s.placeless(1)
	s.m.pool.mu.Lock()
	for who, k := range strange {
		if k.has() {
			t.Errorf("%s has it", who)
		}
		s.m.removeWaiter(k)
	}
	s.m.pool.mu.Unlock()
	s.calls.Go(func() { s.answered("a")(s.m.serve(b.c)) })
	s.answered("a")(s.m.serve(a.c))
	s.rooms.Release() // which workers made for them would have
	s.rooms.Release()
	s.calls.Wait()
	s.end("warm", "hold door", "a", "a", "late")
}

// A call was answered by another worker and its caller goes: the worker that is being
// started becomes idle.
func TestAStartedWorkerWithoutAWaiterBecomesIdle(t *testing.T) {
	s := newSearch(t, 2)
	s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	s.makeCall(ctx, "a", true, s.answered("a"))
	s.seeks(1)
	s.open()
	s.calls.Wait()
	cancel()
	s.have(s.start)
	s.rests(2)
	s.end("hold door", "a")
}

// A free worker goes to a waiter whose caller is still there, not to one whose caller
// has gone.
func TestACallWhoseCallerHasGoneGetsNoWorker(t *testing.T) {
	s := newSearch(t, 3)
	s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
	a, b := s.seeker("a"), s.seeker("b")
	gone, cancel := context.WithCancel(t.Context())
	a.c.outer = gone
	cancel()
	s.open()
	s.calls.Wait()
	if a.has() {
		t.Error("a worker would be ended for a call that has ended")
	}
	if !b.has() {
		t.Fatal("the worker was kept while somebody sought one")
	}
	if err := s.m.startWorker(gone, a); err == nil {
		t.Error("it found a worker")
	}
	s.answered("b")(s.m.serve(b.c))
	s.rooms.Release() // b's own, which one that is made for it would have
	s.rests(1)
	s.end("hold door", "b")
}

// The turn of a start comes when its call has another worker: it starts no process.
func TestAStartWithoutAWaiterStartsNothing(t *testing.T) {
	s := newSearch(t, 2)
	s.have(s.start)
	s.makeCall(t.Context(), "a", true, s.answered("a"))
	s.calls.Wait()
	s.rests(1)
	k := &start{done: make(chan struct{})}
	s.m.runStart(t.Context(), k, nil)
	if k.w != nil || k.err != errNoWaiter || s.m.pool.sched.Tasks() != 0 {
		t.Errorf("%v, %v, %d tasks are left", k.w, k.err, s.m.pool.sched.Tasks())
	}
	s.rests(1)
}
