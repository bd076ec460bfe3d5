package host

import (
	"fmt"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// Many callers and memory for one module: every call is answered, whether or not its module is loaded.
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
	last := moduleOf(h, "p0")
	if _, err := last.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	last.Release()
	if n := loaded(h); n != 1 {
		t.Errorf("%d modules are loaded, and there is room for one", n)
	}
}

// A module that is dropped while it could be called loads again, in a process of
// its own too; a call that runs is left alone.
func TestACallOutlivesItsEviction(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "slow", manifest("slow", "slow", "wait", ""))
	put(t, dir, "q", generation(1))
	h := openIsolated(t, dir, func(c *Config) { c.Loaded = 1 })
	s := h.Session("me", "c1")
	slow := moduleOf(h, "slow")
	m, err := slow.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	says(t, h, "q", generation(1))
	if _, fail := m.Call(t.Context(), sandbox.Invocation{Export: "wait", Input: []byte(`{"Millis":0}`)}); fail != nil {
		t.Errorf("a call was cut off: %v", fail)
	}
	slow.Release()
	says(t, h, "q", generation(1))
	if slow.Loaded() {
		t.Error("it is still loaded")
	}
	call(t, s, "slow", `{"Millis":0}`)
	if !slow.Loaded() || loaded(h) != 1 {
		t.Errorf("%d modules are loaded, slow is %v", loaded(h), slow.Loaded())
	}
}
