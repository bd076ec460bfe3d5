package instrument

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirhost/weir/host/internal/wasmcheck"
	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// animal is a module with the calls that show what it keeps.
type animal struct {
	wasm  []byte
	calls []call
}

// numbered calls an export with each of the numbers.
func numbered(export string, numbers ...uint64) (calls []call) {
	for _, n := range numbers {
		calls = append(calls, call{export, []uint64{n}})
	}
	return calls
}

// unary is a module that exports run, i32 → i32, with locals 1 to 3 of i32.
func unary(m *w.Module, code ...byte) []byte { return with(m, nil, code...).Bytes() }

// with adds such a function, and an export of the global 0 if there is one.
func with(m *w.Module, exports [][]byte, code ...byte) *w.Module {
	return m.Exports(append(exports, w.ExportFunc("run", 0))...).Code(w.BodyWith([][]byte{w.Locals(3, w.I32)}, code...))
}

func head() *w.Module { return w.New().Types(w.Func([]byte{w.I32}, []byte{w.I32})).Functions(0) }

func zoo() map[string]animal {
	const f32add, f64add, isNull, tableGet, splat, extract, v128add = 0x92, 0xa0, 0xd1, 0x25, 0x0f, 0x1b, 0xae
	zero := func(typ byte) []byte { return zero(typ) }
	kinds := w.Cat( // each global changes by what is given, and all are mixed
		[]byte{globalGet, 0, get, 0, add, globalSet, 0},
		[]byte{globalGet, 1, get, 0, 0xac, 0x7c, globalSet, 1},
		[]byte{globalGet, 2, get, 0, 0xb2, f32add, globalSet, 2},
		[]byte{globalGet, 3, get, 0, 0xb7, f64add, globalSet, 3},
		[]byte{globalGet, 4, get, 0, 0xfd, 0x11, 0xfd, v128add, 1, globalSet, 4}, // i32x4.splat, i32x4.add
		[]byte{globalGet, 5, isNull, w.If, w.Empty, refFunc, 0, globalSet, 5, w.Else, 0xd0, w.FuncRef, globalSet, 5, w.End},
		[]byte{globalGet, 0, globalGet, 1, wrap, add, globalGet, 2, 0xa8, add, globalGet, 3, 0xaa, add, globalGet, 4, 0xfd, extract, 2, add, globalGet, 5, isNull, add})
	grow := func(least uint32, most int64) []byte {
		return unary(head().Memories(w.Limits(least, most)), get, 0, w.MemoryGrow, 0, w.I32Const, 16, 0x74, memorySize, 0, add,
			memorySize, 0, w.I32Const, 1, sub, w.I32Const, 16, 0x74, set, 1, get, 1, get, 1, load, 2, 0, get, 0, add, store, 2, 0)
	}
	// Out of up to four blocks, or of the function, forty times at most.
	far := []byte{w.I32Const, 40, set, 1, w.Block, w.Empty, w.Loop, w.Empty, w.Loop, w.Empty,
		get, 1, w.I32Const, 1, sub, tee, 1, 0x45, w.BrIf, 2, w.Block, w.Empty,
		get, 1, get, 0, w.I32Const, 6, 0x46, w.BrIf, 4, w.Drop, get, 0, w.BrTable, 5, 0, 1, 2, 3, 0, 3, w.End,
		get, 0, w.I32Const, 1, add, set, 0, w.Br, 1, w.End, w.End, w.End, get, 0, get, 1, add}
	return map[string]animal{
		"globals of each type": {unary(head().Globals(w.Global(w.I32, true, w.I32Const, 1), w.Global(w.I64, true, zero(w.I64)...), w.Global(w.F32, true, zero(w.F32)...),
			w.Global(w.F64, true, zero(w.F64)...), w.Global(w.V128, true, zero(w.V128)...), w.Global(w.FuncRef, true, zero(w.FuncRef)...)), kinds...), numbered("run", 1, 5, 1<<31, 77)},
		"a reference of the host's": {w.New().Types(w.Func([]byte{w.ExternRef}, []byte{w.I32})).Functions(0).Globals(w.Global(w.ExternRef, true, 0xd0, w.ExternRef)).
			Exports(w.ExportFunc("run", 0)).Code(w.Body(globalGet, 0, isNull, get, 0, globalSet, 0)).Bytes(), numbered("run", 0, 8, 0)},
		"an exported global":   {with(head().Globals(w.Global(w.I32, true, w.I32Const, 3)), [][]byte{w.Export("g0", w.KindGlobal, 0)}, globalGet, 0, get, 0, add, globalSet, 0, globalGet, 0).Bytes(), numbered("run", 1, 2, 3)},
		"constants":            {unary(head().Globals(w.Global(w.I64, false, w.I64Const, 9), w.Global(w.I32, true, w.I32Const, 9)), globalGet, 0, wrap, globalGet, 1, add), numbered("run", 1)},
		"growth to a maximum":  {grow(1, 4), numbered("run", 0, 1, 3, 4, 1<<32-1, 2, 65535)},
		"growth at once":       {grow(1, 1), numbered("run", 0, 1)},
		"growth from nothing":  {unary(head().Memories(w.Limits(0, 3)), get, 0, w.MemoryGrow, 0, memorySize, 0, add), numbered("run", 0, 1, 3, 4)},
		"growth without bound": {grow(2, -1), numbered("run", 0, 1, 9)},
		"growth in a loop": {unary(head().Memories(w.Limits(1, 9)), w.Loop, w.Empty, w.I32Const, 1, w.MemoryGrow, 0, get, 1, add, set, 1,
			get, 0, w.I32Const, 1, sub, tee, 0, w.I32Const, 0, 0x4a, w.BrIf, 0, w.End, get, 1), numbered("run", 0, 3, 8, 20)},
		"no memory": {unary(head().Globals(w.Global(w.I32, true, w.I32Const, 3)), w.Loop, w.Empty, globalGet, 0, w.I32Const, 7, add, globalSet, 0,
			get, 0, w.I32Const, 1, sub, tee, 0, w.I32Const, 0, 0x4a, w.BrIf, 0, w.End, globalGet, 0), numbered("run", 1, 100, 5000)},
		"bulk memory": {head().Memories(w.Limits(1, 2)).Exports(w.ExportFunc("run", 0)).DataCount(1).
			Code(w.Body(get, 0, w.I32Const, 2, w.I32Const, 3, misc, 8, 0, 0, w.I32Const, 9, get, 0, w.I32Const, 2, misc, 10, 0, 0, get, 0, w.I32Const, 7, w.I32Const, 1, misc, 11, 0, w.I32Const, 8, load, 2, 0)).
			Data(w.Cat([]byte{1}, w.Name("words"))).Bytes(), numbered("run", 0, 5, 100, 65535, 1<<20)},
		"a start section": {w.New().Types(w.Func([]byte{w.I32}, []byte{w.I32}), w.Func(nil, nil)).Functions(0, 1).Memories(w.Limits(1, -1)).Globals(w.Global(w.I32, true, w.I32Const, 1)).
			Exports(w.ExportFunc("run", 0), w.ExportFunc("begin", 1)).Start(1).
			Code(w.Body(globalGet, 0, get, 0, add, globalSet, 0, globalGet, 0, w.I32Const, 8, load, 2, 0, add), w.Body(globalGet, 0, w.I32Const, 41, add, globalSet, 0, w.I32Const, 8, globalGet, 0, store, 2, 0)).Bytes(),
			append(numbered("run", 1, 2), call{name: "begin"})},
		"a start that fails": {w.New().Types(w.Func(nil, nil)).Functions(0).Start(0).Code(w.Body(w.Unreachable)).Bytes(), nil},
		"a table that is read": {w.New().Types(w.Func([]byte{w.I32}, []byte{w.I32})).Functions(0, 0, 0).Tables(w.Table(w.FuncRef, 4, 4)).Exports(w.ExportFunc("run", 0), w.Export("table", w.KindTable, 0)).
			Elements(w.Element(1, 1, 2)).Code(w.Body(get, 0, get, 0, callIndirect, 0, 0, get, 0, tableGet, 0, isNull, add), w.Body(get, 0, w.I32Const, 10, add), w.Body(get, 0, w.I32Const, 100, mul)).Bytes(), numbered("run", 0, 1, 2, 3, 4)},
		"labels far out":         {unary(head(), far...), numbered("run", 0, 1, 2, 3, 4, 5, 6, 9)},
		"a loop that is none":    {unary(head(), w.Loop, w.I32, get, 0, w.If, w.Empty, get, 0, w.Return, w.End, w.I32Const, 4, w.End), numbered("run", 0, 1)},
		"a loop with results":    {unary(head(), w.Loop, w.I32, get, 0, w.I32Const, 3, sub, tee, 0, w.I32Const, 0, 0x4a, w.BrIf, 0, get, 0, w.End), numbered("run", 0, 1, 7, 3000)},
		"a loop with parameters": {unary(head(), get, 0, w.Loop, 0, w.I32Const, 3, sub, tee, 1, get, 1, w.I32Const, 0, 0x4a, w.BrIf, 0, w.Drop, get, 1, w.End), numbered("run", 0, 1, 7, 3000)},
		"long loops":             {unary(head(), w.Loop, w.Empty, get, 1, get, 0, mul, get, 0, add, set, 1, get, 0, w.I32Const, 1, sub, tee, 0, w.BrIf, 0, w.End, get, 1), numbered("run", 1, 15, 16, 17, 1040, 300_000)},
		"recursion":              {head().Globals(w.Global(w.I32, true, w.I32Const, 0)).Exports(w.ExportFunc("run", 0)).Code(works()["recursion"].body()).Bytes(), numbered("run", 0, 1, 2, 15)},
		"a division by nothing":  {unary(head().Globals(w.Global(w.I32, true, w.I32Const, 1)), globalGet, 0, w.I32Const, 1, add, globalSet, 0, globalGet, 0, get, 0, 0x6d), numbered("run", 0, 1, 2)},
		"memory out of reach":    {unary(head().Memories(w.Limits(1, -1)), get, 0, load, 2, 0, get, 0, get, 0, store, 2, 0), numbered("run", 0, 4, 65533, 1<<32-1)},
	}
}

func (x work) body() []byte {
	return w.BodyWith([][]byte{w.Locals(3, w.I32), w.Locals(1, w.I64)}, x.code...)
}

// TestZoo holds each animal to the same answers from a renewed instance as from
// new ones, by both of the engine's ways.
func TestZoo(t *testing.T) {
	compiler, interpreter := newRuntime(t), interpreter(t)
	for name, a := range zoo() {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			var calls []call
			for range 4 {
				for _, i := range random.Perm(len(a.calls)) {
					calls = append(calls, a.calls[i])
				}
			}
			same(t, interpreter, a.wasm, nil, calls)
			same(t, compiler, a.wasm, nil, calls)
		})
	}
}

// TestObstacles names what keeps an instance from being renewed. Such a module
// is still rewritten to be stopped.
func TestObstacles(t *testing.T) {
	null := []byte{0xd0, w.FuncRef}
	table := func(code ...byte) []byte {
		return w.New().Types(w.Func(nil, nil)).Functions(0).Tables(w.Table(w.FuncRef, 2, 5)).Exports(w.ExportFunc("run", 0)).
			Section(w.SectionElement, 1, 1, 0, 1, 0).Code(w.Body(code...)).Bytes()
	}
	three := []byte{w.I32Const, 0, w.I32Const, 0, w.I32Const, 0}
	for obstacle, wasm := range map[string][]byte{
		"table.set":       table(w.Cat([]byte{w.I32Const, 0}, null, []byte{0x26, 0})...),
		"table.init":      table(w.Cat(three, []byte{misc, 12, 0, 0})...),
		"elem.drop":       table(misc, 13, 0),
		"table.copy":      table(w.Cat(three, []byte{misc, 14, 0, 0})...),
		"table.grow":      table(w.Cat(null, []byte{w.I32Const, 1, misc, 15, 0, w.Drop})...),
		"table.fill":      table(w.Cat([]byte{w.I32Const, 0}, null, []byte{w.I32Const, 1, misc, 17, 0})...),
		"data.drop":       w.New().Types(w.Func(nil, nil)).Functions(0).Memories(w.Limits(1, -1)).DataCount(1).Code(w.Body(misc, 9, 0)).Data(w.Cat([]byte{1}, w.Name("x"))).Bytes(),
		"imported memory": w.New().Imports(w.Import("m", "m", w.KindMemory, w.Limits(1, 2)...)).Bytes(),
		"imported table":  w.New().Imports(w.Import("m", "t", w.KindTable, w.Table(w.FuncRef, 1, 2)...)).Bytes(),
		"imported mutable global": w.New().Imports(w.Import("m", "c", w.KindGlobal, w.I32, 0), w.Import("m", "g", w.KindGlobal, w.I32, 1)).
			Globals(w.Global(w.I32, true, w.I32Const, 0)).Bytes(),
	} {
		t.Run(obstacle, func(t *testing.T) {
			r := interpreter(t)
			result := rewritten(t, wasm, Options{Stop: true, Renew: true})
			if result.Renewable || !slices.Equal(result.Obstacles, []string{obstacle}) {
				t.Errorf("got %v %v", result.Renewable, result.Obstacles)
			}
			m := compile(t, r, result.Wasm)
			for name := range m.ExportedFunctions() {
				if name == SaveExport || name == RestoreExport {
					t.Errorf("it exports %s", name)
				}
			}
		})
	}
}

// TestRestoreNeedsSave holds weir:restore to trap rather than to put nothing back.
func TestRestoreNeedsSave(t *testing.T) {
	ctx := context.Background()
	r := interpreter(t)
	m, err := r.Instantiate(ctx, rewritten(t, counting(), Options{Renew: true}).Wasm)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ExportedFunction(RestoreExport).Call(ctx); err == nil {
		t.Error("nothing was saved, and it is put back")
	}
	// An allocator that does not shrink is found out, too.
	for _, name := range []string{SaveExport, "run", RestoreExport} {
		if _, err = m.ExportedFunction(name).Call(ctx); err != nil && name != RestoreExport {
			t.Fatal(name, err)
		}
	}
	if err == nil {
		t.Error("the memory is larger than it was, and nobody says so")
	}
}

// TestNames renames what the module asks for and offers.
func TestNames(t *testing.T) {
	wasm := w.New().Types(w.Func(nil, nil)).Imports(w.ImportFunc("a", "f", 0), w.ImportFunc(wasi, "fd_close", 0)).Functions(0).Memories(w.Limits(1, 2)).
		Exports(w.ExportFunc("run", 2), w.Export("memory", w.KindMemory, 0), w.ExportFunc("f", 0)).Start(2).Code(w.Body(w.Call, 0)).Custom("note", nil).Bytes()
	o := Options{Stdio: true,
		Import: func(i wasmcheck.Import) (string, string) { return i.Module + "2", i.Name + "3" },
		Export: func(x wasmcheck.Export) string { return fmt.Sprint(x.Name, x.Kind) }}
	names := func(o Options) (imports, exports []string, start bool) {
		r, err := wasmcheck.Check(rewritten(t, wasm, o).Wasm, wasmcheck.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range r.Imports {
			imports = append(imports, i.Module+"."+i.Name)
		}
		for _, x := range r.Exports {
			exports = append(exports, x.Name)
		}
		return imports, exports, slices.ContainsFunc(r.Sections, func(s wasmcheck.Section) bool { return s.ID == wasmcheck.SectionStart })
	}
	imports, exports, start := names(o)
	if !slices.Equal(imports, []string{"a2.f3", "weir:stdio.fd_close3"}) || !slices.Equal(exports, []string{"run0", "memory2", "f0"}) || !start {
		t.Errorf("got %v, %v, %v", imports, exports, start)
	}
	imports, exports, start = names(Options{Stop: true, Renew: true})
	if !slices.Equal(imports, []string{"a.f", wasi + ".fd_close"}) || !slices.Equal(exports, []string{"run", "memory", "f", StopGlobal, StartExport, SaveExport, RestoreExport}) || start {
		t.Errorf("got %v, %v, %v", imports, exports, start)
	}
}

// TestStdio compares what Stdio says of descriptors with what WASI says in a new
// instance, and again in the next call.
func TestStdio(t *testing.T) {
	ctx := context.Background()
	r := interpreter(t)
	one, two := w.Func([]byte{w.I32}, []byte{w.I32}), w.Func([]byte{w.I32, w.I32}, []byte{w.I32})
	wasm := w.New().Types(one, two).Imports(w.ImportFunc(wasi, "fd_close", 0), w.ImportFunc(wasi, "fd_renumber", 1), w.ImportFunc(wasi, "fd_fdstat_set_flags", 1)).
		Functions(0, 1, 1).Memories(w.Limits(1, -1)).Exports(w.ExportFunc("close", 3), w.ExportFunc("renumber", 4), w.ExportFunc("flags", 5), w.Export("memory", w.KindMemory, 0)).
		Code(w.Body(get, 0, w.Call, 0), w.Body(get, 0, get, 1, w.Call, 1), w.Body(get, 0, get, 1, w.Call, 2)).Bytes()
	original, changed := compile(t, r, wasm), compile(t, r, rewritten(t, wasm, Options{Renew: true, Stdio: true}).Wasm)
	d := &desk{}
	d.offer(t, r, original)
	d.offer(t, r, changed)
	kept, err := start(ctx, r, changed)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name string, args ...uint64) {
		t.Helper()
		fresh, err := start(ctx, r, original)
		if err != nil {
			t.Fatal(err)
		}
		want := fresh.call(ctx, name, args...)
		for range 2 {
			if diff := kept.call(ctx, name, args...).diff(want); diff != "" {
				t.Errorf("%s%v: %s", name, args, diff)
			}
			if err := kept.renew(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, fd := range []uint64{0, 1, 2, 3, 100, 1<<32 - 1} {
		ask("close", fd)
		for n := range uint64(32) { // all flags
			ask("flags", fd, n)
		}
		for _, to := range []uint64{0, 2, 3, 7} {
			ask("renumber", fd, to)
		}
	}
}
