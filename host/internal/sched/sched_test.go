package sched

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestSlotsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(8)
		if p.share != 2 {
			t.Fatalf("a plugin gets %d of 8 slots", p.share)
		}
		slow, one := Key{"p", "slow", 2}, Key{"p", "one", 1}
		wide, other := Key{"q", "wide", 6}, Key{"r", "other", 2}
		took := map[Key]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		release := make(chan struct{})
		start := func(c Key, n int) {
			for range n {
				all.Go(func() {
					if err := p.Acquire(t.Context(), nil, c); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					took[c]++
					mu.Unlock()
					<-release
					p.Release(c)
				})
			}
			synctest.Wait()
		}
		expect := func(what string, c Key, n int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if took[c] != n {
				t.Errorf("%s: %d run; want %d", what, took[c], n)
			}
		}
		start(slow, 10)
		expect("a plugin has its share", slow, 2)
		start(one, 1)
		expect("and its other tools none beside it", one, 0)
		start(wide, 10)
		expect("what the operator gives is more than a share, while there is room", wide, 6)
		start(other, 1)
		expect("all slots are taken", other, 0)
		release <- struct{}{} // whoever it was: the one that has none is next
		synctest.Wait()
		expect("of those who wait the one that has the fewest is next", other, 1)
		close(release)
		all.Wait()
		if p.used != 0 || len(p.plugins) != 0 || len(p.tools) != 0 || len(p.queued()) != 0 {
			t.Errorf("left: %d taken, %v, %v, %d waiting", p.used, p.plugins, p.tools, len(p.queued()))
		}
	})
}

// Several plugins that hang cannot use every slot together: the last quarter is for the
// first call of a plugin.
func TestFirstCallsHaveRoom(t *testing.T) {
	for _, slots := range []int{4, 8, 16, 40} {
		p := New(slots)
		var waiters []*waiter
		for range slots {
			for _, plugin := range []string{"a", "b", "c", "d", "e"} {
				waiters = append(waiters, p.enqueue(Key{plugin, plugin, p.share}))
			}
		}
		if w := p.enqueue(Key{"honest", "honest", p.share}); slots > 4 && !w.runs() {
			t.Errorf("of %d slots %d are used, and a plugin without a call waits", slots, p.used)
		}
		// The operator's word counts more.
		p = New(slots)
		for range slots {
			waiters = append(waiters, p.enqueue(Key{"wide", "wide", slots}))
		}
		if p.used != slots {
			t.Errorf("a tool that may use all %d slots uses %d", slots, p.used)
		}
	}
}

// A Limiter of one plugin has no share and no reserve; a tool's quota holds.
func TestUnsharedSlots(t *testing.T) {
	for _, size := range []int{1, 8, Unbounded} {
		p := NewUnshared(size)
		if got := p.Quota(0, 0); got != size {
			t.Errorf("a tool gets %d of %d", got, size)
		}
		started := 0
		for range min(size, 100) + 1 {
			if p.enqueue(Key{"s", "wide", p.Quota(0, 0)}).runs() {
				started++
			}
		}
		if want := min(size, 101); started != want {
			t.Errorf("of %d slots: %d calls run, want %d", size, started, want)
		}
		one := Key{"s", "one", p.Quota(1, 0)}
		if first, second := p.enqueue(one).runs(), p.enqueue(one).runs(); first != (size > 8) || second {
			t.Errorf("of %d slots, a tool with a bound of 1: %t, %t", size, first, second)
		}
	}
}

func TestAcquireEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1)
		a, b := Key{"a", "a", 1}, Key{"b", "b", 1}
		if err := p.Acquire(t.Context(), nil, a); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Acquire(ctx, nil, b); err != context.DeadlineExceeded {
			t.Errorf("%v", err)
		}
		if len(p.queued()) != 0 {
			t.Error("it still waits")
		}
		p.Release(a)
		if err := p.Acquire(t.Context(), nil, b); err != nil {
			t.Error(err)
		}
	})
}

// In every state at most size calls run, no plugin and no tool exceeds its quota,
// and no call waits while a slot is free that it may have.
func TestLimiterInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.IntRange(1, 16).Draw(t, "all")
		p := New(all)
		var keys []Key
		for _, c := range []Key{{"p", "a", 0}, {"p", "b", 0}, {"q", "c", 0}} {
			c.Quota = p.Quota(rapid.IntRange(-1, 20).Draw(t, "operator"), rapid.IntRange(0, 20).Draw(t, "declared"))
			if c.Quota < 1 || c.Quota > all {
				t.Fatalf("a bound of %d within %d", c.Quota, all)
			}
			keys = append(keys, c)
		}
		var waiters []*waiter
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "come") {
				waiters = append(waiters, p.enqueue(rapid.SampledFrom(keys).Draw(t, "key")))
			} else if i := slices.IndexFunc(waiters, (*waiter).runs); i >= 0 {
				p.Release(waiters[i].Key)
				waiters = slices.Delete(waiters, i, i+1)
			}
			tools, plugins, sum := map[string]int{}, map[string]int{}, 0
			for _, w := range waiters {
				if w.runs() {
					tools[w.Tool]++
					plugins[w.Plugin]++
					sum++
				}
			}
			if sum > all || sum != p.used {
				t.Fatalf("%d run in %d slots, %d are counted", sum, all, p.used)
			}
			for _, c := range keys {
				if tools[c.Tool] > c.Quota {
					t.Fatalf("%d of %s run, %d may", tools[c.Tool], c.Tool, c.Quota)
				}
			}
			if n, most := plugins["p"], max(p.share, keys[0].Quota, keys[1].Quota); n > most {
				t.Fatalf("%d of the plugin run, %d may", n, most)
			}
			for _, w := range p.queued() {
				if sum < all && p.allows(w.Key) {
					t.Fatalf("%s waits with %d of %d slots used", w.Tool, sum, all)
				}
			}
			first := map[Key]bool{} // keys with a waiting call
			for _, w := range waiters {
				if first[w.Key] && w.runs() {
					t.Fatalf("of %s a call runs that came later than one that waits", w.Tool)
				}
				first[w.Key] = first[w.Key] || !w.runs()
			}
		}
	})
}

// queued returns all waiting calls.
func (l *Limiter) queued() (out []*waiter) {
	for _, q := range l.queues {
		out = append(out, q.waiting...)
	}
	return out
}

func (w *waiter) runs() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

func TestQuota(t *testing.T) {
	for _, c := range []struct{ all, operator, declared, want int }{
		{16, 0, 0, 4}, {16, -1, 1, 4}, {16, 16, 1, 16}, {16, 99, 0, 16}, {16, 1, 3, 1}, {16, 0, 1, 1}, {16, 0, 1000, 4},
		{4, 0, 0, 2}, {1, 0, 0, 1}, {1, 5, 5, 1},
	} {
		if got := New(c.all).Quota(c.operator, c.declared); got != c.want {
			t.Errorf("of %d slots, given %d, declaring %d: %d; want %d", c.all, c.operator, c.declared, got, c.want)
		}
	}
}

func TestAcquireEndsWhenThePluginCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1)
		a, b := &Slot{p, Key{"a", "a", 1}}, &Slot{p, Key{"b", "b", 1}}
		if !a.Acquire(t.Context(), nil) {
			t.Fatal("there is no slot")
		}
		closing, took := make(chan struct{}), make(chan bool)
		go func() { took <- b.Acquire(t.Context(), closing) }()
		synctest.Wait()
		close(closing)
		if <-took {
			t.Error("it was taken")
		}
		a.Release()
		if len(p.queued()) != 0 || p.Busy() != 0 {
			t.Errorf("%d wait, %d are taken", len(p.queued()), p.Busy())
		}
	})
}

// The slot is assigned at the moment at which the call stops waiting.
func TestASlotAssignedTooLateIsReleased(t *testing.T) {
	for range 300 {
		p := New(1)
		a, b := &Slot{p, Key{"a", "a", 1}}, &Slot{p, Key{"b", "b", 1}}
		if !a.Acquire(t.Context(), nil) {
			t.Fatal("there is no slot")
		}
		closing, took := make(chan struct{}), make(chan bool)
		go func() { took <- b.Acquire(t.Context(), closing) }()
		for waits := false; !waits; {
			p.mu.Lock()
			waits = len(p.queues) == 1
			p.mu.Unlock()
		}
		close(closing)
		a.Release()
		if <-took {
			b.Release()
		}
		if n := p.Busy(); n != 0 || len(p.queued()) != 0 {
			t.Fatalf("%d slots are used, %d wait", n, len(p.queued()))
		}
	}
}
