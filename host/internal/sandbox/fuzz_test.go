package sandbox

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/wasmtest"
)

// FuzzLoad sends files through the check, the examination, the rewriting and the
// engine. Each becomes a module or an error sentence, never a panic, and rewriting
// keeps what was there.
func FuzzLoad(f *testing.F) {
	f.Add(echoModule())
	f.Add(bareModule(0x41, 0))
	f.Add(memoryModule([]byte{1, 1, 1}, 0x41, 0))
	f.Add(startModule(nil, 0, 0x00))
	f.Add(wasmtest.New().Imports(wasmtest.Import("a", "b", wasmtest.KindMemory, 1, 1, 2), wasmtest.Import("a", "c", wasmtest.KindTable, 0x70, 0, 1)).Bytes())
	f.Add(wasmtest.New().Section(wasmtest.SectionType, types()...).Imports(imp("extism:host/user", "weir_http", 1), imp("wasi_snapshot_preview1", "proc_exit", 3)).
		Functions(4, 0).Exports(exp("_initialize", 2), exp("run", 3), exp("weir:init", 3)).Code(code(), code(0x41, 0)).Bytes())
	e, err := New(context.Background(), Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { e.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if len(wasm) > 2048 {
			return // compile bombs are for the process that compiles
		}
		s, err := parseModule(wasm)
		if err != nil {
			oneSentence(t, err)
			return
		}
		for _, e := range s.Exports {
			if strings.HasPrefix(e.Name, ownPrefix) {
				return
			}
		}
		again, err := e.front.plan(s)
		if err != nil {
			t.Fatal(err)
		}
		after, err := parseModule(again.wasm)
		if err != nil {
			t.Fatalf("the rewritten module is damaged: %v", err)
		}
		if len(after.Imports) != len(s.Imports) || len(after.Exports) < len(s.Exports) || len(after.Functions) < len(s.Functions) ||
			!slices.Equal(after.Exports[:len(s.Exports)], s.Exports) {
			t.Error("the rewritten module is another one")
		}
		if s.Most.Locals > 1000 || s.Most.Carried > 2000 || s.Most.TableEntries > 10_000 {
			return
		}
		m, err := e.Load(t.Context(), Plugin{Name: "fuzz", Wasm: wasm})
		if err != nil {
			oneSentence(t, err)
			return
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func oneSentence(t *testing.T, err error) {
	t.Helper()
	if s := err.Error(); s == "" || strings.ContainsAny(s, "\x00\x1b") || strings.Contains(s, "goroutine ") || len(s) > 20_000 {
		t.Errorf("an odd sentence: %q", s)
	}
}
