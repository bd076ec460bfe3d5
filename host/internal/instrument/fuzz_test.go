package instrument

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirhost/weir/host/internal/wasmcheck"
	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// few keeps what is fuzzed small enough to be compiled in passing.
func few() wasmcheck.Limits {
	return wasmcheck.Limits{FileBytes: 64 << 10, Locals: 1000, TotalLocals: 10_000, TableEntries: 10_000, MemoryPages: 100,
		Nesting: 200, Loops: 100, BranchTable: 500, Carried: 2000, Params: 50}
}

// FuzzRewrite gives the engine whatever passes the gate, as it is and rewritten
// in each way: it takes both or refuses both. So no module that is invalid
// becomes valid by what was added, and no valid one is broken.
func FuzzRewrite(f *testing.F) {
	for _, wasm := range odd() {
		f.Add(wasm)
	}
	for _, a := range zoo() {
		f.Add(a.wasm)
	}
	f.Add(newProgram([]byte("a loop, a call, a table and what else these bytes decide on")))
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { r.Close(ctx) })
	f.Fuzz(func(t *testing.T, wasm []byte) { agrees(t, r, wasm) })
}

// agrees checks that the engine accepts either a module and all its instrumented
// forms, or none of them, and reports whether it accepts them.
func agrees(t *testing.T, r wazero.Runtime, wasm []byte) bool {
	report, err := wasmcheck.Check(wasm, few())
	if err != nil {
		return false
	}
	plain := takes(r, bare(report))
	for way := range 8 {
		o := Options{Stop: way&1 != 0, Renew: way&2 != 0, Stdio: way&4 != 0}
		result, err := Rewrite(report, o)
		again, err2 := Rewrite(report, o)
		if !bytes.Equal(result.Wasm, again.Wasm) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%+v: two answers: %v, %v", o, err, err2)
		}
		if err != nil {
			if s := err.Error(); result.Wasm != nil || strings.ContainsAny(s, "\n\x00") {
				t.Errorf("%+v: with an error (%q) come %d bytes", o, s, len(result.Wasm))
			}
			continue
		}
		if changed := takes(r, result.Wasm); (plain == nil) != (changed == nil) {
			t.Fatalf("%+v: as it is: %v; rewritten: %v\n%x", o, plain, changed, wasm)
		}
		if way == 0 && !bytes.Equal(result.Wasm, bare(report)) {
			t.Error("it was changed without being asked for")
		}
	}
	return plain == nil
}

// TestSlips is FuzzRewrite with modules of which one or two bytes are wrong.
func TestSlips(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	random := rand.New(rand.NewPCG(7, 7))
	var modules [][]byte
	animals := zoo()
	for _, name := range slices.Sorted(maps.Keys(animals)) {
		modules = append(modules, animals[name].wasm)
	}
	for range 20 {
		b := make([]byte, 60)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		modules = append(modules, newProgram(b))
	}
	taken, refused := 0, 0
	for _, wasm := range modules {
		for range 25 {
			slip := bytes.Clone(wasm)
			for range 1 + random.IntN(2) {
				slip[8+random.IntN(len(slip)-8)] = byte(random.IntN(1 << (1 + random.IntN(8))))
			}
			if agrees(t, r, slip) {
				taken++
			} else {
				refused++
			}
		}
	}
	if taken < 100 || refused < 100 {
		t.Errorf("%d were valid and %d were not: these modules prove little", taken, refused)
	}
}

// TestRefusals are modules that pass the gate and are not rewritten.
func TestRefusals(t *testing.T) {
	loops := w.Repeat(100_000, w.Loop, w.Empty, w.I32Const, 1, w.BrIf, 0, w.End)
	for says, row := range map[string]struct {
		wasm []byte
		o    Options
	}{
		"names that begin with weir: are the host's own": {w.New().Memories(w.Limits(1, 1)).Exports(w.Export(SaveExport, w.KindMemory, 0)).Bytes(), Options{}},
		"would grow to more than 2 times its size":       {w.New().Types(w.Func(nil, nil)).Functions(0).Code(w.Body(loops...)).Bytes(), Options{Stop: true}},
		"would have the name of another":                 {zoo()["a start section"].wasm, Options{Export: func(wasmcheck.Export) string { return "x" }}},
	} {
		r, err := wasmcheck.Check(row.wasm, wasmcheck.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := Rewrite(r, row.o)
		if err == nil || !strings.Contains(err.Error(), says) || result.Wasm != nil {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// takes reports what the engine has against a module. A panic in it is a refusal.
func takes(r wazero.Runtime, wasm []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	m, err := r.CompileModule(context.Background(), wasm)
	if err == nil {
		err = m.Close(context.Background())
	}
	return err
}

// bare is a module without its custom sections: of these the engine reads some,
// and refuses a module for them, which is not about what the module does.
func bare(r *wasmcheck.Report) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range r.Sections {
		if s.ID != wasmcheck.SectionCustom {
			out = append(binary.AppendUvarint(append(out, s.ID), uint64(len(s.Body))), s.Body...)
		}
	}
	return out
}

// odd are modules that an engine refuses, and that could become valid if what is
// added were within their reach.
func odd() [][]byte {
	nothing := w.Func(nil, nil)
	one := func(code ...byte) []byte {
		return w.New().Types(nothing).Functions(0).Exports(w.ExportFunc("run", 0)).Code(w.Body(code...)).Bytes()
	}
	return [][]byte{
		one(w.Call, 1), one(w.Call, 2), one(w.Call, 3), // functions that are added
		one(globalGet, 0, w.Drop),
		one(w.Loop, 1, w.End), // a type that is added
		one(w.I32Const, 0, callIndirect, 0, 0),
		one(w.I32Const, 0, w.MemoryGrow, 0, w.Drop), // no memory
		one(memorySize, 0, w.Drop),
		one(get, 0, w.Drop), // a local that is added
		one(w.Loop, w.Empty, get, 0, w.BrIf, 0, w.End),
		one(w.Loop, w.Empty, w.Br, 2, w.End), // a label that is added
		one(w.I32Const), one(w.Drop), one(w.I32Const, 0),
		// A function that becomes exported may be named by ref.func.
		w.New().Types(nothing).Functions(0, 0).Start(1).Exports(w.ExportFunc("run", 0)).Code(w.Body(refFunc, 1, w.Drop), w.Body()).Bytes(),
		// A start function of another type.
		w.New().Types(nothing, w.Func([]byte{w.I32}, nil)).Functions(1).Start(0).Code(w.Body()).Bytes(),
		w.New().Types(nothing, w.Func(nil, []byte{w.I32})).Functions(1).Start(0).Code(w.Body(w.I32Const, 0)).Bytes(),
		// Data where the added memory is.
		w.New().Section(w.SectionData, 1, 0, w.I32Const, 0, w.End, 0).Bytes(),
		w.New().Memories(w.Limits(3, 2)).Bytes(),
		w.New().Imports(w.Import("m", "g", w.KindGlobal, w.I32, 1), w.Import("m", "t", w.KindTable, w.Table(w.FuncRef, 1, 2)...)).Bytes(),
		w.New().Types(w.Func([]byte{w.I32}, []byte{w.I32})).Imports(w.ImportFunc(wasi, "fd_close", 0)).Exports(w.ExportFunc("close", 0)).Bytes(),
		w.New().Exports(w.Export("weir:stop", w.KindGlobal, 0)).Bytes(),
		w.New().Custom("name", []byte{0, 0xff}).Bytes(),
		w.New().Bytes(),
	}
}
