package rewrite

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirhost/weir/host/internal/gate"
	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// few keeps what is fuzzed small enough to be compiled in passing.
func few() gate.Limits {
	return gate.Limits{FileBytes: 64 << 10, Locals: 1000, TotalLocals: 10_000, TableEntries: 10_000, MemoryPages: 100,
		Nesting: 200, Loops: 100, BranchTable: 500, Carried: 2000, Params: 50}
}

// FuzzRewrite gives the engine whatever passes the gate, as it is and rewritten
// in each way: it takes both or refuses both. So no module that is invalid
// becomes valid by what was added, and no valid one is broken.
func FuzzRewrite(f *testing.F) {
	for _, wasm := range odd() {
		f.Add(wasm)
	}
	for name, z := range zoo() {
		if name != "" {
			f.Add(z.wasm)
		}
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { r.Close(ctx) })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		report, err := gate.Check(wasm, few())
		if err != nil {
			return
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
				t.Fatalf("%+v: as it is: %v; rewritten: %v", o, plain, changed)
			}
			if way == 0 && !bytes.Equal(result.Wasm, bare(report)) {
				t.Error("it was changed without being asked for")
			}
		}
	})
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
func bare(r *gate.Report) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range r.Sections {
		if s.ID != gate.SectionCustom {
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
