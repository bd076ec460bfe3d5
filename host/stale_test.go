package host

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/sdk/tool"
)

// A call may hold a plan that has just been replaced, and its module, which
// was never compiled, may lie there unchanged: taking it must not compile it
// again and again.
func TestRetiredModuleIsNotCompiled(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "p", manifest("p", "job", "echo", ""))
	h := open(t, dir, nil)
	old := moduleOf(h, "job")
	path := filepath.Join(dir, "p", "p.wasm")
	wasm := slurp(t, path)
	write(t, path, append(wasm, 0, 3, 1, 'x', 0))
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	write(t, path, wasm)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := old.Acquire(ctx); !errors.Is(err, runner.ErrRetired) {
		t.Fatalf("taking a retired module: %v", err)
	}
	if r := call(t, h.Session("me", "c1"), "job", `{"a":1}`); r.Whole() != `{"a":1}` {
		t.Errorf("%q", r.Whole())
	}
}

// Such a call goes on with the plan in force.
func TestCallOfRetiredModuleRunsOnTheNewOne(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "p", manifest("p", "job", "echo", ""))
	h := open(t, dir, nil)
	s := h.Session("me", "c1")
	stale := h.current.Load()
	place(t, dir, "p", manifest("p", "job", "echo", "version = \"2\""))
	path := filepath.Join(dir, "p", "p.wasm")
	write(t, path, append(slurp(t, path), 0, 3, 1, 'x', 0))
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, again := s.call(t.Context(), stale, tool.Call{Tool: "job", Args: json.RawMessage(`{"a":1}`)}); !again {
		t.Error("a retired module must ask for another try")
	}
}
