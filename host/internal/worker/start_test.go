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
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/sdk/tool"
)

// TestWhatComesFirstIsTaken has a worker become free while another one is being made:
// the call does not wait for its own, which is kept.
func TestWhatComesFirstIsTaken(t *testing.T) {
	s := newSearch(t, 2)
	s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	eventually(t, "it runs", func() bool { return s.length() == 1 })
	s.behind(t.Context(), "a", false, s.answered("a"))
	s.seeks(1)
	if n := s.rooms.busy(); n != 2 {
		t.Errorf("%d places are taken for a call that runs and a worker that starts", n)
	}
	s.open()
	s.calls.Wait()
	if n := s.rooms.busy(); n != 1 {
		t.Errorf("%d places are taken for a worker that starts", n)
	}
	s.have(s.start)
	s.rests(2)
	s.end("hold door", "a")
}

// TestWhatIsBeingMadeIsTakenUp has calls seek a worker, one after the other, which find
// one that becomes free: for all of them one worker is made.
func TestWhatIsBeingMadeIsTakenUp(t *testing.T) {
	s := newSearch(t, 3)
	for round := range 3 {
		door := fmt.Sprint(s.door, round)
		s.behind(t.Context(), "hold "+door, true, s.answered("hold "+door))
		eventually(t, "it runs", func() bool { return s.length() == 1 })
		s.behind(t.Context(), fmt.Sprint(round), false, s.answered(fmt.Sprint(round)))
		s.seeks(1)
		eventually(t, "a line and what is being made have a place each", func() bool { return s.rooms.busy() == 2 })
		s.have(door)
		s.calls.Wait()
	}
	s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	eventually(t, "it runs", func() bool { return s.length() == 1 })
	s.behind(t.Context(), "last", false, s.answered("last"))
	s.seeks(1)
	s.have(s.start)
	s.seeks(0) // it has what was begun for the first
	s.open()
	s.calls.Wait()
	s.rests(2)
}

// TestWhatWasTakenUpEnds ends the caller, and the module, of a call that has taken up
// what was begun for another one.
func TestWhatWasTakenUpEnds(t *testing.T) {
	for _, with := range []string{"the caller", "the module"} {
		s := newSearch(t, 3)
		s.leaves()
		last := filepath.Join(t.TempDir(), "last")
		s.behind(t.Context(), "hold "+last, true, func(sandbox.Output, *tool.Error) {})
		eventually(t, "another one runs", func() bool { return s.length() == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		s.behind(ctx, "b", false, s.failed("b", tool.Cancelled))
		s.seeks(1)
		eventually(t, "it has taken it up", func() bool { return s.rooms.busy() == 2 })
		if cancel(); with == "the module" {
			over, end := context.WithCancel(t.Context())
			end()
			if err := s.m.Close(over); err != nil {
				t.Error(err)
			}
		}
		eventually(t, "its place is given back", func() bool { return s.rooms.busy() <= 1 })
		s.have(last)
		s.calls.Wait()
		if with == "the caller" {
			s.rests(1)
		} else {
			s.rests(0)
		}
	}
}

// TestALateEndReachesNobodyElse ends the caller of a start when another call has taken
// it up, and when nobody waits for it.
func TestALateEndReachesNobodyElse(t *testing.T) {
	s := newSearch(t, 2)
	first, second := &waiter{key: "k", c: &call{}}, &waiter{key: "k", c: &call{}}
	cancelled := false
	k := &start{key: "k", cancel: func() { cancelled = true }, by: first, done: make(chan struct{})}
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

// TestRoomInALineIsTaken has a call end that another one waits behind, while one that
// could wait there too seeks a worker.
func TestRoomInALineIsTaken(t *testing.T) {
	s := newSearch(t, 2)
	s.behind(t.Context(), "warm", true, s.answered("warm")) // which has its worker to itself
	s.calls.Wait()
	last := filepath.Join(t.TempDir(), "last")
	s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	eventually(t, "the first runs", func() bool { return s.length() == 1 })
	s.behind(t.Context(), "hold "+last, true, s.answered("hold "+last))
	eventually(t, "the second waits behind it", func() bool { return s.length() == 2 })
	s.behind(t.Context(), "a", false, s.answered("a"))
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

// TestSearchesEnd ends calls that seek a worker: the place is given back, and who was
// not there yet is gone.
func TestSearchesEnd(t *testing.T) {
	t.Run("with the caller", func(t *testing.T) {
		s := newSearch(t, 2)
		s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
		eventually(t, "it runs", func() bool { return s.length() == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		s.behind(ctx, "a", false, s.failed("a", tool.Cancelled))
		s.seeks(1)
		cancel()
		eventually(t, "its place is given back", func() bool { return s.rooms.busy() == 1 })
		s.open()
		s.rests(1)
		s.end("hold door")
	})
	t.Run("with the module", func(t *testing.T) {
		s := newSearch(t, 2)
		s.behind(t.Context(), "hold "+s.door, true, func(_ sandbox.Output, fail *tool.Error) {
			if fail == nil {
				t.Error("it outlasts its module")
			}
		})
		eventually(t, "it runs", func() bool { return s.length() == 1 })
		s.behind(t.Context(), "a", false, func(_ sandbox.Output, fail *tool.Error) {
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
		s.behind(t.Context(), "a", true, func(out sandbox.Output, fail *tool.Error) {
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
		s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
		eventually(t, "it runs", func() bool { return s.length() == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		s.behind(ctx, "a", false, func(out sandbox.Output, fail *tool.Error) {
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

// TestPlacesHold has many calls of few places come, give up and lose their workers:
// there are never more lines than places, and at the end all are given back.
func TestPlacesHold(t *testing.T) {
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
	eventually(t, "all places are given back", func() bool { return r.busy() == 0 })
	for n, got := range answered {
		if got == 0 {
			t.Errorf("caller %d had no answer", n)
		}
	}
}

// TestClosingWaitsForCallsAndNotForMakings closes a module while a call that was admitted
// has neither place nor worker, and then while a worker is made for nobody.
func TestClosingWaitsForCallsAndNotForMakings(t *testing.T) {
	t.Run("a call without a place", func(t *testing.T) {
		s := newSearch(t, 1)
		s.have(s.start)
		if !s.rooms.Acquire(t.Context(), nil) {
			t.Fatal("there is no place")
		}
		s.behind(t.Context(), "a", true, s.answered("a"))
		s.placeless(1)
		closed := make(chan error)
		go func() { closed <- s.m.Close(t.Context()) }()
		eventually(t, "it closes", func() bool {
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
		if n := s.rooms.busy(); n != 1 {
			t.Errorf("%d places are taken for a worker that starts", n)
		}
		soon, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := s.m.Close(soon); err != nil || soon.Err() != nil {
			t.Errorf("it waited for a worker that nobody wants: %v", soon.Err())
		}
		if n := s.rooms.busy(); n != 0 {
			t.Errorf("behind the end %d places are taken", n)
		}
		s.rests(0)
	})
}

// TestAPanicKeepsNoPlace has whoever is told of a call's progress panic.
func TestAPanicKeepsNoPlace(t *testing.T) {
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
	s.behind(t.Context(), "a", true, s.answered("a"))
	s.end("tell", "a")
}

// TestWhoWaitsForNobodyIsWaitedFor has a call that was taken back from a line run: others
// may be behind it as before.
func TestWhoWaitsForNobodyIsWaitedFor(t *testing.T) {
	s := newSearch(t, 1)
	s.have(s.start)
	s.behind(t.Context(), "warm", true, s.answered("warm"))
	s.calls.Wait()
	c := s.one("hold " + s.door)
	s.m.cost("run").Store(1)
	s.m.computes.Store(false)
	if err := s.m.worker(t.Context(), "", c, false); err != nil {
		t.Fatal(err)
	}
	s.calls.Go(func() { s.m.serve(c) })
	s.behind(t.Context(), "a", true, s.answered("a"))
	eventually(t, "the next one waits behind it", func() bool { return s.length() == 2 })
	s.open()
	s.end("warm", "hold door", "a")
	s.rests(1)
}

// A hearer is a context that knows how many want to hear of its end.
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

// TestNobodyListensBehindACall makes calls, also of a worker that is yet to be made, for a
// caller who goes on.
func TestNobodyListensBehindACall(t *testing.T) {
	s := newSearch(t, 2)
	s.have(s.start)
	caller, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := &hearer{Context: caller}
	s.behind(h, "a", true, s.answered("a"))
	s.calls.Wait()
	if n := h.hear.Load(); n != 0 {
		t.Errorf("%d listen still", n)
	}
}
