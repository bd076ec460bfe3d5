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
// nobody for whom another bound holds, and nobody who would pass one who waits for it.
func TestPlacesAreSharedOnlyByTheirLike(t *testing.T) {
	claims := func(n int, plugin, name string, most int) (out []claim) {
		for range n {
			out = append(out, claim{plugin, name, most})
		}
		return out
	}
	for _, crowd := range []struct {
		name   string
		taken  []claim // beside the one that is to be shared
		waits  []claim
		passes bool // a newcomer passes nobody
	}{
		{"nobody waits", nil, nil, true},
		{"one waits whom its own bound holds up", claims(1, "x", "x", 1), claims(1, "x", "x", 1), true},
		{"one waits whom its plugin's share holds up", claims(2, "x", "x", 2), claims(1, "x", "y", 2), true},
		{"one waits who could have any place", slices.Concat(claims(6, "w", "w", 6), claims(1, "x", "x", 2)), claims(1, "x", "x", 2), false},
		{"one waits for a place of the plugin's", claims(1, "p", "c", 2), claims(1, "p", "c", 2), false},
		{"one waits behind one whom its own bound holds up", slices.Concat(claims(6, "w", "w", 6), claims(1, "x", "x", 1)), []claim{{"x", "x", 1}, {"y", "y", 2}}, false},
	} {
		for _, c := range []struct {
			name      string
			who, with claim
			alike     bool
		}{
			{"a tool's own calls", claim{"p", "a", 2}, claim{"p", "a", 2}, true},
			{"those that have their plugin's share", claim{"p", "a", 2}, claim{"p", "b", 2}, true},
			{"those of a tool with one place", claim{"p", "a", 1}, claim{"p", "a", 1}, true},
			{"two tools with one place each", claim{"p", "a", 1}, claim{"p", "b", 1}, false},
			{"a tool that has more than the share", claim{"p", "a", 2}, claim{"p", "b", 6}, false},
			{"another plugin", claim{"p", "a", 2}, claim{"q", "a", 2}, false},
		} {
			p := newPlaces(8) // two for a plugin
			for _, taken := range append(slices.Clone(crowd.taken), c.with) {
				if !p.now(taken) {
					t.Fatalf("%s, %s: there is no place for %v", crowd.name, c.name, taken)
				}
			}
			for _, w := range crowd.waits {
				if p.join(w).runs() && c.with.plugin == "p" {
					t.Fatalf("%s, %s: nobody waits", crowd.name, c.name)
				}
			}
			who, with := &toolPlace{p, c.who}, &toolPlace{p, c.with}
			if got, want := who.Shares(with, false), c.alike && crowd.passes; got != want {
				t.Errorf("%s, %s: %t; want %t", crowd.name, c.name, got, want)
			}
			if got := who.Shares(with, true); got != c.alike {
				t.Errorf("%s, %s: %t of one that has waited", crowd.name, c.name, got)
			}
			if who.Shares(&toolPlace{newPlaces(8), c.with}, false) {
				t.Errorf("%s, %s: it is another host's", crowd.name, c.name)
			}
		}
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
