package host

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/internal/watch"
	"github.com/weirhost/weir/internal/testsize"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// answering is a guest whose export answers with eight bytes of text. What
// follows them in the file is padding, so that nearly every part of the file is
// no module.
func answering(export, text string) []byte {
	const env = "extism:host/env"
	i64 := wasmtest.I64
	word := int64(binary.LittleEndian.Uint64([]byte(text)))
	return wasmtest.New().Types(
		wasmtest.Func(nil, []byte{wasmtest.I32}), wasmtest.Func([]byte{i64}, []byte{i64}), wasmtest.Func([]byte{i64, i64}, nil),
	).Imports(
		wasmtest.ImportFunc(env, "alloc", 1), wasmtest.ImportFunc(env, "store_u64", 2), wasmtest.ImportFunc(env, "output_set", 2),
	).Functions(0).Exports(wasmtest.ExportFunc(export, 3)).Code(wasmtest.BodyWith([][]byte{wasmtest.Locals(1, i64)}, wasmtest.Cat(
		[]byte{wasmtest.I64Const}, wasmtest.S64(8), []byte{wasmtest.Call, 0, wasmtest.LocalSet, 0},
		[]byte{wasmtest.LocalGet, 0, wasmtest.I64Const}, wasmtest.S64(word), []byte{wasmtest.Call, 1},
		[]byte{wasmtest.LocalGet, 0, wasmtest.I64Const}, wasmtest.S64(8), []byte{wasmtest.Call, 2},
		[]byte{wasmtest.I32Const, 0},
	)...)).Custom("padding", make([]byte, 16<<10)).Bytes()
}

func generation(n int) string { return fmt.Sprintf("gen%05d", n) }

// put writes a plugin whose tool of the same name answers with text.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	write(t, filepath.Join(dir, name, "plugin.toml"), manifest(name, name, name, ""))
	write(t, filepath.Join(dir, name, name+".wasm"), answering(name, text))
}

// watched opens a host that watches its folder, quickly. It closes it at the end.
func watched(t *testing.T, dir string, cfg watch.Config, change func(*Host)) *Host {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	h := open(t, dir, nil)
	if change != nil {
		change(h)
	}
	if cfg.Quiet == 0 {
		cfg.Quiet = 30 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.watch(ctx, cfg) }()
	testtime.Until(t, "the host watches", func() bool { return h.watching.Load() != nil })
	<-h.watching.Load().Ready()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != context.Canceled {
			t.Errorf("watching ended with %v", err)
		}
	})
	return h
}

func (h *Host) state(name string) string {
	for _, p := range h.Plugins() {
		if p.Name == name {
			return fmt.Sprint(p.State, " ", len(p.Problems))
		}
	}
	return "gone"
}

// answers calls a tool until it gives the answer.
func answers(t *testing.T, s *Session, name, want string) {
	t.Helper()
	testtime.Until(t, "the tool answers so", func() bool { return try(t, s, name, "").Whole() == want })
}

func TestWatchedFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", generation(1))
	h := watched(t, dir, watch.Config{}, nil)
	s := h.Session("me", "c1")
	answers(t, s, "a", generation(1))
	changed := h.Changed()
	put(t, dir, "b", generation(2))
	answers(t, s, "b", generation(2))
	<-changed
	put(t, dir, "a", generation(3))
	answers(t, s, "a", generation(3))
	os.RemoveAll(filepath.Join(dir, "b"))
	testtime.Until(t, "the tool is gone", func() bool { r := try(t, s, "b", ""); return r.Err != nil && r.Err.Code == tool.UnknownTool })
	os.RemoveAll(dir)
	testtime.Until(t, "the plugin is gone", func() bool { return len(h.Plugins()) == 0 })
	put(t, dir, "a", generation(4))
	answers(t, s, "a", generation(4))
}

// While a plugin's files are broken what was there serves; when they stay
// broken it is refused, and when they are fixed it is back.
func TestBrokenFilesAreGivenTime(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", generation(1))
	h := watched(t, dir, watch.Config{}, func(h *Host) { h.grace = time.Hour })
	s := h.Session("me", "c1")
	answers(t, s, "a", generation(1))
	next := answering("a", generation(2))
	path := filepath.Join(dir, "a", "a.wasm")
	write(t, path, next[:len(next)/2])
	testtime.Until(t, "a is loaded", func() bool { return h.state("a") == "ready 1" })
	answers(t, s, "a", generation(1))
	write(t, path, next)
	answers(t, s, "a", generation(2))
	testtime.Until(t, "a is unloaded", func() bool { return h.state("a") == "ready 0" })

	write(t, filepath.Join(dir, "a", "plugin.toml"), []byte("schema = \n"))
	testtime.Until(t, "a is loaded again", func() bool { return h.state("a") == "ready 1" })
	write(t, filepath.Join(dir, "new.wasm"), next[:100])
	testtime.Until(t, "new waits", func() bool { return h.state("new") == "waiting 0" })
	// A person who asks for a reload wants to see what is wrong now.
	testtime.Until(t, "both are refused", func() bool {
		if _, err := h.Reload(t.Context(), ReloadOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		return h.state("a") == "refused 1" && h.state("new") == "refused 1"
	})
	put(t, dir, "a", generation(3))
	answers(t, s, "a", generation(3))
}

func TestFilesThatStayBrokenAreRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", generation(1))
	var book guesttest.LogBook
	h := watched(t, dir, watch.Config{}, func(h *Host) { h.grace, h.log = 200*time.Millisecond, book.Logger() })
	answers(t, h.Session("me", "c1"), "a", generation(1))
	write(t, filepath.Join(dir, "a", "a.wasm"), []byte("hello"))
	testtime.Until(t, "a is refused", func() bool { return h.state("a") == "refused 1" })
	testtime.Until(t, "the log has the refusal", func() bool {
		return strings.Contains(book.String(), "now_refused=[a]") || strings.Contains(book.String(), `now_refused=["a"]`)
	})
	// Another reason is logged too.
	write(t, filepath.Join(dir, "a", "plugin.toml"), []byte("schema = \n"))
	testtime.Until(t, "the log has the place", func() bool { return strings.Contains(book.String(), "plugin.toml:1:10") })
	put(t, dir, "a", generation(2))
	answers(t, h.Session("me", "c1"), "a", generation(2))
	// A script without a manifest is not waited for forever.
	write(t, filepath.Join(dir, "lone.js"), []byte("export function lone() {}\n"))
	testtime.Until(t, "lone.js is refused", func() bool { return h.state("lone.js") == "refused 1" })
	testtime.Until(t, "the log has lone.js", func() bool { return strings.Contains(book.String(), "name=lone.js state=refused") })
	for line := range strings.Lines(book.String()) {
		if strings.Contains(line, "still being written") && strings.Contains(line, "[WARN]") {
			t.Errorf("the log warns of what needs no action: %s", line)
		}
	}
}

// A plugin without a call so far is not compiled: its first call waits
// for its file to be whole.
func TestFirstCallWaitsForAHalfWrittenFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", generation(1))
	h := watched(t, dir, watch.Config{}, func(h *Host) { h.grace = time.Hour })
	next := answering("a", generation(2))
	path := filepath.Join(dir, "a", "a.wasm")
	write(t, path, next[:len(next)/2])
	done := make(chan tool.Result)
	go func() { done <- try(t, h.Session("me", "c1"), "a", "") }()
	testtime.Until(t, "a is loaded", func() bool { return h.state("a") == "ready 1" })
	write(t, path, next)
	if r := <-done; r.Whole() != generation(2) {
		t.Errorf("%q, %v", r.Whole(), r.Err)
	}
}

// Whatever writers do, every call of a plugin beside them is answered, and
// every answer is of one generation that was once whole.
func TestStormOfWriters(t *testing.T) {
	t.Run("events", func(t *testing.T) { storm(t, watch.Config{Longest: 300 * time.Millisecond}, testsize.Of(40, 120)) })
	t.Run("poll", func(t *testing.T) {
		storm(t, watch.Config{Longest: 300 * time.Millisecond, Poll: 10 * time.Millisecond}, testsize.Of(20, 40))
	})
}

func storm(t *testing.T, cfg watch.Config, rounds int) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	put(t, dir, "honest", "I answer")
	put(t, dir, "p", generation(0))
	put(t, elsewhere, "linked", generation(0))
	if err := os.Symlink(filepath.Join(elsewhere, "linked"), filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	h := watched(t, dir, cfg, func(h *Host) { h.grace = time.Hour })
	s := h.Session("me", "c1")
	for _, name := range []string{"honest", "p", "linked"} {
		call(t, s, name, "")
	}
	var latest atomic.Int64
	var removing atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var calls atomic.Int64
	for range 2 {
		callers.Go(func() {
			for ctx.Err() == nil {
				if r := try(t, s, "honest", ""); r.Whole() != "I answer" {
					t.Errorf("the honest plugin: %q, %v", r.Whole(), r.Err)
				}
				for _, name := range []string{"p", "linked"} {
					mayMiss := removing.Load()
					r := try(t, s, name, "")
					mayMiss = mayMiss || removing.Load()
					var n int64
					switch _, err := fmt.Sscanf(r.Whole(), "gen%05d", &n); {
					case mayMiss && name == "p" && r.Err != nil && r.Err.Code == tool.UnknownTool:
					case r.Err != nil:
						t.Errorf("round %d: %s: %v; the plugins are:\n%s", latest.Load(), name, r.Err, states(h))
					case err != nil || n > latest.Load():
						t.Errorf("%s answers %q; the latest is %d", name, r.Whole(), latest.Load())
					}
				}
				calls.Add(3)
			}
		})
	}
	for n := 1; n <= rounds; n++ {
		latest.Store(int64(n))
		removing.Store(n%4 == 2) // see recreated below
		write4 := []func(*testing.T, string, string, []byte){slowly, renamed, recreated, slowly}[n%4]
		write4(t, dir, elsewhere, answering("p", generation(n)))
		if n%2 == 0 {
			swapLink(t, dir, elsewhere, n)
		}
		if removing.Load() {
			answers(t, s, "p", generation(n))
		}
		if n%10 == 0 {
			answers(t, s, "p", generation(n))
			answers(t, s, "linked", generation(n))
		}
	}
	answers(t, s, "p", generation(rounds))
	cancel()
	callers.Wait()
	t.Logf("%d calls", calls.Load())
}

// slowly cuts the file off and writes it in pieces.
func slowly(t *testing.T, dir, _ string, wasm []byte) {
	f, err := os.Create(filepath.Join(dir, "p", "p.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for len(wasm) > 0 {
		n := min(len(wasm), 3000)
		if _, err := f.Write(wasm[:n]); err != nil {
			t.Fatal(err)
		}
		wasm = wasm[n:]
		time.Sleep(2 * time.Millisecond) // the host must see unfinished files, and nothing tells that it has
	}
}

func renamed(t *testing.T, dir, elsewhere string, wasm []byte) {
	next := filepath.Join(dir, "p", ".next")
	write(t, next, wasm)
	if err := os.Rename(next, filepath.Join(dir, "p", "p.wasm")); err != nil {
		t.Fatal(err)
	}
}

func recreated(t *testing.T, dir, _ string, wasm []byte) {
	if err := os.RemoveAll(filepath.Join(dir, "p")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "p", "p.wasm"), wasm)
	write(t, filepath.Join(dir, "p", "plugin.toml"), manifest("p", "p", "p", ""))
}

// swapLink makes a link point to another folder at once.
func swapLink(t *testing.T, dir, elsewhere string, n int) {
	to := filepath.Join(elsewhere, generation(n), "linked")
	put(t, filepath.Dir(to), "linked", generation(n))
	next := filepath.Join(dir, ".link")
	if err := os.Symlink(to, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
}
