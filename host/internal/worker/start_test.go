//go:build linux

package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// A worker becomes free while another one is being started: the call takes it, and the
// started one becomes idle. Meanwhile it holds no slot: with a few such starts the other
// calls of the plugin would get its last slot one after the other.
func TestTheFirstFreeWorkerIsTaken(t *testing.T) {
	s := newSearch(t, 2)
	s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
	s.makeCall(t.Context(), "a", false, s.answered("a"))
	s.seeks(1)
	if n := s.rooms.busy(); n != 2 {
		t.Errorf("%d places are taken for a call that runs and a worker that starts", n)
	}
	s.open()
	s.calls.Wait()
	if n := s.rooms.busy(); n != 0 {
		t.Errorf("%d places are taken for a worker that starts without a call", n)
	}
	s.have(s.start)
	s.rests(2)
	s.end("hold door", "a")
}

// A start keeps its turn until its worker's first call has had its time: of many callers that
// begin together, the others wait in that worker's queue, and start no process. A start that
// failed keeps nothing.
func TestAStartKeepsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Module{turns: make(chan struct{}, 1)}
		for _, row := range []struct {
			err  error
			wait time.Duration
		}{{nil, firstCallTime}, {errNoWaiter, 0}} {
			m.turns <- struct{}{}
			began := time.Now()
			m.endTurn(row.err)
			m.turns <- struct{}{} // the next start's
			if waited := testtime.Since(began); waited != row.wait {
				t.Errorf("after %v the next start waits %v, want %v", row.err, waited, row.wait)
			}
			<-m.turns
		}
	})
}

// Several calls in a row wait for a worker and find one that becomes free: only one
// worker is started for all of them.
func TestAStartIsAdopted(t *testing.T) {
	s := newSearch(t, 3)
	for round := range 3 {
		door := fmt.Sprint(s.door, round)
		s.makeCall(t.Context(), "hold "+door, true, s.answered("hold "+door))
		testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
		s.makeCall(t.Context(), fmt.Sprint(round), false, s.answered(fmt.Sprint(round)))
		s.seeks(1)
		testtime.Until(t, "a line and what is being made have a place each", func() bool { return s.rooms.busy() == 2 })
		s.have(door)
		s.calls.Wait()
	}
	s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
	s.makeCall(t.Context(), "last", false, s.answered("last"))
	s.seeks(1)
	s.have(s.start)
	s.seeks(0) // it has what was begun for the first
	s.open()
	s.calls.Wait()
	s.rests(2)
}

// The caller, or the module, of a call that adopted a start ends.
func TestAnAdoptedStartEndsWithItsCall(t *testing.T) {
	for _, with := range []string{"the caller", "the module"} {
		s := newSearch(t, 3)
		s.leaves()
		last := filepath.Join(t.TempDir(), "last")
		s.makeCall(t.Context(), "hold "+last, true, func(sandbox.Output, *tool.Error) {})
		testtime.Until(t, "another one runs", func() bool { return s.length() == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		s.makeCall(ctx, "b", false, s.failed("b", tool.Cancelled))
		s.seeks(1)
		testtime.Until(t, "it has taken it up", func() bool { return s.rooms.busy() == 2 })
		if cancel(); with == "the module" {
			over, end := context.WithCancel(t.Context())
			end()
			if err := s.m.Close(over); err != nil {
				t.Error(err)
			}
		}
		testtime.Until(t, "its place is given back", func() bool { return s.rooms.busy() <= 1 })
		s.have(last)
		s.calls.Wait()
		if with == "the caller" {
			s.rests(1)
		} else {
			s.rests(0)
		}
	}
}

// The caller of a start ends after another call has adopted it, or when it has no
// waiter.
func TestALateCancelDoesNotEndAnAdoptedStart(t *testing.T) {
	s := newSearch(t, 2)
	first, second := &waiter{key: "k", c: &call{}}, &waiter{key: "k", c: &call{}}
	cancelled := false
	k := &start{key: "k", cancel: func() { cancelled = true }, by: first, done: make(chan struct{})}
	s.m.starting = append(s.m.starting, k)
	if err := s.m.finishStart(first, k); err != nil || s.m.adoptStart(second) != k {
		t.Fatalf("it is not taken up: %v", err)
	}
	if s.m.cancelStart(first, k); cancelled {
		t.Error("it is ended by who has left it")
	}
	if s.m.cancelStart(second, k); !cancelled {
		t.Error("it is not ended by who waits for it")
	}
	if err := s.m.finishStart(second, k); err != nil || s.m.adoptStart(first) != nil {
		t.Errorf("what is being ended is taken up: %v", err)
	}
}

// A call in a full queue ends: a call that waits for a worker takes the room.
func TestRoomInAQueueIsTaken(t *testing.T) {
	s := newSearch(t, 2)
	s.makeCall(t.Context(), "warm", true, s.answered("warm")) // which has its worker to itself
	s.calls.Wait()
	last := filepath.Join(t.TempDir(), "last")
	s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	testtime.Until(t, "the first runs", func() bool { return s.length() == 1 })
	s.makeCall(t.Context(), "hold "+last, true, s.answered("hold "+last))
	testtime.Until(t, "the second waits behind it", func() bool { return s.length() == 2 })
	s.makeCall(t.Context(), "a", false, s.answered("a"))
	s.seeks(1)
	s.m.pool.mu.Lock()
	s.m.computes.Store(false)
	s.m.waiters[0].patient = true // as one is that came before anybody knew what a call costs
	s.m.pool.mu.Unlock()
	s.open()
	s.seeks(0)
	if n := s.length(); n != 2 {
		t.Errorf("%d calls are in the line", n)
	}
	s.have(last)
	s.calls.Wait()
	s.have(s.start)
	s.rests(2)
	s.end("warm", "hold door", "hold "+last, "a")
}

// Calls that wait for a worker end: their slots are released, and no waiter is left.
func TestWaitersEnd(t *testing.T) {
	t.Run("with the caller", func(t *testing.T) {
		s := newSearch(t, 2)
		s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
		testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		s.makeCall(ctx, "a", false, s.failed("a", tool.Cancelled))
		s.seeks(1)
		cancel()
		testtime.Until(t, "its place is given back", func() bool { return s.rooms.busy() == 1 })
		s.open()
		s.rests(1)
		s.end("hold door")
	})
	t.Run("with the module", func(t *testing.T) {
		s := newSearch(t, 2)
		s.makeCall(t.Context(), "hold "+s.door, true, func(_ sandbox.Output, fail *tool.Error) {
			if fail == nil {
				t.Error("it outlasts its module")
			}
		})
		testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
		s.makeCall(t.Context(), "a", false, func(_ sandbox.Output, fail *tool.Error) {
			if fail == nil {
				t.Error("it begins behind its module's end")
			}
		})
		s.seeks(1)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.m.Close(over); err != nil {
			t.Error(err)
		}
		s.calls.Wait()
		s.rests(0)
	})
	t.Run("with the module and without a place", func(t *testing.T) {
		s := newSearch(t, 1)
		if !s.rooms.Acquire(t.Context(), nil) {
			t.Fatal("there is no place")
		}
		s.makeCall(t.Context(), "a", true, func(out sandbox.Output, fail *tool.Error) {
			if fail == nil || !out.NoSlot {
				t.Errorf("got %+v, %v", out, fail)
			}
		})
		s.placeless(1)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.m.Close(over); err != nil {
			t.Error(err)
		}
		s.rooms.Release()
		s.calls.Wait()
		s.rests(0)
	})
	t.Run("without a place", func(t *testing.T) {
		s := newSearch(t, 1)
		s.makeCall(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
		testtime.Until(t, "it runs", func() bool { return s.length() == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		s.makeCall(ctx, "a", false, func(out sandbox.Output, fail *tool.Error) {
			if fail == nil || fail.Code != tool.Cancelled || !out.NoSlot {
				t.Errorf("got %+v, %v", out, fail)
			}
		})
		s.placeless(1)
		cancel()
		s.open()
		s.rests(1)
		s.end("hold door")
	})
}

// Many calls with few slots come, give up and lose their workers: there are never more
// queues than slots, and at the end all slots are free.
func TestSlotsAreNeverExceeded(t *testing.T) {
	const most, callers, calls = 3, 24, 120
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	load(t, newPool(t, nil), pl) // so that it is compiled
	p := newPool(t, func(c *Config) { c.Command = asRole("mirror") })
	m, r := load(t, p, pl), newRooms(most)
	var all sync.WaitGroup
	answered := make([]int, callers)
	for n := range callers {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 7))
			for i := range calls {
				ctx, cancel := context.WithCancel(t.Context())
				text := fmt.Sprint(n, " ", i)
				switch rnd.IntN(40) {
				case 0:
					time.AfterFunc(time.Duration(rnd.IntN(3000))*time.Microsecond, cancel)
				case 1:
					p.mu.Lock()
					if len(m.busy) > 0 {
						m.busy[rnd.IntN(len(m.busy))].kill()
					}
					p.mu.Unlock()
				case 2:
					m.computes.Store(true)
				}
				out, fail := m.Call(ctx, sandbox.Invocation{Export: "run", Input: []byte(text), Timeout: patience, Slot: r})
				if fail == nil {
					answered[n]++
					if string(out.Bytes) != text {
						t.Errorf("%s: got %q", text, out.Bytes)
					}
				}
				cancel()
				p.mu.Lock()
				if lines, taken := len(m.busy), r.busy(); lines > taken {
					t.Errorf("%d lines in %d places", lines, taken)
				}
				p.mu.Unlock()
			}
		})
	}
	all.Wait()
	testtime.Until(t, "all places are given back", func() bool { return r.busy() == 0 })
	for n, got := range answered {
		if got == 0 {
			t.Errorf("caller %d had no answer", n)
		}
	}
}

// A module is closed while a call has neither slot nor worker, and while a worker
// without a waiter is being started.
func TestCloseWaitsForCallsAndNotForStarts(t *testing.T) {
	t.Run("a call without a place", func(t *testing.T) {
		s := newSearch(t, 1)
		s.have(s.start)
		if !s.rooms.Acquire(t.Context(), nil) {
			t.Fatal("there is no place")
		}
		s.makeCall(t.Context(), "a", true, s.answered("a"))
		s.placeless(1)
		closed := make(chan error)
		go func() { closed <- s.m.Close(t.Context()) }()
		testtime.Until(t, "it closes", func() bool {
			if s.m.calls.Enter() {
				s.m.calls.Leave()
				return false
			}
			return true
		})
		s.rooms.Release()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		s.end("a")
		s.rests(0)
	})
	t.Run("a worker for nobody", func(t *testing.T) {
		s := newSearch(t, 2)
		s.leaves()
		soon, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := s.m.Close(soon); err != nil || soon.Err() != nil {
			t.Errorf("it waited for a worker that nobody wants: %v", soon.Err())
		}
		s.rests(0)
	})
}

// A call's Progress function panics: its slot is released.
func TestAPanicReleasesTheSlot(t *testing.T) {
	s := newSearch(t, 1)
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
	s.makeCall(t.Context(), "a", true, s.answered("a"))
	s.end("tell", "a")
}

// A call that was taken back from a queue runs in another worker, and other calls may
// wait after it.
func TestCallsMayWaitAfterACallThatWasTakenBack(t *testing.T) {
	s := newSearch(t, 1)
	s.have(s.start)
	s.makeCall(t.Context(), "warm", true, s.answered("warm"))
	s.calls.Wait()
	c := s.one("hold " + s.door)
	s.m.cost("run").Store(1)
	s.m.computes.Store(false)
	if err := s.m.worker(t.Context(), "", c, false); err != nil {
		t.Fatal(err)
	}
	s.calls.Go(func() { s.m.serve(c) })
	s.makeCall(t.Context(), "a", true, s.answered("a"))
	testtime.Until(t, "the next one waits behind it", func() bool { return s.length() == 2 })
	s.open()
	s.end("warm", "hold door", "a")
	s.rests(1)
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
	s := newSearch(t, 2)
	s.have(s.start)
	caller, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := &hearer{Context: caller}
	s.makeCall(h, "a", true, s.answered("a"))
	s.calls.Wait()
	if n := h.hear.Load(); n != 0 {
		t.Errorf("%d listen still", n)
	}
}
