package host

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestPlacesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(8)
		if p.own != 2 {
			t.Fatalf("a plugin gets %d of 8 places", p.own)
		}
		slow, one := claim{"p", "slow", 2}, claim{"p", "one", 1}
		wide, other := claim{"q", "wide", 6}, claim{"r", "other", 2}
		took := map[claim]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		release := make(chan struct{})
		start := func(c claim, n int) {
			for range n {
				all.Go(func() {
					if err := p.take(t.Context(), nil, c); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					took[c]++
					mu.Unlock()
					<-release
					p.give(c)
				})
			}
			synctest.Wait()
		}
		expect := func(what string, c claim, n int) {
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
		expect("all places are taken", other, 0)
		release <- struct{}{} // whoever it was: the one that has none is next
		synctest.Wait()
		expect("of those who wait the one that has the fewest is next", other, 1)
		close(release)
		all.Wait()
		if p.taken != 0 || len(p.plugins) != 0 || len(p.tools) != 0 || len(p.queued()) != 0 {
			t.Errorf("left: %d taken, %v, %v, %d waiting", p.taken, p.plugins, p.tools, len(p.queued()))
		}
	})
}

func TestWaitingForAPlaceEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1)
		a, b := claim{"a", "a", 1}, claim{"b", "b", 1}
		if err := p.take(t.Context(), nil, a); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.take(ctx, nil, b); err != context.DeadlineExceeded {
			t.Errorf("%v", err)
		}
		if len(p.queued()) != 0 {
			t.Error("it still waits")
		}
		p.give(a)
		if err := p.take(t.Context(), nil, b); err != nil {
			t.Error(err)
		}
	})
}

// Whatever comes and goes: never more than all run, nor more of a plugin or a
// tool than may, and nobody waits while a place is free that it may have.
func TestPlacesLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.IntRange(1, 16).Draw(t, "all")
		p := newPlaces(all)
		var claims []claim
		for _, c := range []claim{{"p", "a", 0}, {"p", "b", 0}, {"q", "c", 0}} {
			c.most = p.bound(rapid.IntRange(-1, 20).Draw(t, "operator"), rapid.IntRange(0, 20).Draw(t, "declared"))
			if c.most < 1 || c.most > all {
				t.Fatalf("a bound of %d within %d", c.most, all)
			}
			claims = append(claims, c)
		}
		var waiters []*waiter
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "come") {
				waiters = append(waiters, p.join(rapid.SampledFrom(claims).Draw(t, "claim")))
			} else if i := slices.IndexFunc(waiters, (*waiter).runs); i >= 0 {
				p.give(waiters[i].claim)
				waiters = slices.Delete(waiters, i, i+1)
			}
			tools, plugins, sum := map[string]int{}, map[string]int{}, 0
			for _, w := range waiters {
				if w.runs() {
					tools[w.tool]++
					plugins[w.plugin]++
					sum++
				}
			}
			if sum > all || sum != p.taken {
				t.Fatalf("%d run in %d places, %d are counted", sum, all, p.taken)
			}
			for _, c := range claims {
				if tools[c.tool] > c.most {
					t.Fatalf("%d of %s run, %d may", tools[c.tool], c.tool, c.most)
				}
			}
			if n, most := plugins["p"], max(p.own, claims[0].most, claims[1].most); n > most {
				t.Fatalf("%d of the plugin run, %d may", n, most)
			}
			for _, w := range p.queued() {
				if sum < all && p.may(w.claim) {
					t.Fatalf("%s waits with %d of %d places taken", w.tool, sum, all)
				}
			}
			first := map[claim]bool{} // of which somebody waits
			for _, w := range waiters {
				if first[w.claim] && w.runs() {
					t.Fatalf("of %s one runs who came later than one who waits", w.tool)
				}
				first[w.claim] = first[w.claim] || !w.runs()
			}
		}
	})
}

// queued are all who wait.
func (p *places) queued() (out []*waiter) {
	for _, q := range p.queues {
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

func TestBoundOfPlaces(t *testing.T) {
	for _, c := range []struct{ all, operator, declared, want int }{
		{16, 0, 0, 4}, {16, -1, 1, 4}, {16, 16, 1, 16}, {16, 99, 0, 16}, {16, 1, 3, 1}, {16, 0, 1, 1}, {16, 0, 1000, 4},
		{4, 0, 0, 2}, {1, 0, 0, 1}, {1, 5, 5, 1},
	} {
		if got := newPlaces(c.all).bound(c.operator, c.declared); got != c.want {
			t.Errorf("of %d places, given %d, declaring %d: %d; want %d", c.all, c.operator, c.declared, got, c.want)
		}
	}
}

// TestPlacesAreSharedOnlyByTheirLike says who may run behind others in their place:
// nobody for whom another bound holds, and nobody who would come before one who waits.
func TestPlacesAreSharedOnlyByTheirLike(t *testing.T) {
	p := newPlaces(8) // two for a plugin
	of := func(plugin, name string, most int) *toolPlace { return &toolPlace{p, claim{plugin, name, most}} }
	for _, c := range []struct {
		name         string
		who, with    *toolPlace
		alone, crowd bool // while nobody waits, and while somebody does
	}{
		{"a tool's own calls", of("p", "a", 2), of("p", "a", 2), true, false},
		{"those that have their plugin's share", of("p", "a", 2), of("p", "b", 2), true, false},
		{"those of a tool with one place", of("p", "a", 1), of("p", "a", 1), true, false},
		{"two tools with one place each", of("p", "a", 1), of("p", "b", 1), false, false},
		{"a tool that has more than the share", of("p", "a", 2), of("p", "b", 6), false, false},
		{"another plugin", of("p", "a", 2), of("q", "a", 2), false, false},
		{"another host", of("p", "a", 2), &toolPlace{newPlaces(8), claim{"p", "a", 2}}, false, false},
	} {
		if got := c.who.Shares(c.with, false); got != c.alone {
			t.Errorf("%s: %t while nobody waits", c.name, got)
		}
		taken := []claim{{"x", "x", 2}, {"x", "x", 2}}
		for _, c := range taken {
			if !p.now(c) {
				t.Fatal("there is no place")
			}
		}
		w := p.join(taken[0])
		if got := c.who.Shares(c.with, false); got != c.crowd {
			t.Errorf("%s: %t while somebody waits", c.name, got)
		}
		if got := c.who.Shares(c.with, true); got != c.alone {
			t.Errorf("%s: %t of one that has waited", c.name, got)
		}
		p.give(taken[0])
		if !w.runs() {
			t.Fatal("the place was not handed on")
		}
		p.give(taken[0])
		p.give(taken[1])
	}
}

// TestAPlaceIsNotTakenWhenItIsOver ends the waiting with what the place was for.
func TestAPlaceIsNotTakenWhenItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1)
		a, b := &toolPlace{p, claim{"a", "a", 1}}, &toolPlace{p, claim{"b", "b", 1}}
		if !a.Take(t.Context(), nil) {
			t.Fatal("there is no place")
		}
		over, took := make(chan struct{}), make(chan bool)
		go func() { took <- b.Take(t.Context(), over) }()
		synctest.Wait()
		close(over)
		if <-took {
			t.Error("it was taken")
		}
		a.Give()
		if len(p.queued()) != 0 || p.busy() != 0 {
			t.Errorf("%d wait, %d are taken", len(p.queued()), p.busy())
		}
	})
}

// TestAPlaceThatComesTooLateIsGivenBack frees a place just when nobody needs it any more.
func TestAPlaceThatComesTooLateIsGivenBack(t *testing.T) {
	for range 300 {
		p := newPlaces(1)
		a, b := &toolPlace{p, claim{"a", "a", 1}}, &toolPlace{p, claim{"b", "b", 1}}
		if !a.Take(t.Context(), nil) {
			t.Fatal("there is no place")
		}
		over, took := make(chan struct{}), make(chan bool)
		go func() { took <- b.Take(t.Context(), over) }()
		for waits := false; !waits; {
			p.mu.Lock()
			waits = len(p.queues) == 1
			p.mu.Unlock()
		}
		close(over)
		a.Give()
		if <-took {
			b.Give()
		}
		if n := p.busy(); n != 0 || len(p.queued()) != 0 {
			t.Fatalf("%d places are taken, %d wait", n, len(p.queued()))
		}
	}
}
