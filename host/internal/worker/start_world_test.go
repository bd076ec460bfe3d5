//go:build linux

package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// rooms are a number of slots of one kind.
type rooms struct {
	free chan struct{}

	mu    sync.Mutex
	taken int
	waits int
}

func newRooms(n int) *rooms { return &rooms{free: make(chan struct{}, n)} }

func (r *rooms) count(taken, waits int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken += taken
	r.waits += waits
}

func (r *rooms) Acquire(ctx context.Context, over <-chan struct{}) bool {
	r.count(0, 1)
	defer r.count(0, -1)
	select {
	case r.free <- struct{}{}:
		r.count(1, 0)
		return true
	case <-ctx.Done():
	case <-over:
	}
	return false
}

func (r *rooms) Release() {
	r.count(-1, 0)
	<-r.free
}

func (r *rooms) Shares(with sandbox.Slot, waited bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return with == sandbox.Slot(r) && (waited || r.waits == 0)
}

func (r *rooms) busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// A search makes calls of which the first has a worker, and the workers of the others
// start slowly.
type search struct {
	*queue
	rooms *rooms
	start string // the file that they wait for
}

func newSearch(t *testing.T, places int) *search {
	begun, start := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "start")
	q := newQueueOf(t, "late:"+start+"|"+begun, time.Hour)
	q.begun = begun
	t.Cleanup(func() { _ = os.WriteFile(start, nil, 0o600) })
	return &search{q, newRooms(places), start}
}

// makeCall makes a call in the background. With patient it may wait after others.
func (s *search) makeCall(ctx context.Context, input string, patient bool, judge func(sandbox.Output, *tool.Error)) {
	s.calls.Go(func() {
		s.m.cost("run").Store(1)
		s.m.computes.Store(!patient)
		judge(s.m.Call(ctx, sandbox.Invocation{Export: "run", Input: []byte(input), Timeout: patience, Slot: s.rooms}))
	})
}

// leaves begins a start whose call finds another worker: the start has no waiter.
func (s *search) leaves() {
	s.t.Helper()
	s.makeCall(s.t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	testtime.Until(s.t, "it runs", func() bool { return s.length() == 1 })
	s.makeCall(s.t.Context(), "a", false, s.answered("a"))
	s.seeks(1)
	s.open()
	s.calls.Wait()
}

// seeks waits until n calls wait for a worker, and until the turn of as many starts has
// come as may start at the same time.
func (s *search) seeks(n int32) {
	s.t.Helper()
	testtime.Until(s.t, fmt.Sprint(n, " calls seek a worker"), func() bool {
		p := s.m.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		begun := 0
		for _, k := range s.m.starting {
			if k.begun {
				begun++
			}
		}
		return s.m.waiting.Load() == n && begun == min(len(s.m.starting), cap(s.m.turns))
	})
}

// placeless waits until n calls wait for a slot.
func (s *search) placeless(n int) {
	s.t.Helper()
	testtime.Until(s.t, fmt.Sprint(n, " calls wait for a place"), func() bool {
		s.rooms.mu.Lock()
		defer s.rooms.mu.Unlock()
		return s.rooms.waits == n
	})
}

// rests waits until no call has a worker or a slot, and until there are as many idle
// workers.
func (s *search) rests(idle int) {
	s.t.Helper()
	testtime.Until(s.t, "all is given back", func() bool {
		p := s.m.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		return s.rooms.busy() == 0 && len(s.m.busy) == 0 && len(s.m.waiters) == 0 && len(p.idle) == idle
	})
}

func (s *search) have(file string) {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		s.t.Error(err)
	}
}

// seeker makes a call that waits for a worker and not after other calls.
func (s *search) seeker(input string) *waiter {
	s.t.Helper()
	if !s.rooms.Acquire(s.t.Context(), nil) {
		s.t.Fatal("there is no place")
	}
	k := s.m.pool.acquire(s.m, "", s.one(input), 0, false)
	if k == nil {
		s.t.Fatal("there is a worker")
	}
	return k
}

func (s *search) one(input string) *call {
	return &call{module: s.m, outer: s.t.Context(), inv: sandbox.Invocation{Export: "run", Input: []byte(input), Timeout: patience, Slot: s.rooms, MaxOutput: 1000}}
}

// has reports whether the call is in a queue.
func (s *waiter) has() bool {
	select {
	case <-s.found:
		return true
	default:
		return false
	}
}
