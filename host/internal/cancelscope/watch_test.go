package cancelscope

import (
	"context"
	"testing"
	"testing/synctest"
)

// One Watch serves for one context after the other, of any type, and runs for the
// current one.
func TestWatch(t *testing.T) {
	kinds := map[string]func(context.Context) (context.Context, func()){
		"std": func(ctx context.Context) (context.Context, func()) { return context.WithCancel(ctx) },
		"own": func(ctx context.Context) (context.Context, func()) {
			c := NewGroup(context.Background()).Enter(ctx)
			return c, c.Cancel
		},
		"own, by its parent": func(ctx context.Context) (context.Context, func()) {
			parent := NewGroup(context.Background()).Enter(ctx)
			return NewGroup(context.Background()).Enter(parent), parent.Cancel
		},
	}
	for name, of := range kinds {
		synctest.Test(t, func(t *testing.T) {
			told := 0
			w := Watch{Do: func() { told++ }}
			for range 2 {
				_, endOther := of(t.Context())
				ctx, end := of(t.Context())
				w.Begin(ctx)
				w.End()
				end()
				synctest.Wait()
				if told != 0 {
					t.Fatalf("%s: it is told of a context that it is not over any more", name)
				}
				ctx, end = of(t.Context())
				w.Begin(ctx)
				endOther()
				synctest.Wait()
				if told != 0 {
					t.Fatalf("%s: it is told of another context", name)
				}
				end()
				synctest.Wait()
				if told != 1 {
					t.Fatalf("%s: it is told %d times", name, told)
				}
				w.End()
				w.Begin(ctx)
				w.End()
				synctest.Wait()
				if told != 2 {
					t.Fatalf("%s: of a context that has ended before it is told %d times", name, told-1)
				}
				told = 0
			}
			if w.of != nil || w.stop != nil || w.in {
				t.Errorf("%s: it still holds something", name)
			}
		})
	}
}

// A context that never ends is not watched.
func TestWatchForever(t *testing.T) {
	w := Watch{Do: func() { t.Error("it has ended") }}
	w.Begin(context.Background())
	w.End()
}

// Watches end in any order; the remaining ones run.
func TestWatchesLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewGroup(t.Context()).Enter(t.Context())
		var all [5]Watch
		told := make(chan int, len(all))
		for i := range all {
			all[i].Do = func() { told <- i }
			all[i].Begin(c)
		}
		for _, i := range []int{2, 4, 0} {
			all[i].End()
		}
		c.Cancel()
		synctest.Wait()
		close(told)
		sum := 0
		for i := range told {
			sum += 1 << i
		}
		if sum != 1<<1|1<<3 {
			t.Errorf("told are %b", sum)
		}
	})
}

// A context that is a field of another struct allocates nothing, watched or not.
func TestAllocations(t *testing.T) {
	outside, inside := NewGroup(t.Context()), NewGroup(t.Context())
	var outer, inner Context
	w := Watch{Do: func() {}}
	if n := testing.AllocsPerRun(100, func() {
		outer, inner = Context{}, Context{}
		outside.Admit(&outer, context.Background())
		inside.Admit(&inner, &outer)
		w.Begin(&inner)
		w.End()
		inner.Leave()
		outer.Leave()
	}); n != 0 {
		t.Errorf("a call takes %v allocations", n)
	}
}
