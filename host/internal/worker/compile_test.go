//go:build linux

package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/quarantine"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// quarantined asserts that a module is not compiled again, and returns why.
func quarantined(t *testing.T, p *Pool, pl sandbox.Plugin) string {
	t.Helper()
	_, err := p.Load(t.Context(), pl)
	q, ok := errors.AsType[*Quarantined](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	return q.Entry.Why.String()
}

// A module that needs more than its limits to compile is not compiled again, not even
// after a restart, until it is released.
func TestCompileBomb(t *testing.T) {
	for _, row := range []struct {
		name   string
		wasm   []byte
		change func(*Config)
		says   string
	}{
		{"time", wasmtest.Slow("run", 60_000), func(c *Config) { c.CompileCPU = time.Second }, "compiling it needs more than 1s of CPU time"},
		{"memory", wasmtest.Slow("run", 60_000), func(c *Config) { c.CompileMemory = 112 << 20 }, "compiling it needs more than 112MiB of memory"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "quarantine.json")
			config := func(c *Config) {
				c.CacheDir, c.Quarantine = filepath.Join(dir, "cache"), file
				row.change(c)
			}
			bomb := sandbox.Plugin{Name: "bomb", Wasm: row.wasm, Exports: []string{"run"}}
			p := newPool(t, config)
			if why := quarantined(t, p, bomb); why != row.says {
				t.Errorf("the reason is %q", why)
			}
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), row.says) || !strings.Contains(string(text), digestOf(row.wasm)) {
				t.Errorf("the file holds %s, %v", text, err)
			}
			honest := load(t, p, sandbox.Plugin{Name: "honest", Wasm: wasmtest.Echo("run")})
			if out, fail := honest.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("x")}); fail != nil || string(out.Bytes) != "x" {
				t.Errorf("beside it: %q, %v", out.Bytes, fail)
			}
			again := newPool(t, func(c *Config) {
				config(c)
				c.Command = []string{"/no/such/program"} // nothing may be started
			})
			if why := quarantined(t, again, bomb); why != row.says {
				t.Errorf("after a restart: %q", why)
			}
			if err := again.Quarantine().Release(digestOf(row.wasm)); err != nil {
				t.Fatal(err)
			}
			if _, err := again.Load(t.Context(), bomb); !errors.Is(err, ErrAgain) {
				t.Errorf("once released it is tried: %v", err)
			}
			if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte("bomb")) {
				t.Errorf("what never began is written down: %s, %v", text, err)
			}
		})
	}
}

// A compile that the caller or the closing pool stops does not count against the
// module.
func TestStoppedCompile(t *testing.T) {
	wasm := wasmtest.Slow("run", 60_000)
	bomb := sandbox.Plugin{Name: "bomb", Wasm: wasm, Exports: []string{"run"}}
	for _, how := range []string{"the caller", "the pool"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "quarantine.json")
			p := newPool(t, func(c *Config) { c.CacheDir, c.Quarantine = dir, file })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var loading sync.WaitGroup
			loading.Go(func() {
				if _, err := p.Load(ctx, bomb); !errors.Is(err, ErrAgain) {
					t.Errorf("got %v", err)
				}
			})
			testtime.Until(t, "the attempt is recorded", func() bool {
				text, _ := os.ReadFile(file)
				return strings.Contains(string(text), digestOf(wasm))
			})
			if how == "the caller" {
				cancel()
			} else if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			loading.Wait()
			if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), digestOf(wasm)) {
				t.Errorf("the file holds %s, %v", text, err)
			}
		})
	}
}

// A module counts as the cause after the host was killed twice while it compiled it.
func TestAHostKilledWhileCompiling(t *testing.T) {
	dir := t.TempDir()
	file, name := filepath.Join(dir, "quarantine.json"), filepath.Join(dir, "bomb.wasm")
	wasm := wasmtest.Slow("run", 60_000)
	if err := os.WriteFile(name, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	for try := 1; try <= quarantine.MaxTries; try++ {
		role := asRole("host:run")
		host := exec.Command(role[0], role[1], command[0], dir, file, name)
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		testtime.Until(t, "the attempt is recorded", func() bool {
			q, err := quarantine.Open(file, hclog.NewNullLogger())
			if err != nil {
				return false
			}
			e, _ := q.Held(digestOf(wasm))
			return e.Tries == try
		})
		if err := host.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = host.Wait()
		q, err := quarantine.Open(file, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		if e, held := q.Held(digestOf(wasm)); held != (try == quarantine.MaxTries) {
			t.Errorf("after %d tries: held %t, %+v", try, held, e)
		}
	}
	p := newPool(t, func(c *Config) { c.CacheDir, c.Quarantine = dir, file })
	if why := quarantined(t, p, sandbox.Plugin{Name: "bomb", Wasm: wasm}); why != "the host ended while the plugin was being compiled" {
		t.Errorf("the reason is %q", why)
	}
}

// Many goroutines that load one module compile it once.
func TestAModuleIsCompiledOnce(t *testing.T) {
	p := newPool(t, func(c *Config) { c.CacheDir = "" })
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			m, err := p.Load(t.Context(), pl)
			if err != nil {
				t.Error(err)
				return
			}
			if out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("x")}); fail != nil || string(out.Bytes) != "x" {
				t.Errorf("got %q, %v", out.Bytes, fail)
			}
		})
	}
	all.Wait()
}

// The cache of a loaded module is emptied and damaged: calls go on.
func TestLostCache(t *testing.T) {
	dir := t.TempDir()
	p := newPool(t, func(c *Config) { c.CacheDir, c.Max = dir, -1 })
	m := load(t, p, sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")})
	for _, harm := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.WriteFile(path, []byte("not code"), 0o600) },
	} {
		err := filepath.WalkDir(filepath.Join(dir, "unchecked"), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return harm(path)
		})
		if err != nil {
			t.Fatal(err)
		}
		if out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("x")}); fail != nil || string(out.Bytes) != "x" {
			t.Errorf("got %q, %v", out.Bytes, fail)
		}
	}
}

// The cache holds a file that matches its list and is no code: the module is compiled
// again.
func TestInvalidCodeInTheCacheIsCompiledAgain(t *testing.T) {
	dir := t.TempDir()
	p := newPool(t, func(c *Config) { c.CacheDir, c.Max = dir, -1 })
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	m := load(t, p, pl)
	lists, err := filepath.Glob(filepath.Join(dir, "unchecked", "*", "SUMS"))
	if err != nil || len(lists) != 1 {
		t.Fatal(lists, err)
	}
	text, err := os.ReadFile(lists[0])
	if err != nil {
		t.Fatal(err)
	}
	const harm = "not code"
	var list []string
	for line := range strings.Lines(string(text)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if err := os.WriteFile(filepath.Join(filepath.Dir(lists[0]), name), []byte(harm), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, digestOf([]byte(harm))+"  "+name+"\n")
	}
	slices.Sort(list)
	if err := os.WriteFile(lists[0], []byte(strings.Join(list, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if !p.LikelyCompiled(digestOf(pl.Wasm), false) || !p.inspectors[false].Compiled(pl) {
		t.Fatal("it does not look compiled, which is what this test is about")
	}
	for range 2 {
		if out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("x")}); fail != nil || string(out.Bytes) != "x" {
			t.Errorf("got %q, %v", out.Bytes, fail)
		}
	}
}

// Precompile compiles a module before its first call.
func TestPrecompile(t *testing.T) {
	p := newPool(t, func(c *Config) { c.CacheDir = "" })
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	for _, checked := range []bool{false, true} {
		if p.LikelyCompiled(digestOf(pl.Wasm), checked) {
			t.Error("it is compiled before it was")
		}
		if err := p.Precompile(t.Context(), pl, checked); err != nil {
			t.Fatal(err)
		}
		if !p.LikelyCompiled(digestOf(pl.Wasm), checked) || !p.inspectors[checked].Compiled(pl) {
			t.Error("it is not compiled")
		}
	}
	if err := p.Precompile(t.Context(), sandbox.Plugin{Name: "none", Wasm: []byte("no module")}, false); err == nil {
		t.Error("what is no module was compiled")
	}
}

// A child compiles with loop checks for an engine in this process.
func TestCompileForThisProcess(t *testing.T) {
	dir := t.TempDir()
	p := newPool(t, func(c *Config) { c.CacheDir = dir })
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Exporting("run", 0x03, 0x40, 0x0c, 0x00, 0x0b, 0x41, 0x00)} // a loop without end
	if _, err := p.Compile(t.Context(), pl, true); err != nil {
		t.Fatal(err)
	}
	e, err := sandbox.New(t.Context(), sandbox.Config{CacheDir: dir, ReadCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	m, err := e.Load(t.Context(), pl)
	if err != nil {
		t.Fatal(err)
	}
	if _, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Timeout: 100 * time.Millisecond}); fail == nil || fail.Code != tool.TimedOut {
		t.Errorf("got %v", fail)
	}
	unchecked, err := sandbox.New(t.Context(), sandbox.Config{CacheDir: dir, ReadCache: true, Unchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	defer unchecked.Close(t.Context())
	if _, err := unchecked.Load(t.Context(), pl); !errors.Is(err, sandbox.ErrNotCompiled) {
		t.Errorf("checked code was taken for unchecked: %v", err)
	}
}
