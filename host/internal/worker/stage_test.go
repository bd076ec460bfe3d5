//go:build linux

package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
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

func (r *rooms) state() (taken, waits int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, r.waits
}

// A stage makes calls whose guest does what its input says. The first worker starts at
// once, the others when a file exists.
type stage struct {
	t     *testing.T
	m     *Module
	door  string // the file that a guest waits for
	start string // the file that workers wait for
	begun string // the file of begun calls
	rooms *rooms
	calls sync.WaitGroup
}

func newStage(t *testing.T, places int) *stage {
	dir := t.TempDir()
	s := &stage{t: t, door: filepath.Join(dir, "door"), start: filepath.Join(dir, "start"), begun: filepath.Join(dir, "begun"), rooms: newRooms(places)}
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	load(t, newPool(t, nil), pl) // so that it is compiled
	s.m = load(t, newPool(t, func(c *Config) { c.Command = asRole("late:" + s.start + "|" + s.begun) }), pl)
	t.Cleanup(func() { s.have(s.start) })
	return s
}

func (s *stage) have(file string) {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		s.t.Error(err)
	}
}

// now makes a call.
func (s *stage) now(ctx context.Context, input string, timeout time.Duration, judge func(sandbox.Output, *tool.Error)) {
	inv := sandbox.Invocation{Export: "run", Input: []byte(input), Timeout: timeout, Slot: s.rooms}
	if strings.HasPrefix(input, "ask") {
		inv.Grant.HTTP = sender{}
	}
	judge(s.m.Call(ctx, inv))
}

// call makes a call in the background.
func (s *stage) call(ctx context.Context, input string, judge func(sandbox.Output, *tool.Error)) {
	s.calls.Go(func() { s.now(ctx, input, patience, judge) })
}

// hold makes a call that runs until the door is there.
func (s *stage) hold(ctx context.Context, judge func(sandbox.Output, *tool.Error)) {
	s.t.Helper()
	s.call(ctx, "hold "+s.door, judge)
	testtime.Until(s.t, "it runs", func() bool { return slices.Contains(s.all(), "hold door") })
}

// all returns the inputs of the calls that were begun.
func (s *stage) all() []string {
	text, _ := os.ReadFile(s.begun)
	all := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), s.door, "door")), "\n")
	slices.Sort(all)
	return all
}

// wait waits until n calls wait for a worker.
func (s *stage) wait(n int) {
	s.t.Helper()
	testtime.Until(s.t, fmt.Sprint(n, " calls wait for a worker"), func() bool {
		s.m.pool.mu.Lock()
		defer s.m.pool.mu.Unlock()
		return len(s.m.waiters) == n
	})
}

// starts waits until n workers are being started.
func (s *stage) starts(n int) {
	s.t.Helper()
	testtime.Until(s.t, fmt.Sprint(n, " workers are being started"), func() bool {
		s.m.pool.mu.Lock()
		defer s.m.pool.mu.Unlock()
		return s.m.starting[""] == n
	})
}

// rests waits until no call has a worker or a slot, and until there are as many idle
// workers.
func (s *stage) rests(idle int) {
	s.t.Helper()
	s.calls.Wait()
	s.starts(0)
	testtime.Until(s.t, "all is given back", func() bool {
		taken, waits := s.rooms.state()
		s.m.pool.mu.Lock()
		defer s.m.pool.mu.Unlock()
		return taken == 0 && waits == 0 && len(s.m.waiters) == 0 && len(s.m.pool.idle) == idle
	})
}

// end waits for all calls, and expects that these were begun, once each.
func (s *stage) end(begun ...string) {
	s.t.Helper()
	s.calls.Wait()
	slices.Sort(begun)
	if got := s.all(); !slices.Equal(got, begun) {
		s.t.Errorf("begun were %q, want %q", got, begun)
	}
}

// answered expects the call's input as its answer.
func (s *stage) answered(input string) func(sandbox.Output, *tool.Error) {
	return func(out sandbox.Output, fail *tool.Error) {
		if fail != nil || string(out.Bytes) != input {
			s.t.Errorf("%s: got %q, %v", input, out.Bytes, fail)
		}
	}
}

func (s *stage) failed(code tool.Code) func(sandbox.Output, *tool.Error) {
	return func(out sandbox.Output, fail *tool.Error) {
		if fail == nil || fail.Code != code {
			s.t.Errorf("got %q, %v, want %s", out.Bytes, fail, code)
		}
	}
}

type sender struct{}

func (sender) Do(context.Context, egress.Request) (egress.Response, *tool.Error) {
	return egress.Response{Status: 200}, nil
}
