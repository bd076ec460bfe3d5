package host

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A home is what outlives a Host: where it keeps things, and its plugins.
type home struct{ plugins, data string }

func newHome(t testing.TB) home { return home{t.TempDir(), t.TempDir()} }

func (m home) file(name string) string { return filepath.Join(m.plugins, name, name+".wasm") }
func (m home) index() string           { return filepath.Join(m.data, "cache", indexFile) }

// open opens a host there, which is closed by the test's end at the latest.
func (m home) open(t testing.TB, trust plugin.Trust, change func(*Config)) *Host {
	t.Helper()
	return open(t, m.plugins, func(c *Config) {
		c.Folders[0].Trust = trust
		c.Lock, c.CacheDir = filepath.Join(m.data, "weir.lock"), filepath.Join(m.data, "cache")
		if change != nil {
			change(c)
		}
	})
}

// claim has the index say that the file at path holds wasm, as if it had lain
// there for long.
func (m home) claim(t testing.TB, path string, wasm []byte) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	looked, err := sandbox.Inspect(wasm)
	if err != nil {
		t.Fatal(err)
	}
	x := modindex.Open(m.index(), "0.1.0")
	x.Keep(path, st, time.Now().Add(time.Hour), modindex.Facts{
		SHA256: shaOf(wasm), Bytes: len(wasm), IsGo: looked.IsGo, Exports: looked.Exports, Manifest: looked.Sections["weir.manifest"],
	})
	if err := x.Save(); err != nil {
		t.Fatal(err)
	}
}

func shaOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// loaded counts the modules in memory.
func loaded(h *Host) (n int) {
	for _, p := range h.current.Load().Plugins {
		for _, m := range p.Modules {
			if m.Loaded() {
				n++
			}
		}
	}
	return n
}

// moduleOf returns the module of a tool.
func moduleOf(h *Host, name string) *runner.Module {
	return h.current.Load().Tools[name].Source.(*runner.Module)
}

func shut(t testing.TB, h *Host) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

// A start believes the index; the first call does not. Bytes that it mistook
// come to what a reload makes of them: nothing runs that is not approved, and
// what was approved serves.
func TestTheFirstCallFindsOutWhatTheIndexMistook(t *testing.T) {
	pgtest.SQLite(t) // in PostgreSQL the files are read, and kept for other machines
	for _, tt := range []struct {
		name   string
		trust  plugin.Trust
		spoil  func(t *testing.T, m home, h *Host)
		answer string // empty: a failure
		state  plugin.State
		offers bool
	}{
		{"the folder is trusted", plugin.TrustGranted, nil, generation(2), plugin.Ready, false},
		{"a change waits", plugin.TrustAsk, nil, generation(1), plugin.Ready, true},
		{"a change waits, and there is no copy", plugin.TrustAsk, func(t *testing.T, m home, h *Host) {
			if err := os.RemoveAll(filepath.Join(m.data, "approved")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(m.data, "approved"), nil, 0o600); err != nil { // nor will be
				t.Fatal(err)
			}
		}, "", plugin.Pending, true},
		{"the file is half of what it was", plugin.TrustAsk, func(t *testing.T, m home, h *Host) {
			wasm := slurp(t, m.file("p"))
			write(t, m.file("p"), wasm[:len(wasm)/2])
		}, generation(1), plugin.Ready, true},
		{"half a file, and the folder is trusted", plugin.TrustGranted, func(t *testing.T, m home, h *Host) {
			wasm := slurp(t, m.file("p"))
			write(t, m.file("p"), wasm[:len(wasm)/2])
		}, "", plugin.Invalid, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newHome(t)
			put(t, m.plugins, "p", generation(1))
			approved := slurp(t, m.file("p"))
			shut(t, m.open(t, tt.trust, nil))
			put(t, m.plugins, "p", generation(2))
			if tt.spoil != nil {
				tt.spoil(t, m, nil)
			}
			m.claim(t, m.file("p"), approved)

			h := m.open(t, tt.trust, nil)
			if p := info(t, h, "p"); p.State != plugin.Ready || p.SHA256 != shaOf(approved) || p.Pending != nil {
				t.Fatalf("the index is not believed, so nothing is tested: %+v", p)
			}
			r := try(t, h.Session("me", "c1"), "p", "")
			if r.Whole() != tt.answer {
				t.Errorf("the first call answers %q (%v), want %q", r.Whole(), r.Err, tt.answer)
			}
			if tt.answer == "" && (r.Err == nil || r.Err.Code == "" || r.Err.Msg == "" || r.Err.Hint == "") {
				t.Errorf("the failure says too little: %+v", r.Err)
			}
			if p := info(t, h, "p"); p.State != tt.state || (p.Pending != nil) != tt.offers {
				t.Errorf("then: %+v", p)
			}
			shut(t, h)
			// The next start knows better.
			h = m.open(t, tt.trust, nil)
			if p := info(t, h, "p"); p.State != tt.state || (p.Pending != nil) != tt.offers {
				t.Errorf("after a restart: %+v", p)
			}
		})
	}
}

// A copy that was approved is looked at like every file: where the index
// mistakes it, it does not serve.
func TestAMistakenCopyDoesNotServe(t *testing.T) {
	pgtest.SQLite(t) // in PostgreSQL the files are read, and kept for other machines
	m := newHome(t)
	put(t, m.plugins, "p", generation(1))
	approved := slurp(t, m.file("p"))
	shut(t, m.open(t, plugin.TrustAsk, nil))
	copies, err := filepath.Glob(filepath.Join(m.data, "approved", "*", "p.wasm"))
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	put(t, m.plugins, "p", generation(2)) // so that the copy serves
	write(t, copies[0], answering("p", generation(3)))
	m.claim(t, copies[0], approved)
	h := m.open(t, plugin.TrustAsk, nil)
	if p := info(t, h, "p"); p.State != plugin.Ready || p.SHA256 != shaOf(approved) {
		t.Fatalf("the index is not believed, so nothing is tested: %+v", p)
	}
	if r := try(t, h.Session("me", "c1"), "p", ""); r.Err == nil || r.Whole() != "" {
		t.Errorf("bytes that nobody approved ran: %q", r.Whole())
	}
	if p := info(t, h, "p"); p.State != plugin.Pending || p.Pending == nil {
		t.Errorf("%+v", p)
	}
}

// What is approved after the index was wrong is what lies there.
func TestApprovingReadsTheFile(t *testing.T) {
	m := newHome(t)
	lay(t, m.plugins, "a", wanting("a", "1", ""), generation(1))
	was := slurp(t, m.file("a"))
	lay(t, m.plugins, "a", wanting("a", "1", ""), generation(2))
	if err := os.MkdirAll(filepath.Join(m.data, "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.claim(t, m.file("a"), was)
	granted := func(c *Config) {
		c.Grants = map[string]plugin.Grant{"a": {Paths: []plugin.PathGrant{{Guest: "/data", Host: m.data}}}}
		c.Approvals.Default = approval.Allow
	}
	h := m.open(t, plugin.TrustAsk, granted)
	r, err := h.Review(t.Context(), "a")
	if err != nil || r.Pending == nil || r.Pending.WasmSHA256 != shaOf(was) {
		t.Fatalf("the index is not believed, so nothing is tested: %+v %v", r, err)
	}
	if err := h.Approve(t.Context(), "a", r.Pending.Digest, "cli"); code(err) != plugin.CodeLockUnusable {
		t.Errorf("bytes were approved that do not lie there: %v", err)
	}
	shut(t, h)
	h = m.open(t, plugin.TrustAsk, granted)
	agree(t, h, "a")
	says(t, h, "a", generation(2))
}

// Whatever lies where the index should be: a start works, and puts it right.
func TestAnIndexThatIsNone(t *testing.T) {
	for name, lay := range map[string]func(t *testing.T, file string){
		"garbage": func(t *testing.T, file string) { write(t, file, []byte("\x00 garbage")) },
		"of a newer weir": func(t *testing.T, file string) {
			write(t, file, []byte(`{"weir_index":99,"version":"9","sha256":""}`+"\n{}"))
		},
		"others may write it": func(t *testing.T, file string) {
			write(t, file, []byte("{}\n{}"))
			if err := os.Chmod(file, 0o666); err != nil {
				t.Fatal(err)
			}
		},
		"a folder": func(t *testing.T, file string) {
			if err := os.MkdirAll(file, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newHome(t)
			put(t, m.plugins, "p", generation(1))
			lay(t, m.index())
			var log guesttest.LogBook
			h := m.open(t, plugin.TrustGranted, func(c *Config) { c.Logger = log.Logger() })
			says(t, h, "p", generation(1))
			st, err := os.Stat(m.file("p"))
			if err != nil {
				t.Fatal(err)
			}
			h.index.Keep(m.file("p"), st, time.Now().Add(time.Hour), modindex.Facts{SHA256: shaOf(slurp(t, m.file("p")))})
			shut(t, h)
			if name == "a folder" {
				if !strings.Contains(log.String(), "the next start reads all modules again") {
					t.Errorf("the failure is not in the log:\n%s", log.String())
				}
				return
			}
			if st, err := os.Stat(m.index()); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%v %v", st, err)
			}
			if _, known := modindex.Open(m.index(), "0.1.0").Find(m.file("p"), st); !known {
				t.Error("the index was not begun anew")
			}
		})
	}
}

// Processes that share a cache share the index, and do not disturb each other.
func TestHostsShareAnIndex(t *testing.T) {
	m := newHome(t)
	for _, name := range []string{"p", "q"} {
		put(t, m.plugins, name, generation(1))
	}
	var hosts [3]*Host
	for i := range hosts {
		hosts[i] = m.open(t, plugin.TrustGranted, func(c *Config) { c.Lock = "" })
	}
	var all sync.WaitGroup
	for _, h := range hosts {
		all.Go(func() {
			for n := range 10 {
				if n%3 == 0 {
					h.index.Forget(m.file("p"))
				}
				if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
					t.Error(err)
				}
				if got := states(h); got != "p ready [p]\nq ready [q]" {
					t.Errorf("%s", got)
				}
			}
		})
	}
	all.Wait()
	says(t, hosts[0], "p", generation(1))
}

// Warming compiles what lies there, also where the index mistook it.
func TestWarmReadsWhatTheIndexMistook(t *testing.T) {
	m := newHome(t)
	put(t, m.plugins, "p", generation(1))
	was := slurp(t, m.file("p"))
	put(t, m.plugins, "p", generation(2))
	m.claim(t, m.file("p"), was)
	h := m.open(t, plugin.TrustGranted, func(c *Config) { c.Lock = "" })
	var told []string
	h.Warm(t.Context(), func(name string, _ time.Duration, err error) {
		if err != nil {
			t.Error(err)
		}
		told = append(told, name)
	})
	if len(told) != 1 || info(t, h, "p").SHA256 != shaOf(slurp(t, m.file("p"))) {
		t.Errorf("%v %+v", told, info(t, h, "p"))
	}
	says(t, h, "p", generation(2))
}

// A plugin loads at its first call, once, however many calls are the first.
func TestTheFirstCallsLoadOnce(t *testing.T) {
	m := newHome(t)
	put(t, m.plugins, "p", generation(1))
	put(t, m.plugins, "q", generation(1))
	h := m.open(t, plugin.TrustGranted, nil)
	if n := loaded(h); n != 0 {
		t.Fatalf("%d modules are loaded at the start", n)
	}
	s := h.Session("me", "c1")
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if r, err := s.Call(t.Context(), tool.Call{Tool: "p"}); err != nil || r.Whole() != generation(1) {
				t.Error(r.Whole(), r.Err, err)
			}
		})
	}
	all.Wait()
	if n := loaded(h); n != 1 {
		t.Errorf("%d modules are loaded, and one was called", n)
	}
}
