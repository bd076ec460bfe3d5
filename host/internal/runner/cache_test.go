package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// A weight is a Runner that only has a weight.
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

// scales make modules of a given weight and count them.
type scales struct {
	cache  *Cache
	plugin *registry.Plugin

	mu      sync.Mutex
	made    []*weight
	modules []*Module
}

func newScales(t testing.TB, budget tool.Bytes) *scales {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	write(t, filepath.Join(dir, "plugin.toml"), []byte("schema = 1\nname = \"p\"\n[[tool]]\nname = \"p\"\ndescription = \"a tool\"\nexport = \"p\"\n"))
	write(t, filepath.Join(dir, "p.wasm"), wasmtest.Echo("p"))
	pl, problems := registry.Check(dir, "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &scales{cache: NewCache(budget), plugin: pl}
}

func (c *scales) module(name string, bytes int64) *Module {
	s := &Module{cache: c.cache, plugin: c.plugin, load: func(context.Context, sandbox.Plugin) (Runner, error) {
		w := &weight{name: name}
		w.bytes.Store(bytes)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.made = append(c.made, w)
		return w, nil
	}}
	c.modules = append(c.modules, s)
	return s
}

// there returns the names of the loaded modules, in the order of loading.
func (c *scales) there() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, w := range c.made {
		if slices.ContainsFunc(c.modules, func(s *Module) bool { s.mu.Lock(); defer s.mu.Unlock(); return s.runner == Runner(w) }) {
			out = append(out, w.name)
		}
	}
	return strings.Join(out, " ")
}

// closed waits until every module that is not loaded was closed, once.
func (c *scales) closed(t *testing.T) {
	t.Helper()
	testtime.Until(t, "they are closed", func() bool {
		closed, left := int32(0), len(strings.Fields(c.there()))
		for _, w := range c.made {
			closed += w.closed.Load()
		}
		return int(closed) == len(c.made)-left
	})
}

func use(t testing.TB, modules ...*Module) {
	t.Helper()
	for _, s := range modules {
		if _, err := s.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Release()
	}
}

func TestCacheEvictsTheLeastRecentlyUsed(t *testing.T) {
	for _, tt := range []struct {
		why    string
		budget tool.Bytes
		use    string // modules by name; each weighs 10, X weighs 100
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
		modules := map[rune]*Module{}
		for _, name := range tt.use {
			if modules[name] == nil {
				modules[name] = c.module(string(name), map[bool]int64{true: 100, false: 10}[name == 'X'])
			}
			use(t, modules[name])
		}
		if got := c.there(); got != tt.left {
			t.Errorf("%s: %d bytes, used %s: left %s, want %s", tt.why, tt.budget, tt.use, got, tt.left)
		}
		c.closed(t)
	}
	if f := NewCache(0); f.budget != DefaultLoaded {
		t.Errorf("zero is %s", f.budget)
	}
}

// What is in use stays until its last call has ended.
func TestCacheKeepsModulesInUse(t *testing.T) {
	c := newScales(t, 10)
	a, b := c.module("a", 10), c.module("b", 10)
	for range 2 {
		if _, err := a.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	use(t, b)
	if got := c.there(); got != "a b" {
		t.Fatalf("while a runs: %s", got)
	}
	a.Release()
	if got := c.there(); got != "a" {
		t.Errorf("a was used last, and still runs: %s", got)
	}
	use(t, b)
	if got := c.there(); got != "a b" {
		t.Errorf("a still runs: %s", got)
	}
	a.Release()
	use(t, b)
	if got := c.there(); got != "b" {
		t.Errorf("a has ended: %s", got)
	}
}

// Idle processes end on their own: the cache counts again before it evicts.
func TestCacheUpdatesWeights(t *testing.T) {
	c := newScales(t, 100)
	a, b := c.module("a", 90), c.module("b", 50)
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

// A retired module leaves the cache, in whatever state it is.
func TestRetiredModulesLeaveTheCache(t *testing.T) {
	c := newScales(t, 10)
	idle, busy, never, gone := c.module("idle", 1), c.module("busy", 1), c.module("never", 1), c.module("gone", 1)
	use(t, gone, idle)
	if _, err := busy.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m, ok := gone.unload(); !ok || m == nil {
		t.Fatal("it was in use")
	}
	for _, s := range []*Module{idle, busy, never, gone} {
		s.Retire()
	}
	if got := c.there(); got != "busy" {
		t.Errorf("left: %s", got)
	}
	busy.Release()
	if c.cache.order.Len() != 0 || c.cache.sum != 0 {
		t.Errorf("%d modules, %d bytes are in the cache", c.cache.order.Len(), c.cache.sum)
	}
}

// A module that is retired while it loads is closed when it has loaded.
func TestRetireWhileLoading(t *testing.T) {
	c := newScales(t, 10)
	s := c.module("s", 1)
	began, go_on := make(chan struct{}), make(chan struct{})
	load := s.load
	s.load = func(ctx context.Context, p sandbox.Plugin) (Runner, error) {
		close(began)
		<-go_on
		return load(ctx, p)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Acquire(context.Background())
		if err == nil {
			s.Release()
		}
		done <- err
	}()
	<-began
	s.Retire()
	close(go_on)
	if err := <-done; err != nil && err != ErrRetired {
		t.Error(err)
	}
	c.closed(t)
	if c.cache.order.Len() != 0 || c.cache.sum != 0 {
		t.Errorf("%d modules, %d bytes are in the cache", c.cache.order.Len(), c.cache.sum)
	}
}

// In any order of use: no module in use is closed, none is closed twice, and what
// exceeds the budget is in use or was used last.
func TestCacheInvariants(t *testing.T) {
	c := newScales(t, 0)
	rapid.Check(t, func(rt *rapid.T) {
		budget := tool.Bytes(rapid.IntRange(1, 60).Draw(rt, "budget"))
		c := &scales{cache: NewCache(budget), plugin: c.plugin}
		var modules []*Module
		for i := range 6 {
			modules = append(modules, c.module(fmt.Sprint(i), int64(rapid.IntRange(1, 30).Draw(rt, "weight"))))
		}
		held := map[*Module]int{}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			s := modules[rapid.IntRange(0, len(modules)-1).Draw(rt, "slot")]
			switch rapid.SampledFrom([]string{"take", "give", "heavier"}).Draw(rt, "what") {
			case "take":
				if _, err := s.Acquire(t.Context()); err != nil {
					rt.Fatal(err)
				}
				held[s]++
			case "give":
				if held[s] > 0 {
					held[s]--
					s.Release()
				}
			case "heavier":
				s.mu.Lock()
				if s.runner != nil {
					s.runner.(*weight).bytes.Add(5)
				}
				s.mu.Unlock()
				continue // it is noticed at its next use
			}
			var sum tool.Bytes
			for _, s := range modules {
				w, loaded := s.size()
				if loaded && s.runner.(*weight).closed.Load() > 0 || held[s] > 0 && !loaded {
					rt.Fatal("what is used is closed")
				}
				if held[s] == 0 && (c.cache.order.Front() == nil || c.cache.order.Front().Value != s) {
					sum += w
				}
			}
			for _, w := range c.made {
				if w.closed.Load() > 1 {
					rt.Fatal("closed twice")
				}
			}
			if last := c.cache.sum; last > budget && sum > 0 && !heldAny(held) {
				rt.Fatalf("%d bytes are kept over the budget of %d", last, budget)
			}
		}
	})
}

func heldAny(held map[*Module]int) bool {
	for _, n := range held {
		if n > 0 {
			return true
		}
	}
	return false
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
