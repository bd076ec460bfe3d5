package sandbox

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/sdk/tool"
)

// start is a module whose start section runs the given body, imports first.
func startModule(imports []byte, calls byte, ops ...byte) []byte {
	a := wasmtest.New().Section(wasmtest.SectionType, types()...)
	if imports != nil {
		a.Section(wasmtest.SectionImport, imports...)
	}
	return a.Section(wasmtest.SectionFunction, wasmtest.Vec([]byte{0}, []byte{4})...).
		Section(wasmtest.SectionExport, wasmtest.Vec(exp("run", calls))...).Section(8, calls+1).
		Section(10, wasmtest.Vec(code(0x41, 0), code(ops...))...).Bytes()
}

// memoryModule has a memory of the given pages and exports run with the body.
func memoryModule(limits []byte, ops ...byte) []byte {
	return wasmtest.New().Section(wasmtest.SectionType, types()...).Section(wasmtest.SectionFunction, wasmtest.Vec([]byte{0})...).
		Section(wasmtest.SectionMemory, wasmtest.Vec(limits)...).
		Section(wasmtest.SectionExport, wasmtest.Vec(exp("run", 0))...).Section(wasmtest.SectionCode, wasmtest.Vec(code(ops...))...).Bytes()
}

// Modules that no compiler makes are run.
func TestHandMadeModules(t *testing.T) {
	const wasi = "wasi_snapshot_preview1"
	e := newEngine(t, Config{})
	for _, row := range []struct {
		name string
		wasm []byte
		code tool.Code // empty: it answers
		says string
	}{
		{"the smallest that answers", echoModule(), "", ""},
		{"success without output", bareModule(0x41, 0), "", ""},
		{"a loop", bareModule(0x03, 0x40, 0x0c, 0, 0x0b, 0x00), tool.TimedOut, "run did not finish within 500ms"},
		{"a loop before anything is called", startModule(nil, 0, 0x03, 0x40, 0x0c, 0, 0x0b), tool.TimedOut, "run did not finish within 500ms"},
		{"a trap before anything is called", startModule(nil, 0, 0x00), tool.Trapped, "run crashed: it reached code that it marked as unreachable"},
		{"an exit before anything is called", startModule(wasmtest.Vec(imp(wasi, "proc_exit", 3)), 1, 0x41, 0, 0x10, 0), tool.Failed, "run ended with exit code 0 .*"},
		{"recursion", bareModule(0x10, 0), tool.Trapped, "run crashed: its calls were nested without end"},
		{"a trap", bareModule(0x00), tool.Trapped, "run crashed: it reached code that it marked as unreachable"},
		{"a division", bareModule(0x41, 1, 0x41, 0, 0x6d), tool.Trapped, "run crashed: it divided by zero"},
		{"memory beyond its end", memoryModule([]byte{0, 1}, 0x41, 0x7f, 0x28, 2, 0), tool.Trapped, "run crashed: it accessed memory outside its bounds"},
		{"growth that fails and is handled", memoryModule([]byte{0, 1}, 0x41, 0xff, 0xff, 0x03, 0x40, 0, 0x1a, 0x41, 0), "", ""},
		{"growth that fails and is not", memoryModule([]byte{0, 1}, 0x41, 0xff, 0xff, 0x03, 0x40, 0, 0x1a, 0x00), tool.OutOfMemory, "run needs more than its memory limit of 32MiB.*"},
		{"its own limit on memory is not ours", memoryModule([]byte{1, 1, 1}, 0x41, 1, 0x40, 0, 0x1a, 0x00), tool.Trapped, "run crashed: it reached code.*"},
		{"a negative answer", bareModule(0x41, 0x7f), tool.Failed, "run failed with code 4294967295 and gave no reason"},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := load(t, e, Plugin{Name: "hand", Wasm: row.wasm})
			inv := Invocation{Export: "run", Input: []byte("in")}
			if row.code == tool.TimedOut {
				inv.Timeout = 500 * time.Millisecond
			}
			out, fail := m.Call(t.Context(), inv)
			switch {
			case fail == nil && row.code != "":
				t.Errorf("answered %q", out.Bytes)
			case fail != nil && (fail.Code != row.code || !regexp.MustCompile("^"+row.says+"$").MatchString(fail.Msg)):
				t.Errorf("got %v", fail)
			}
		})
	}
}

// Host functions are called with blocks that do not exist.
func TestHostFunctionsCheckTheirArguments(t *testing.T) {
	e := newEngine(t, Config{})
	typ := wasmtest.Vec([]byte{0x60, 0, 1, 0x7f}, []byte{0x60, 1, 0x7e, 1, 0x7e}, []byte{0x60, 1, 0x7e, 0}, []byte{0x60, 2, 0x7f, 0x7e, 0})
	for _, row := range []struct {
		module, name string
		typ          byte
		before       []byte // operands
		after        []byte
	}{
		{"extism:host/user", "weir_http", 1, nil, []byte{0x1a}},
		{"extism:host/user", "weir_progress", 2, nil, nil},
		{"extism:host/user", "weir_log", 3, []byte{0x41, 1}, nil},
		{"extism:host/env", "error_set", 2, nil, nil},
		{"extism:host/env", "log_info", 2, nil, nil},
	} {
		for _, offset := range [][]byte{{0x7f}, {0xff, 0xff, 0xff, 0xff, 0x0f}, {0x80, 0x80, 0x80, 0x80, 0x80, 0x20}, {3}} { // -1, 4 GiB - 1, 1 TiB, inside the kernel
			wasm := wasmtest.New().Section(wasmtest.SectionType, typ...).Section(wasmtest.SectionImport, wasmtest.Vec(imp(row.module, row.name, row.typ))...).
				Section(wasmtest.SectionFunction, wasmtest.Vec([]byte{0})...).Section(wasmtest.SectionExport, wasmtest.Vec(exp("run", 1))...).
				Section(10, wasmtest.Vec(code(wasmtest.Cat(row.before, []byte{0x42}, offset, []byte{0x10, 0}, row.after, []byte{0x41, 0})...))...).Bytes()
			m := load(t, e, Plugin{Name: "liar", Wasm: wasm})
			out, fail := m.Call(t.Context(), Invocation{Export: "run"})
			if len(out.Bytes) > 0 || fail != nil && fail.Code == tool.TimedOut {
				t.Errorf("%s(%x): %q, %v", row.name, offset, out.Bytes, fail)
			}
		}
	}
}

// The reference engine, which keeps instances that failed to start, stops starting a
// module that always fails.
func TestStuckStarts(t *testing.T) {
	m := load(t, newEngine(t, Config{Engine: EngineExtism}), Plugin{Name: "stuck", Wasm: startModule(nil, 0, 0x00)})
	var last *tool.Error
	for range maxStuck + 1 {
		_, last = m.Call(t.Context(), Invocation{Export: "run"})
	}
	if last == nil || !strings.Contains(last.Msg, "it failed to start 64 times") {
		t.Errorf("got %v", last)
	}
}

func TestLoadRefuses(t *testing.T) {
	e := newEngine(t, Config{})
	for _, row := range []struct {
		name string
		p    Plugin
		says string
	}{
		{"no file", Plugin{}, "the file is empty"},
		{"a script", Plugin{Wasm: []byte("#!/bin/sh\n")}, "this is not a WebAssembly file"},
		{"a component", Plugin{Wasm: []byte("\x00asm\x0d\x00\x01\x00")}, "this is a WebAssembly component"},
		{"a future version", Plugin{Wasm: []byte("\x00asm\x02\x00\x00\x00")}, "has version 02000000"},
		{"half a download", Plugin{Wasm: goGuest[:len(goGuest)/2]}, "the file is cut short: its "},
		{"a missing export", Plugin{Wasm: echoModule(), Exports: []string{"grep"}}, `it exports no function "grep"; it exports run`},
		{"an export with parameters", Plugin{Wasm: wasmtest.New().Section(wasmtest.SectionType, types()...).Section(wasmtest.SectionFunction, 1, 3).
			Section(wasmtest.SectionExport, wasmtest.Vec(exp("run", 0))...).Section(wasmtest.SectionCode, wasmtest.Vec(code())...).Bytes(), Exports: []string{"run"}}, `its function "run" has parameters`},
		{"an unknown host", Plugin{Wasm: wasmtest.New().Section(wasmtest.SectionType, types()...).Section(wasmtest.SectionImport, wasmtest.Vec(imp("env", "abort", 0))...).Bytes()},
			"it imports env.abort, which this host does not offer; it offers extism:host/env, extism:host/user, wasi_snapshot_preview1"},
		{"an unknown host function", Plugin{Wasm: wasmtest.New().Section(wasmtest.SectionType, types()...).Section(wasmtest.SectionImport, wasmtest.Vec(imp("extism:host/user", "rm_rf", 0))...).Bytes()},
			"it imports extism:host/user.rm_rf, which this host does not offer"},
		{"an unknown system call", Plugin{Wasm: wasmtest.New().Section(wasmtest.SectionType, types()...).Section(wasmtest.SectionImport, wasmtest.Vec(imp("wasi_snapshot_preview1", "fork", 0))...).Bytes()},
			"it imports wasi_snapshot_preview1.fork"},
		{"more memory than allowed", Plugin{Wasm: memoryModule([]byte{0, 0x90, 0x03}, 0x41, 0), Memory: 1 << 20}, "it needs at least 25 MiB of memory, and its limit is 1MiB"},
		{"code of the wrong type", Plugin{Wasm: bareModule(0x42, 0)}, "the engine refuses the module: "},
		{"a name of ours", Plugin{Wasm: wasmtest.Exporting("weir:init", wasmtest.I32Const, 0)}, `it exports "weir:init", and names that begin with weir: are reserved for the host`},
		{"a section twice", Plugin{Wasm: wasmtest.New().Section(wasmtest.SectionType, 0).Section(wasmtest.SectionType, 0).Bytes()}, "its type section comes twice"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.p.Name = "p"
			_, err := e.Load(t.Context(), row.p)
			if err == nil || !strings.HasPrefix(err.Error(), "plugin p: ") || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, want it to say %q", err, row.says)
			}
		})
	}
}

// Every proper prefix of a valid module is refused.
func TestEveryPrefix(t *testing.T) {
	e, err := New(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	wasm := echoModule()
	for n := range len(wasm) {
		if m, err := e.Load(t.Context(), Plugin{Name: "prefix", Wasm: bytes.Clone(wasm[:n]), Exports: []string{"run"}}); err == nil {
			t.Errorf("the first %d of %d bytes load as %v", n, len(wasm), m.shape.info().Exports)
		}
	}
}
