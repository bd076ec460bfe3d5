package wasmcheck

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// fuzzLimits keep what passes small enough to be compiled in passing.
func fuzzLimits() Limits {
	return Limits{FileBytes: 64 << 10, Locals: 1000, TotalLocals: 10_000, TableEntries: 10_000, MemoryPages: 100,
		Nesting: 200, Loops: 100, BranchTable: 500, Carried: 2000, Params: 50}
}

// FuzzCheck holds Check to its promises: an answer or a sentence, never a
// panic; the same for the same bytes; sections that add up to the file. What
// passes is then given to an engine: whatever it says, it must live.
func FuzzCheck(f *testing.F) {
	f.Add(full().Bytes())
	f.Add(w.Echo("run"))
	f.Add(w.Exporting("run", w.Block, w.Empty, w.I32Const, 0, w.BrTable, 1, 0, 0, w.End, w.I32Const, 0))
	f.Add(w.New().Types(nothing()).Functions(0).Tables(w.Table(w.FuncRef, 1, 9)).Section(w.SectionElement, 1, 5, w.FuncRef, 2, 0xd2, 0, w.End, 0xd0, w.FuncRef, w.End).
		Code(w.Body(w.I32Const, 0, w.I32Const, 0, w.I32Const, 1, 0xfc, 12, 0, 0, 0xfc, 13, 0)).Bytes())
	f.Add(w.New().Types(nothing()).Functions(0).Memories(w.Limits(1, 1)).
		Code(w.Body(w.I32Const, 0, 0xfd, 0, 4, 0, 0xfd, 0x60, 0xfd, 0x80, 1, 0xfd, 21, 3, w.Drop)).Bytes())
	for _, b := range bombs() {
		if len(b.wasm) < 1000 {
			f.Add(b.wasm)
		}
	}
	ctx := context.Background()
	engine := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { engine.Close(ctx) })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		r, err := Check(wasm, fuzzLimits())
		again, err2 := Check(bytes.Clone(wasm), fuzzLimits())
		if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("two answers: %v, %v", err, err2)
		}
		if err != nil {
			if s := err.Error(); s == "" || strings.ContainsAny(s, "\n\x00") {
				t.Errorf("an odd sentence: %q", s)
			}
			return
		}
		if len(r.Sections) != len(again.Sections) || len(r.Functions) > len(wasm) || len(r.Exports) > len(wasm) {
			t.Errorf("the report is beyond the file: %+v", r.Most)
		}
		compile(ctx, t, engine, wasm, r)
	})
}

// compile gives a module to the engine. Code that is of the wrong type may be
// refused, or even panic inside it (which the sandbox catches), but what both
// see must be the same.
func compile(ctx context.Context, t *testing.T, engine wazero.Runtime, wasm []byte, r *Report) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("the engine panicks: %v", p)
		}
	}()
	m, err := engine.CompileModule(ctx, wasm)
	if err != nil {
		return
	}
	funcs := 0
	for _, e := range r.Exports {
		if e.Kind == KindFunc {
			funcs++
		}
	}
	if got := len(m.ExportedFunctions()); got != funcs {
		t.Errorf("the engine sees %d exported functions, and the gate %d", got, funcs)
	}
	if err := m.Close(ctx); err != nil {
		t.Error(err)
	}
}

// FuzzAgrees is the other direction: a module that the engine compiles and that
// stays within what it can bear must pass. Only files without a large number in
// them may reach the engine unseen, so the gate is asked first and only the
// reasons that are about features and types are put to the engine.
func FuzzAgrees(f *testing.F) {
	f.Add(full().Bytes())
	f.Add(w.Echo("run"))
	ctx := context.Background()
	engine := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { engine.Close(ctx) })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		_, err := Check(wasm, fuzzLimits())
		if err == nil || !strings.Contains(err.Error(), "the code section: function") || !harmless(err.Error()) {
			return
		}
		defer func() { _ = recover() }() // a panic is a refusal, too
		if m, err2 := engine.CompileModule(ctx, wasm); err2 == nil {
			t.Errorf("the engine compiles what the gate refuses: %v", err)
			_ = m.Close(ctx)
		}
	})
}

// harmless tells complaints about an instruction from those about a count or a
// limit.
func harmless(complaint string) bool {
	for _, s := range []string{"declares", "at most", "deeper than", "takes the locals", "more than", "number above 255"} {
		if strings.Contains(complaint, s) {
			return false
		}
	}
	return true
}
