//go:build linux

package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// A worker becomes free while another one is being started: the call takes it, and the
// started one becomes idle. Meanwhile it holds no slot.
func TestTheFirstFreeWorkerIsTaken(t *testing.T) {
	s := newStage(t, 2)
	s.hold(t.Context(), s.answered("hold "+s.door))
	s.call(t.Context(), "a", s.answered("a"))
	s.wait(1)
	s.have(s.door)
	s.calls.Wait()
	if taken, _ := s.rooms.state(); taken != 0 {
		t.Errorf("%d places are taken for a worker that starts without a call", taken)
	}
	s.have(s.start)
	s.rests(2)
	s.end("hold door", "a")
}

// Several calls in a row wait for a worker and find one that becomes free: only one is
// started for all of them.
func TestAStartServesTheNextCall(t *testing.T) {
	s := newStage(t, 3)
	for n := range 3 {
		door := filepath.Join(t.TempDir(), "door")
		s.call(t.Context(), "hold "+door, s.answered("hold "+door))
		testtime.Until(t, "it runs", func() bool { return slices.Contains(s.all(), "hold "+door) })
		s.call(t.Context(), fmt.Sprint(n), s.answered(fmt.Sprint(n)))
		s.wait(1)
		s.starts(1)
		s.have(door)
		s.calls.Wait()
	}
	s.hold(t.Context(), s.answered("hold "+s.door))
	s.call(t.Context(), "last", s.answered("last"))
	s.wait(1)
	s.starts(1)
	s.have(s.start)
	s.wait(0)
	s.have(s.door)
	s.rests(2)
}

// The turn of a start comes when no call waits for it any more: it starts no process.
func TestAStartThatNoCallWaitsForStartsNothing(t *testing.T) {
	s := newStage(t, 1)
	for range cap(s.m.pool.turns) {
		s.m.pool.turns <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.call(ctx, "a", s.failed(tool.Cancelled))
	s.wait(1)
	s.starts(1)
	cancel()
	s.calls.Wait()
	for range cap(s.m.pool.turns) {
		<-s.m.pool.turns
	}
	s.rests(0)
}

// A worker cannot be started: each call that waits for one has the failure.
func TestAFailedStart(t *testing.T) {
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	load(t, newPool(t, nil), pl) // so that it is compiled
	m := load(t, newPool(t, func(c *Config) { c.Command = []string{"/no/such/program"} }), pl)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if _, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run"}); fail == nil || fail.Code != tool.Failed {
				t.Errorf("got %v", fail)
			}
		})
	}
	calls.Wait()
}

// Calls that wait for a worker end: their slots are released, and no waiter is left.
func TestWaitersEnd(t *testing.T) {
	over, end := context.WithCancel(t.Context())
	end()
	t.Run("with the caller", func(t *testing.T) {
		s := newStage(t, 2)
		s.hold(t.Context(), s.answered("hold "+s.door))
		ctx, cancel := context.WithCancel(t.Context())
		s.call(ctx, "a", s.failed(tool.Cancelled))
		s.wait(1)
		cancel()
		testtime.Until(t, "its place is given back", func() bool { taken, _ := s.rooms.state(); return taken == 1 })
		s.have(s.door)
		s.have(s.start)
		s.rests(2) // what was begun for it serves the next call
		s.end("hold door")
	})
	t.Run("with the module", func(t *testing.T) {
		s := newStage(t, 2)
		s.hold(t.Context(), s.failed(tool.Cancelled))
		s.call(t.Context(), "a", s.failed(tool.Cancelled))
		s.wait(1)
		if err := s.m.Close(over); err != nil {
			t.Error(err)
		}
		s.rests(0)
	})
	t.Run("with the module and without a place", func(t *testing.T) {
		s := newStage(t, 1)
		s.hold(t.Context(), s.failed(tool.Cancelled))
		s.call(t.Context(), "a", func(out sandbox.Output, fail *tool.Error) {
			if fail == nil || !out.NoSlot {
				t.Errorf("got %+v, %v", out, fail)
			}
		})
		testtime.Until(t, "it waits", func() bool { _, waits := s.rooms.state(); return waits == 1 })
		if err := s.m.Close(over); err != nil {
			t.Error(err)
		}
		s.rests(0)
		s.end("hold door")
	})
}

// A worker is found at the moment when its caller goes: the next call has it.
func TestAWorkerThatCameTooLate(t *testing.T) {
	s := newStage(t, 2)
	s.now(t.Context(), "warm", patience, s.answered("warm"))
	w, err := s.m.worker(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	a := &waiter{found: make(chan struct{})}
	s.m.waiters = append(s.m.waiters, a)
	s.m.pool.release(s.m, w)
	if w, err := s.m.await(gone, a); w == nil && err == nil {
		t.Error("it has neither a worker nor an error")
	} else if w != nil { // both were true, and it found this first
		s.m.pool.release(s.m, w)
	}
	s.rests(1)
}

// A module is closed while calls wait, in time: they are answered. It does not wait for a
// worker that no call needs.
func TestCloseWaitsForCallsAndNotForStarts(t *testing.T) {
	s := newStage(t, 2)
	s.hold(t.Context(), s.answered("hold "+s.door))
	s.call(t.Context(), "a", s.answered("a"))
	s.wait(1)
	closed := make(chan error)
	go func() { closed <- s.m.Close(t.Context()) }()
	testtime.Until(t, "it closes", func() bool {
		if s.m.calls.Enter() {
			s.m.calls.Leave()
			return false
		}
		return true
	})
	s.have(s.door)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	s.end("hold door", "a")
	s.rests(0)
}

// Many calls with few slots come, give up and lose their workers: there are never more
// workers than slots, each call has its own answer, and at the end all slots are free.
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
					if len(p.idle) > 0 {
						p.idle[rnd.IntN(len(p.idle))].w.kill()
					}
					p.mu.Unlock()
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
				if idle := len(p.idle); idle > p.cfg.Max {
					t.Errorf("%d workers are idle", idle)
				}
				p.mu.Unlock()
			}
		})
	}
	all.Wait()
	testtime.Until(t, "all places are given back", func() bool { taken, _ := r.state(); return taken == 0 })
	for n, got := range answered {
		if got == 0 {
			t.Errorf("caller %d had no answer", n)
		}
	}
}

// A call without folders comes while a worker with folders is idle: it gets another one.
func TestWorkersWithFoldersAreNotShared(t *testing.T) {
	m := load(t, newPool(t, nil), sandbox.Plugin{Name: "guest", Wasm: goGuest})
	dir := t.TempDir()
	put(t, filepath.Join(dir, "f"), "private")
	inv := sandbox.Invocation{Export: "cat", Input: []byte("/w/f"), Timeout: patience, MaxOutput: 1000}
	with := inv
	with.Grant.Mounts = []jail.Mount{{Guest: "/w", Host: dir}}
	if out, fail := m.Call(t.Context(), with); fail != nil || string(out.Bytes) != "private" {
		t.Fatalf("got %q, %v", out.Bytes, fail)
	}
	a, b := &waiter{key: "", found: make(chan struct{})}, &waiter{key: mountKey(with.Grant.Mounts), found: make(chan struct{})}
	m.waiters = append(m.waiters, a, b)
	w, err := m.worker(t.Context(), with.Grant.Mounts)
	if err != nil {
		t.Fatal(err)
	}
	if m.pool.release(m, w); a.w != nil || b.w != w {
		t.Error("a worker with folders went to a call without them")
	}
	m.waiters = nil
	m.pool.release(m, w)
	if out, fail := m.Call(t.Context(), inv); fail == nil {
		t.Errorf("a call without the grant reads %q", out.Bytes)
	}
}
