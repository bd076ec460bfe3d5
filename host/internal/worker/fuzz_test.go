//go:build linux

package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
)

// FuzzLoad sends arbitrary bytes through the check, the child that compiles them and
// the worker that runs them. The outcome is one sentence, and an honest plugin beside
// them answers.
func FuzzLoad(f *testing.F) {
	f.Add(wasmtest.Echo("run"))
	f.Add(wasmtest.Exporting("run", 0x03, 0x40, 0x0c, 0x00, 0x0b, 0x41, 0x00)) // a loop without end
	f.Add(wasmtest.Exporting("run", 0x00))
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Add(wasmtest.Echo("run")[:40])
	dir := f.TempDir()
	p := newPool(f, func(c *Config) {
		c.CacheDir, c.Quarantine = dir+"/cache", dir+"/quarantine.json"
		c.CompileCPU, c.CompileMemory = 2*time.Second, 256<<20
	})
	honest := load(f, p, sandbox.Plugin{Name: "honest", Wasm: wasmtest.Echo("echo"), Exports: []string{"echo"}})
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := p.Load(t.Context(), sandbox.Plugin{Name: "stranger", Wasm: wasm})
		if err == nil {
			_, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Timeout: time.Second, MaxOutput: 1000})
			if fail != nil {
				sentence(t, fail.Error())
			}
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
		} else {
			sentence(t, err.Error())
		}
		out, fail := honest.Call(t.Context(), sandbox.Invocation{Export: "echo", Input: []byte("here"), MaxOutput: 1000})
		if fail != nil || string(out.Bytes) != "here" {
			t.Fatalf("the honest plugin: %q, %v", out.Bytes, fail)
		}
	})
}

// sentence fails for a text that no person should read.
func sentence(t *testing.T, text string) {
	t.Helper()
	for _, leak := range []string{"\n", "goroutine", "wasm stack", "runtime error", ".go:"} {
		if strings.Contains(text, leak) || text == "" {
			t.Errorf("%q tells %q", text, leak)
		}
	}
}
