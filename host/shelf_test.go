package host

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// A weight is a runner that only weighs.
type weight struct {
	name   string
	bytes  atomic.Int64
	closed atomic.Int32
}

func (w *weight) Call(context.Context, sandbox.Invocation) (sandbox.Output, *tool.Error) {
	return sandbox.Output{}, nil
}
func (w *weight) Weight() tool.Bytes { return tool.Bytes(w.bytes.Load()) }
func (w *weight) Close(context.Context) error {
	w.closed.Add(1)
	return nil
}

// scales make slots whose modules weigh what a test says, and count them.
type scales struct {
	shelf  *shelf
	plugin *registry.Plugin

	mu    sync.Mutex
	made  []*weight
	slots []*slot
}

func newScales(t testing.TB, budget tool.Bytes) *scales {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "p", generation(1))
	pl, problems := registry.Check(filepath.Join(dir, "p"), "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &scales{shelf: newShelf(budget), plugin: pl}
}

func (c *scales) slot(name string, bytes int64) *slot {
	s := &slot{shelf: c.shelf, plugin: c.plugin, load: func(context.Context, sandbox.Plugin) (runner, error) {
		w := &weight{name: name}
		w.bytes.Store(bytes)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.made = append(c.made, w)
		return w, nil
	}}
	c.slots = append(c.slots, s)
	return s
}

// there are the modules that are loaded, in the order in which they were.
func (c *scales) there() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, w := range c.made {
		if slices.ContainsFunc(c.slots, func(s *slot) bool { s.mu.Lock(); defer s.mu.Unlock(); return s.module == runner(w) }) {
			out = append(out, w.name)
		}
	}
	return strings.Join(out, " ")
}

// closed waits until every module that is not loaded was closed, once.
func (c *scales) closed(t *testing.T) {
	t.Helper()
	waitFor(t, func() bool {
		closed, left := int32(0), len(strings.Fields(c.there()))
		for _, w := range c.made {
			closed += w.closed.Load()
		}
		return int(closed) == len(c.made)-left
	})
}

func use(t testing.TB, slots ...*slot) {
	t.Helper()
	for _, s := range slots {
		if _, err := s.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.give()
	}
}

func TestWhatWasUsedLongestAgoGoes(t *testing.T) {
	for _, tt := range []struct {
		why    string
		budget tool.Bytes
		use    string // slots by name; each weighs 10, X weighs 100
		left   string
	}{
		{"all fit", 30, "abc", "a b c"},
		{"the oldest goes", 30, "abcd", "b c d"},
		{"to be used again makes young", 30, "abcad", "a c d"},
		{"to be used twice is to be used last", 20, "abba", "a b"},
		{"what is gone loads again", 20, "abca", "c a"},
		{"a heavy one drives the others out", 100, "abX", "X"},
		{"the last one stays, however heavy", 50, "X", "X"},
		{"and goes when another is used", 50, "Xa", "a"},
		{"a byte is room for one", 1, "abc", "c"},
		{"without a bound all stay", -1, "abcdX", "a b c d X"},
		{"zero is the default", 0, "abcdX", "a b c d X"},
	} {
		c := newScales(t, tt.budget)
		slots := map[rune]*slot{}
		for _, name := range tt.use {
			if slots[name] == nil {
				slots[name] = c.slot(string(name), map[bool]int64{true: 100, false: 10}[name == 'X'])
			}
			use(t, slots[name])
		}
		if got := c.there(); got != tt.left {
			t.Errorf("%s: %d bytes, used %s: left %s, want %s", tt.why, tt.budget, tt.use, got, tt.left)
		}
		c.closed(t)
	}
	if f := newShelf(0); f.budget != DefaultLoaded {
		t.Errorf("zero is %s", f.budget)
	}
}

// What is in use stays until its last call has ended.
func TestWhatIsInUseStays(t *testing.T) {
	c := newScales(t, 10)
	a, b := c.slot("a", 10), c.slot("b", 10)
	for range 2 {
		if _, err := a.take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	use(t, b)
	if got := c.there(); got != "a b" {
		t.Fatalf("while a runs: %s", got)
	}
	a.give()
	if got := c.there(); got != "a" {
		t.Errorf("a was used last, and still runs: %s", got)
	}
	use(t, b)
	if got := c.there(); got != "a b" {
		t.Errorf("a still runs: %s", got)
	}
	a.give()
	use(t, b)
	if got := c.there(); got != "b" {
		t.Errorf("a has ended: %s", got)
	}
}

// Processes that wait for calls go by themselves: nothing else goes for them.
func TestWhatBecameLightIsWeighedAgain(t *testing.T) {
	c := newScales(t, 100)
	a, b := c.slot("a", 90), c.slot("b", 50)
	use(t, a)
	c.made[0].bytes.Store(10)
	use(t, b)
	if got := c.there(); got != "a b" {
		t.Errorf("left: %s", got)
	}
	c.made[1].bytes.Store(95)
	use(t, b)
	if got := c.there(); got != "b" {
		t.Errorf("b has become heavy: %s", got)
	}
}

// A retired slot leaves the shelf, when and however it is retired.
func TestRetiredSlotsLeaveTheShelf(t *testing.T) {
	c := newScales(t, 10)
	idle, busy, never, gone := c.slot("idle", 1), c.slot("busy", 1), c.slot("never", 1), c.slot("gone", 1)
	use(t, gone, idle)
	if _, err := busy.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m, ok := gone.unload(); !ok || m == nil {
		t.Fatal("it was in use")
	}
	for _, s := range []*slot{idle, busy, never, gone} {
		s.retire()
	}
	if got := c.there(); got != "busy" {
		t.Errorf("left: %s", got)
	}
	busy.give()
	if c.shelf.order.Len() != 0 || c.shelf.sum != 0 {
		t.Errorf("%d slots, %d bytes are on the shelf", c.shelf.order.Len(), c.shelf.sum)
	}
}

// A slot that is retired while it loads is closed when it has loaded.
func TestRetiredWhileItLoads(t *testing.T) {
	c := newScales(t, 10)
	s := c.slot("s", 1)
	began, go_on := make(chan struct{}), make(chan struct{})
	load := s.load
	s.load = func(ctx context.Context, p sandbox.Plugin) (runner, error) {
		close(began)
		<-go_on
		return load(ctx, p)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.take(context.Background())
		if err == nil {
			s.give()
		}
		done <- err
	}()
	<-began
	s.retire()
	close(go_on)
	if err := <-done; err != nil && err != errRetired {
		t.Error(err)
	}
	c.closed(t)
	if c.shelf.order.Len() != 0 || c.shelf.sum != 0 {
		t.Errorf("%d slots, %d bytes are on the shelf", c.shelf.order.Len(), c.shelf.sum)
	}
}

// Whatever is used in whatever order: nothing in use is closed, nothing is
// closed twice, and what is over the budget is in use or was used last.
func TestShelfLaws(t *testing.T) {
	c := newScales(t, 0)
	rapid.Check(t, func(rt *rapid.T) {
		budget := tool.Bytes(rapid.IntRange(1, 60).Draw(rt, "budget"))
		c := &scales{shelf: newShelf(budget), plugin: c.plugin}
		var slots []*slot
		for i := range 6 {
			slots = append(slots, c.slot(fmt.Sprint(i), int64(rapid.IntRange(1, 30).Draw(rt, "weight"))))
		}
		held := map[*slot]int{}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			s := slots[rapid.IntRange(0, len(slots)-1).Draw(rt, "slot")]
			switch rapid.SampledFrom([]string{"take", "give", "heavier"}).Draw(rt, "what") {
			case "take":
				if _, err := s.take(t.Context()); err != nil {
					rt.Fatal(err)
				}
				held[s]++
			case "give":
				if held[s] > 0 {
					held[s]--
					s.give()
				}
			case "heavier":
				s.mu.Lock()
				if s.module != nil {
					s.module.(*weight).bytes.Add(5)
				}
				s.mu.Unlock()
				continue // it is noticed at its next use
			}
			var sum tool.Bytes
			for _, s := range slots {
				w, loaded := s.weighs()
				if loaded && s.module.(*weight).closed.Load() > 0 || held[s] > 0 && !loaded {
					rt.Fatal("what is used is closed")
				}
				if held[s] == 0 && (c.shelf.order.Front() == nil || c.shelf.order.Front().Value != s) {
					sum += w
				}
			}
			for _, w := range c.made {
				if w.closed.Load() > 1 {
					rt.Fatal("closed twice")
				}
			}
			if last := c.shelf.sum; last > budget && sum > 0 && !heldAny(held) {
				rt.Fatalf("%d bytes are kept over the budget of %d", last, budget)
			}
		}
	})
}

func heldAny(held map[*slot]int) bool {
	for _, n := range held {
		if n > 0 {
			return true
		}
	}
	return false
}

// Many callers over few places: every call is answered, wherever its module was.
func TestCallsWhileModulesComeAndGo(t *testing.T) {
	dir := t.TempDir()
	for n := range 4 {
		put(t, dir, fmt.Sprintf("p%d", n), generation(n))
	}
	h := open(t, dir, func(c *Config) { c.Loaded = 1 })
	s := h.Session("me", "c1")
	var all sync.WaitGroup
	for caller := range 4 {
		all.Go(func() {
			for i := range 10 {
				n := (caller + i) % 4
				r, err := s.Call(t.Context(), tool.Call{Tool: fmt.Sprintf("p%d", n)})
				if err != nil || r.Whole() != generation(n) {
					t.Errorf("p%d: %q %v %v", n, r.Whole(), r.Err, err)
				}
			}
		})
	}
	all.Wait()
	use(t, h.current.Load().tools["p0"].slot)
	if n := loaded(h); n != 1 {
		t.Errorf("%d modules are loaded, and there is room for one", n)
	}
}

// A module that is dropped while it could be called loads again, in a process of
// its own too; a call that runs is left alone.
func TestACallOutlivesItsPlaceOnTheShelf(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "slow", manifest("slow", "slow", "wait", ""))
	put(t, dir, "q", generation(1))
	h := openIsolated(t, dir, func(c *Config) { c.Loaded = 1 })
	s := h.Session("me", "c1")
	slow := h.current.Load().tools["slow"].slot
	m, err := slow.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	says(t, h, "q", generation(1))
	if _, fail := m.Call(t.Context(), sandbox.Invocation{Export: "wait", Input: []byte(`{"Millis":0}`)}); fail != nil {
		t.Errorf("a call was cut off: %v", fail)
	}
	slow.give()
	says(t, h, "q", generation(1))
	if slow.loaded() {
		t.Error("it is still loaded")
	}
	call(t, s, "slow", `{"Millis":0}`)
	if !slow.loaded() || loaded(h) != 1 {
		t.Errorf("%d modules are loaded, slow is %v", loaded(h), slow.loaded())
	}
}
