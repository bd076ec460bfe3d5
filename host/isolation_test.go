package host

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// openIsolated opens a host whose plugins run in processes of their own.
func openIsolated(t *testing.T, dir string, change func(*Config)) *Host {
	t.Helper()
	return open(t, dir, func(c *Config) {
		c.WorkerCommand = workerCommand
		if change != nil {
			change(c)
		}
	})
}

// TestIsolation makes the same calls wherever the plugins run.
func TestIsolation(t *testing.T) {
	for _, row := range []struct {
		name    string
		workers Workers
	}{
		{"in processes", Workers{}},
		{"inline", Workers{Isolation: Inline}},
		{"one of them inline", Workers{Inline: []string{"probe"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := openIsolated(t, drop(t, "probe", "notes"), func(c *Config) { c.Sandbox.Workers = row.workers })
			s := h.Session("me", "c1")
			r, err := s.Call(t.Context(), tool.Call{Tool: "count", Args: json.RawMessage(`{}`)})
			if err != nil || r.Err != nil {
				t.Fatal(err, r.Err)
			}
			if first := r.Whole(); first == "" {
				t.Error("the answer is empty")
			}
			want := h.engines.Load().HasWorkers() && row.workers.Isolation != Inline && len(row.workers.Inline) == 0
			if got := !h.engines.Load().Inline("probe"); got != want {
				t.Errorf("the plugin runs in a process of its own: %t, want %t", got, want)
			}
		})
	}
}

// TestQuarantinedPlugin drops a module in that takes too long to compile. The
// list says so, today and after a restart, and Retry has it tried again.
func TestQuarantinedPlugin(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "bomb", manifest("bomb", "blow", "run", ""))
	write(t, filepath.Join(dir, "bomb", "bomb.wasm"), wasmtest.Slow("run", 60_000))
	place(t, dir, "fine", manifest("fine", "job", "echo", ""))
	data := t.TempDir()
	change := func(c *Config) {
		c.CacheDir = filepath.Join(data, "cache")
		c.Sandbox.Workers = Workers{CompileCPU: time.Second, Quarantine: filepath.Join(data, "quarantine.json")}
	}
	h := openIsolated(t, dir, change)
	if info := pluginNamed(t, h, "bomb"); info.State != plugin.Ready {
		t.Fatalf("before anybody tried it: %+v", info)
	}
	r, err := h.Session("me", "c1").Call(t.Context(), tool.Call{Tool: "blow", Args: json.RawMessage(`{}`)})
	if err != nil || r.Err == nil || r.Err.Code != tool.Failed || !strings.Contains(r.Err.Msg, "compiling it needs more than 1s of CPU time") {
		t.Errorf("got %v, %v", r.Err, err)
	}
	check := func(h *Host) {
		t.Helper()
		info := pluginNamed(t, h, "bomb")
		if info.State != plugin.Quarantined || !strings.HasPrefix(info.Why.String(), "compiling it needs more than 1s of CPU time, on 20") || !strings.Contains(info.Fix.String(), "weir plugin retry bomb") {
			t.Errorf("got %+v", info)
		}
		if other := pluginNamed(t, h, "fine"); other.State != plugin.Ready {
			t.Errorf("the other: %+v", other)
		}
		for _, tl := range h.Tools() {
			if tl.Spec.Name == "blow" {
				t.Error("its tool is offered")
			}
		}
	}
	check(h)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again := openIsolated(t, dir, func(c *Config) {
		change(c)
		c.WorkerCommand = []string{filepath.Join(data, "no such program")} // nothing may be started
	})
	check(again)
	if err := again.Retry("fine"); !errors.Is(err, ErrNotQuarantined) {
		t.Errorf("a plugin that is fine: %v", err)
	}
	if err := again.Retry("bomb"); err != nil {
		t.Fatal(err)
	}
	if info := pluginNamed(t, again, "bomb"); info.State != plugin.Ready {
		t.Errorf("once more: %+v", info)
	}
}

// A plugin that was made for another host is compiled before it is listed: in
// quarantine it says so, and Retry has it asked again.
func TestQuarantinedStranger(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	wasm := bare(wasmtest.I32Const, 0)
	write(t, filepath.Join(dir, "strange.wasm"), wasm)
	sum := sha256.Sum256(wasm)
	file := filepath.Join(data, "quarantine.json")
	write(t, file, fmt.Appendf(nil, `{"%x":{"plugin":"strange","why":"compiling it takes too long","when":"2026-01-02T03:04:05Z","tries":1,"final":true}}`, sum))
	h := openIsolated(t, dir, func(c *Config) {
		c.CacheDir, c.Sandbox.Workers.Quarantine, c.Lock = filepath.Join(data, "cache"), file, filepath.Join(data, "weir.lock")
	})
	info := pluginNamed(t, h, "strange")
	if info.State != plugin.Quarantined || info.Why.String() != "compiling it takes too long, on 2026-01-02 03:04 UTC; it is not tried again" || !strings.Contains(info.Fix.String(), "weir plugin retry strange") {
		t.Errorf("got %+v", info)
	}
	if err := h.Approve(t.Context(), "strange", "", "cli"); code(err) != plugin.CodeInvalid || !strings.Contains(err.Error(), "it is not tried again") {
		t.Errorf("approved: %v", err)
	}
	if err := h.Retry("strange"); err != nil {
		t.Fatal(err)
	}
	if info := pluginNamed(t, h, "strange"); info.State != plugin.Invalid || !strings.Contains(info.Why.String(), "answered nothing") {
		t.Errorf("asked again: %+v", info)
	}
	if err := h.Retry("strange"); !errors.Is(err, ErrNotQuarantined) {
		t.Errorf("once more: %v", err)
	}
}

// A manifest in quarantine is not checked again until Retry.
func TestQuarantinedManifest(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	text := manifest("held", "job", "echo", "")
	place(t, dir, "held", text)
	file := filepath.Join(data, "quarantine.json")
	write(t, file, fmt.Appendf(nil, `{"%x":{"plugin":"held","why":"checking its manifest took too long","when":"2026-01-02T03:04:05Z","tries":1,"final":true}}`, sha256.Sum256([]byte(text))))
	h := openIsolated(t, dir, func(c *Config) { c.CacheDir, c.Sandbox.Workers.Quarantine = filepath.Join(data, "cache"), file })
	for range 2 {
		info := pluginNamed(t, h, "held")
		if info.State != plugin.Quarantined || info.Why.String() != "checking its manifest took too long, on 2026-01-02 03:04 UTC; it is not tried again" || !strings.Contains(info.Fix.String(), "weir plugin retry held") {
			t.Errorf("got %+v", info)
		}
		if err := h.reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Retry("held"); err != nil {
		t.Fatal(err)
	}
	if info := pluginNamed(t, h, "held"); info.State != plugin.Ready {
		t.Errorf("once more: %+v", info)
	}
}

// TestClosedWhileCompiling closes a host that compiles: no plugin is blamed.
func TestClosedWhileCompiling(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	place(t, dir, "bomb", manifest("bomb", "blow", "run", ""))
	write(t, filepath.Join(dir, "bomb", "bomb.wasm"), wasmtest.Slow("run", 60_000))
	file := filepath.Join(data, "quarantine.json")
	h := openIsolated(t, dir, func(c *Config) { c.CacheDir, c.Sandbox.Workers.Quarantine = filepath.Join(data, "cache"), file })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Warm(ctx, nil)
	}()
	testtime.Until(t, "the try is written down", func() bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), "bomb")
	})
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	<-done
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "bomb") {
		t.Errorf("the file holds %s, %v", text, err)
	}
}

func pluginNamed(t *testing.T, h *Host, name string) plugin.Info {
	t.Helper()
	for _, info := range h.Plugins() {
		if info.Name == name {
			return info
		}
	}
	t.Fatalf("there is no plugin %s", name)
	return plugin.Info{}
}
