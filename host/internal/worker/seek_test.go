//go:build linux

package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/sdk/tool"
)

// rooms are so many places of one kind.
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

func (r *rooms) Take(ctx context.Context, over <-chan struct{}) bool {
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

func (r *rooms) Give() {
	r.count(-1, 0)
	<-r.free
}

func (r *rooms) Shares(with sandbox.Place, waited bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return with == sandbox.Place(r) && (waited || r.waits == 0)
}

func (r *rooms) busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// A search is calls of which the first has a worker, and the others find that theirs
// take long to start.
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

// behind makes a call in the background that others may be behind, or that waits for
// nobody.
func (s *search) behind(ctx context.Context, input string, patient bool, judge func(sandbox.Output, *tool.Error)) {
	s.calls.Go(func() {
		s.m.cost("run").Store(1)
		s.m.hungry.Store(!patient)
		judge(s.m.Call(ctx, sandbox.Invocation{Export: "run", Input: []byte(input), Timeout: patience, Place: s.rooms}))
	})
}

// seeks waits until so many calls seek a worker.
func (s *search) seeks(n int32) {
	s.t.Helper()
	eventually(s.t, fmt.Sprint(n, " calls seek a worker"), func() bool { return s.m.seeking.Load() == n })
}

// placeless waits until so many calls wait for a place.
func (s *search) placeless(n int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprint(n, " calls wait for a place"), func() bool {
		s.rooms.mu.Lock()
		defer s.rooms.mu.Unlock()
		return s.rooms.waits == n
	})
}

// rests waits until no call has a worker or a place, and as many workers wait.
func (s *search) rests(idle int) {
	s.t.Helper()
	eventually(s.t, "all is given back", func() bool {
		p := s.m.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		return s.rooms.busy() == 0 && len(s.m.lines) == 0 && len(s.m.seekers) == 0 && len(p.idle) == idle
	})
}

func (s *search) have(file string) {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		s.t.Error(err)
	}
}

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
		s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
		eventually(t, "it runs", func() bool { return s.length() == 1 })
		s.behind(t.Context(), "a", false, s.answered("a"))
		s.seeks(1)
		s.open()
		s.calls.Wait()
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
	first, second := &seeker{key: "k", c: &call{}}, &seeker{key: "k", c: &call{}}
	cancelled := false
	k := &making{key: "k", cancel: func() { cancelled = true }, by: first, done: make(chan struct{})}
	if err := s.m.settle(first, k); err != nil || s.m.takeUp(second) != k {
		t.Fatalf("it is not taken up: %v", err)
	}
	if s.m.giveUp(first, k); cancelled {
		t.Error("it is ended by who has left it")
	}
	if s.m.giveUp(second, k); !cancelled {
		t.Error("it is not ended by who waits for it")
	}
	if err := s.m.settle(second, k); err != nil || s.m.takeUp(first) != nil {
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
	s.m.hungry.Store(false)
	s.m.seekers[0].patient = true // as one is that came before anybody knew what a call costs
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
		if !s.rooms.Take(t.Context(), nil) {
			t.Fatal("there is no place")
		}
		s.behind(t.Context(), "a", true, func(out sandbox.Output, fail *tool.Error) {
			if fail == nil || !out.Unplaced {
				t.Errorf("got %+v, %v", out, fail)
			}
		})
		s.placeless(1)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.m.Close(over); err != nil {
			t.Error(err)
		}
		s.rooms.Give()
		s.calls.Wait()
		s.rests(0)
	})
	t.Run("without a place", func(t *testing.T) {
		s := newSearch(t, 1)
		s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
		eventually(t, "it runs", func() bool { return s.length() == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		s.behind(ctx, "a", false, func(out sandbox.Output, fail *tool.Error) {
			if fail == nil || fail.Code != tool.Cancelled || !out.Unplaced {
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
					if len(m.lines) > 0 {
						m.lines[rnd.IntN(len(m.lines))].kill()
					}
					p.mu.Unlock()
				case 2:
					m.hungry.Store(true)
				}
				out, fail := m.Call(ctx, sandbox.Invocation{Export: "run", Input: []byte(text), Timeout: patience, Place: r})
				if fail == nil {
					answered[n]++
					if string(out.Bytes) != text {
						t.Errorf("%s: got %q", text, out.Bytes)
					}
				}
				cancel()
				p.mu.Lock()
				if lines, taken := len(m.lines), r.busy(); lines > taken {
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
		if !s.rooms.Take(t.Context(), nil) {
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
		s.rooms.Give()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		s.end("a")
		s.rests(0)
	})
	t.Run("a worker for nobody", func(t *testing.T) {
		s := newSearch(t, 2)
		s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
		eventually(t, "it runs", func() bool { return s.length() == 1 })
		s.behind(t.Context(), "a", false, s.answered("a"))
		s.seeks(1)
		s.open()
		s.calls.Wait()
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
		_, fail := s.m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("tell"), Timeout: patience, Place: s.rooms,
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
	s.m.hungry.Store(false)
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

// seeker makes a call that waits for nobody one that seeks a worker.
func (s *search) seeker(input string) *seeker {
	s.t.Helper()
	if !s.rooms.Take(s.t.Context(), nil) {
		s.t.Fatal("there is no place")
	}
	k := s.m.pool.take(s.m, "", s.one(input), 0, false)
	if k == nil {
		s.t.Fatal("there is a worker")
	}
	return k
}

func (s *search) one(input string) *call {
	return &call{module: s.m, outer: s.t.Context(), inv: sandbox.Invocation{Export: "run", Input: []byte(input), Timeout: patience, Place: s.rooms, MaxOutput: 1000}}
}

// has reports whether the call is in a line.
func (s *seeker) has() bool {
	select {
	case <-s.found:
		return true
	default:
		return false
	}
}

// TestNobodyFallsInBetween has a worker become free just when a call has found none, and
// before another one is made.
func TestNobodyFallsInBetween(t *testing.T) {
	s := newSearch(t, 2)
	s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	eventually(t, "it runs", func() bool { return s.length() == 1 })
	a := s.seeker("a")
	s.open()
	s.calls.Wait()
	if !a.has() {
		t.Error("the worker was kept while somebody sought one")
	}
	if n := s.m.seeking.Load(); n != 0 {
		t.Errorf("%d seek still", n)
	}
	if err := s.m.seek(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	s.answered("a")(s.m.serve(a.c))
	s.have(s.start)
	s.rests(2)
	s.end("hold door", "a")
}

// TestBothComeAtOnce has a call find a worker when its own is ready too, which goes to
// another one that seeks, with its place, or is kept.
func TestBothComeAtOnce(t *testing.T) {
	for _, another := range []bool{false, true} {
		s := newSearch(t, 3)
		s.have(s.start)
		s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
		eventually(t, "it runs", func() bool { return s.length() == 1 })
		a := s.seeker("a")
		begun := []string{"hold door", "a"}
		s.open()
		s.calls.Wait()
		if !a.has() {
			t.Fatal("it has no worker")
		}
		k := &making{key: a.key, place: a.c.inv.Place, done: make(chan struct{}), by: a}
		s.m.bring(t.Context(), k, nil)
		var b *seeker
		if another {
			b = s.seeker("b")
			begun = append(begun, "b")
		}
		if err := s.m.settle(a, k); err != nil {
			t.Fatal(err)
		}
		if another {
			if !b.has() {
				t.Fatal("the worker was kept while somebody sought one")
			}
			s.rooms.Give() // b's own, which one that is made for it would have
			if n := s.rooms.busy(); n != 2 {
				t.Errorf("%d places are taken by two calls", n)
			}
			s.answered("b")(s.m.serve(b.c))
		}
		s.answered("a")(s.m.serve(a.c))
		s.rests(2)
		s.end(begun...)
		if n := s.m.pool.turns.long.Load(); n != 0 {
			t.Errorf("%d tasks are left", n)
		}
	}
}

// TestOnlyTheirLikeIsHanded has a worker become free while all kinds of calls seek one:
// those get it that may be in its place and were lent the same folders, also several,
// and also while somebody waits for a place.
func TestOnlyTheirLikeIsHanded(t *testing.T) {
	s := newSearch(t, 3)
	s.have(s.start)
	s.behind(t.Context(), "warm", true, s.answered("warm"))
	s.calls.Wait()
	s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	eventually(t, "it runs", func() bool { return s.length() == 1 })
	of := func(key string, place sandbox.Place) *seeker {
		c := s.one("a")
		c.inv.Place = place
		p := s.m.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		return s.m.note(key, c, true)
	}
	strange := map[string]*seeker{
		"one that was lent other folders":   of("other", s.rooms),
		"one in places of another kind":     of("", newRooms(1)),
		"one that needs no place of a kind": of("", nil),
	}
	for range 2 { // their own places
		if !s.rooms.Take(t.Context(), nil) {
			t.Fatal("there is no place")
		}
	}
	a, b := of("", s.rooms), of("", s.rooms)
	for who, k := range strange {
		if s.m.pool.queue(s.m, k.key, k.c, lineMost) {
			t.Errorf("%s is in the line", who)
		}
	}
	s.behind(t.Context(), "late", false, s.answered("late"))
	s.placeless(1)
	s.m.cost("run").Store(1)
	s.m.hungry.Store(false)
	s.open()
	eventually(t, "the first is answered", func() bool { return a.has() })
	if !b.has() {
		t.Error("there was room for two")
	}
	s.placeless(1)
	s.m.pool.mu.Lock()
	for who, k := range strange {
		if k.has() {
			t.Errorf("%s has it", who)
		}
		s.m.forget(k)
	}
	s.m.pool.mu.Unlock()
	s.calls.Go(func() { s.answered("a")(s.m.serve(b.c)) })
	s.answered("a")(s.m.serve(a.c))
	s.rooms.Give() // which workers made for them would have
	s.rooms.Give()
	s.calls.Wait()
	s.end("warm", "hold door", "a", "a", "late")
}

// TestAWorkerOutlastsItsCaller has a call answered by another worker, behind one that
// nobody may wait for as its worker was made for it, and its caller go: the one on its
// way is kept.
func TestAWorkerOutlastsItsCaller(t *testing.T) {
	s := newSearch(t, 2)
	s.behind(t.Context(), "hold "+s.door, true, s.answered("hold "+s.door))
	eventually(t, "it runs", func() bool { return s.length() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	s.behind(ctx, "a", true, s.answered("a"))
	s.seeks(1)
	s.open()
	s.calls.Wait()
	cancel()
	s.have(s.start)
	s.rests(2)
	s.end("hold door", "a")
}
