package wasmcheck

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// nothing is the type of a function that takes and returns nothing.
func nothing() []byte { return w.Func(nil, nil) }

// one is a module with one function of the given groups of locals and code.
func one(groups [][]byte, code ...byte) []byte {
	return w.New().Types(nothing()).Functions(0).Code(w.BodyWith(groups, code...)).Bytes()
}

const most = 1<<32 - 1

// bombs are files of at most a few bytes that end an engine's process, or hold
// it for minutes, by what they declare.
func bombs() map[string]struct {
	wasm []byte
	says string
} {
	type row = struct {
		wasm []byte
		says string
	}
	lie := func(id byte, rest ...byte) []byte {
		return w.New().Section(id, w.Cat(w.U32(most), rest)...).Bytes()
	}
	return map[string]row{
		"types":            {lie(w.SectionType), "the type section declares 4294967295 types in 0 bytes"},
		"imports":          {lie(w.SectionImport), "the import section declares 4294967295 imports in 0 bytes"},
		"functions":        {lie(w.SectionFunction), "the function section declares 4294967295 functions in 0 bytes"},
		"tables":           {lie(w.SectionTable, 0x70, 0, 1, 0, 0, 0, 0, 0, 0), "the table section declares 4294967295 tables in 9 bytes"},
		"memories":         {lie(w.SectionMemory), "the memory section declares 4294967295 memories in 0 bytes"},
		"globals":          {lie(w.SectionGlobal), "the global section declares 4294967295 globals in 0 bytes"},
		"exports":          {lie(w.SectionExport), "the export section declares 4294967295 exports in 0 bytes"},
		"elements":         {lie(w.SectionElement), "the element section declares 4294967295 element segments in 0 bytes"},
		"code":             {lie(w.SectionCode), "the code section declares 4294967295 functions in 0 bytes"},
		"data":             {lie(w.SectionData), "the data section declares 4294967295 data segments in 0 bytes"},
		"data count":       {lie(w.SectionDataCount), "the data count section declares 4294967295 data segments, and at most 500000 are taken"},
		"parameters":       {w.New().Section(w.SectionType, w.Cat([]byte{1, 0x60}, w.U32(most))...).Bytes(), "the type section declares 4294967295 parameters in 0 bytes"},
		"results":          {w.New().Section(w.SectionType, w.Cat([]byte{1, 0x60, 0}, w.U32(most))...).Bytes(), "the type section declares 4294967295 results in 0 bytes"},
		"locals":           {one([][]byte{w.Locals(most, w.I64)}), "the code section: function 0 declares 4294967295 locals, and at most 50000 are taken"},
		"locals that wrap": {one([][]byte{w.Locals(most, w.I64), w.Locals(2, w.I64)}), "function 0 declares 4294967295 locals"},
		"groups of locals": {w.New().Types(nothing()).Functions(0).Section(w.SectionCode, w.Cat([]byte{1, 6}, w.U32(most), []byte{0x0b})...).Bytes(), "function 0 declares 4294967295 groups of locals in 1 bytes"},
		"a function's end": {w.New().Types(nothing()).Functions(0).Section(w.SectionCode, w.Cat([]byte{1}, w.U32(most), []byte{0, 11})...).Bytes(), "the code section declares 4294967295 bytes of a function in 2 bytes"},
		"a branch table":   {one(nil, w.Cat([]byte{w.I32Const, 0, w.BrTable}, w.U32(most))...), "function 0 declares 4294967295 branch targets in 1 bytes"},
		"a select":         {one(nil, w.Cat([]byte{0x1c}, w.U32(most))...), "function 0 declares 4294967295 types of a select in 1 bytes"},
		"a name":           {w.New().Section(w.SectionCustom, w.U32(most)...).Bytes(), "the custom section declares 4294967295 bytes of its name in 0 bytes"},
		"an import's name": {w.New().Section(w.SectionImport, w.Cat([]byte{1, 0}, w.U32(most), []byte{0, 0})...).Bytes(), "the import section declares 4294967295 bytes of an import's name in 2 bytes"},
		"an export's name": {w.New().Section(w.SectionExport, w.Cat([]byte{1}, w.U32(most), []byte{0, 0})...).Bytes(), "the export section declares 4294967295 bytes of an export's name in 2 bytes"},
		"entries": {w.New().Types(nothing()).Functions(0).Tables(w.Table(w.FuncRef, 1, -1)).
			Section(w.SectionElement, w.Cat([]byte{1, 0, w.I32Const, 0, w.End}, w.U32(most))...).Bytes(), "the element section declares 4294967295 entries in 0 bytes"},
		"bytes of data": {w.New().Memories(w.Limits(1, -1)).Section(w.SectionData, w.Cat([]byte{1, 0, w.I32Const, 0, w.End}, w.U32(most))...).Bytes(),
			"the data section declares 4294967295 bytes of data in 0 bytes"},
		"a table's entries": {w.New().Tables(w.Table(w.FuncRef, 1<<27, -1)).Bytes(), "the table section declares a table of 134217728 entries, and at most 1000000 are taken"},
		"an imported table": {w.New().Imports(w.Import("a", "b", w.KindTable, w.Table(w.FuncRef, 1<<27, -1)...)).Bytes(), "the import section declares a table of 134217728 entries"},
		"tables together": {w.New().Tables(w.Table(w.FuncRef, 600_000, -1), w.Table(w.FuncRef, 600_000, -1)).Bytes(),
			"the table section declares room for 1200000 entries, and at most 1000000 are taken"},
		"many tables": {w.New().Tables(repeated(17, w.Table(w.FuncRef, 1, -1))...).Bytes(),
			"the table section declares 17 tables, and at most 16 are taken"},
		"a table that grows": {w.New().Types(nothing()).Functions(0).Tables(w.Table(w.FuncRef, 1, -1)).Code(w.Body(0xd0, w.FuncRef, w.I32Const, 1, 0xfc, 15, 0, w.Drop)).Bytes(),
			"table 0 grows by table.grow and declares no maximum"},
		"a table that grows far": {w.New().Types(nothing()).Functions(0).Tables(w.Table(w.FuncRef, 1, 100_000_000)).Code(w.Body(0xd0, w.FuncRef, w.I32Const, 1, 0xfc, 15, 0, w.Drop)).Bytes(),
			"the table section declares room for 100000000 entries"},
		"memory":         {w.New().Memories(w.Limits(65537, -1)).Bytes(), "the memory section declares a memory of 65537 pages, and at most 65536 are taken"},
		"two memories":   {w.New().Memories(w.Limits(1, -1), w.Limits(1, -1)).Bytes(), "the memory section declares 2 memories, and at most 1 are taken"},
		"another memory": {w.New().Imports(w.Import("a", "b", w.KindMemory, w.Limits(1, -1)...)).Memories(w.Limits(1, -1)).Bytes(), "the module has 2 memories, and at most one is taken"},
		"blocks":         {one(nil, w.Cat(w.Repeat(10_001, w.Block, w.Empty), w.Repeat(10_001, w.End))...), "function 0 nests its blocks deeper than 10000"},
		"loops":          {one(nil, w.Cat(w.Repeat(1001, w.Loop, w.Empty), w.Repeat(1001, w.End))...), "function 0 nests its loops and ifs deeper than 1000"},
		"a long branch table": {one(nil, w.Cat([]byte{w.I32Const, 0, w.BrTable}, w.U32(40_001), w.Repeat(40_002, 0))...),
			"function 0 declares 40001 branch targets, and at most 40000 are taken"},
		"wide calls": {w.New().Types(w.Func(w.Repeat(1000, w.I32), w.Repeat(1000, w.I32))).Functions(0).Code(w.Body(w.Repeat(51, w.Call, 0)...)).Bytes(),
			"function 0 moves 102000 values by its branches, blocks and calls, and at most 100000 are taken"},
		"wide branches": {w.New().Types(w.Func(nil, w.Repeat(1000, w.I32))).Functions(0).Code(w.Body(w.Cat([]byte{w.BrTable}, w.U32(200), w.Repeat(201, 0))...)).Bytes(),
			"function 0 moves 201000 values"},
		"locals everywhere": {w.New().Types(nothing()).Functions(make([]uint32, 81)...).Code(repeated(81, w.BodyWith([][]byte{w.Locals(50_000, w.I64)}))...).Bytes(),
			"function 80 is the one that takes the locals of all functions beyond 4000000"},
		"parameters beyond reason": {w.New().Types(w.Func(w.Repeat(1001, w.I32), nil)).Bytes(), "the type section declares 1001 parameters, and at most 1000 are taken"},
		"custom sections":          {w.New().Raw(w.Repeat(1001, 0, 1, 0)...).Bytes(), "the file holds more than 1000 custom sections"},
		"a long name":              {w.New().Types(nothing()).Functions(0).Exports(w.ExportFunc(strings.Repeat("a", 5000), 0)).Code(w.Body()).Bytes(), "the export section declares 5000 bytes of an export's name, and at most 4096 are taken"},
		"a long file":              {append(w.New().Bytes(), make([]byte, 16<<20)...), "the file is 16777224 bytes long, and at most 16777216 are taken"},
	}
}

func repeated(n int, b []byte) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = b
	}
	return out
}

func TestBombs(t *testing.T) {
	for name, b := range bombs() {
		t.Run(name, func(t *testing.T) {
			refuses(t, b.wasm, b.says)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := Check(b.wasm, Limits{}); err == nil {
				t.Error("it passes the second time")
			}
			runtime.ReadMemStats(&after)
			// What a file declares is in the thousands of millions.
			if n, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+16*len(b.wasm)); n > most {
				t.Errorf("%d bytes were allocated for %d", n, len(b.wasm))
			}
		})
	}
}

// refuses holds Check to a sentence.
func refuses(t *testing.T, wasm []byte, says string) {
	t.Helper()
	_, err := Check(wasm, Limits{})
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %q", err, says)
		return
	}
	if s := err.Error(); strings.ContainsAny(s, "\n\x00") || len(s) > 400 {
		t.Errorf("an odd sentence: %q", s)
	}
}

func TestRefuses(t *testing.T) {
	code := func(ops ...byte) []byte { return one(nil, ops...) }
	long := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for _, row := range []struct {
		name string
		wasm []byte
		says string
	}{
		{"nothing", nil, "the file is empty"},
		{"half a magic", []byte("\x00as"), "the file is cut short: it ends within the first 8 bytes"},
		{"a script", []byte("#!/bin/sh\n"), "this is not a WebAssembly file; build the plugin for wasm32"},
		{"text", []byte("\n;; a note\n  (module)"), "this is WebAssembly in its text form"},
		{"a component's text", []byte("(component)"), "this is a WebAssembly component in its text form"},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), "this is a WebAssembly component; weir runs core modules"},
		{"a program", []byte("\x7fELF\x02\x01"), "this is a program for Linux"},
		{"a zip", []byte("PK\x03\x04abcdef"), "this is a zip archive"},
		{"compressed", []byte("\x1f\x8b\x08\x00"), "this file is compressed"},
		{"a future version", []byte("\x00asm\x02\x00\x00\x00"), "has version 02000000; weir runs version 1"},

		{"a section of no kind", w.New().Section(77).Bytes(), "the file holds a section of the unknown number 77"},
		{"a section beyond the file", append(w.New().Bytes(), 10, 0x7f, 1), "the file is cut short: its code section says 127 bytes and 1 are left"},
		{"half a head", append(w.New().Bytes(), 10), "cut short or damaged in the head of its code section"},
		{"a size that does not end", append(w.New().Bytes(), append([]byte{1}, long...)...), "in the head of its type section"},
		{"a section twice", w.New().Types().Types().Bytes(), "its type section comes twice"},
		{"a section too late", w.New().Functions().Types().Bytes(), "its type section is after its function section"},
		{"the data count too late", w.New().Code().DataCount(0).Bytes(), "its data count section is after its code section"},
		{"more than it declares", w.New().Section(w.SectionType, 0, 0).Bytes(), "the type section holds 1 bytes more than it declares"},
		{"an empty section", w.New().Section(w.SectionType).Bytes(), "the type section ends too early, at byte 10 of the file"},
		{"a number that does not end", w.New().Section(w.SectionFunction, long...).Bytes(), "the function section holds a number of more than 32 bits"},
		{"a number too large", w.New().Section(w.SectionFunction, 0xff, 0xff, 0xff, 0xff, 0x1f).Bytes(), "the function section holds a number of more than 32 bits"},
		{"a name that is no text", w.New().Section(w.SectionExport, 1, 1, 0xff, 0, 0).Bytes(), "the export section holds an export's name that is not UTF-8"},
		{"a name for the terminal", w.New().Imports(w.Import("a\x1b[2J", "b", w.KindFunc, 0)).Bytes(), `with control or invisible characters in it: "a\x1b[2J"`},
		{"a name from right to left", w.New().Exports(w.ExportFunc("a\u202eb", 0)).Bytes(), `with control or invisible characters in it: "a\u202eb"`},
		{"an import of nothing", w.New().Imports(w.Import("a", "b", 9)).Bytes(), "the import section holds an import of unknown kind 9"},
		{"an exception imported", w.New().Imports(w.Import("a", "b", w.KindTag, 0, 0)).Bytes(), "imports an exception"},
		{"a function of no type", w.New().Functions(0).Bytes(), "the function section names type 0, and the module has 0"},
		{"an import of no type", w.New().Imports(w.ImportFunc("a", "b", 1)).Bytes(), "the import section names type 1, and the module has 0"},
		{"an export of no function", w.New().Exports(w.ExportFunc("a", 0)).Bytes(), "the export section names function 0, and the module has 0"},
		{"an export of no table", w.New().Exports(w.Export("a", w.KindTable, 0)).Bytes(), "names table 0"},
		{"an export of no kind", w.New().Exports(w.Export("a", 9, 0)).Bytes(), "holds an export of unknown kind 9"},
		{"an export twice", w.New().Types(nothing()).Functions(0).Exports(w.ExportFunc("a", 0), w.ExportFunc("a", 0)).Code(w.Body()).Bytes(), `exports the name "a" twice`},
		{"a start of no function", w.New().Start(0).Bytes(), "the start section names function 0"},
		{"functions without code", w.New().Types(nothing()).Functions(0).Bytes(), "the function section declares 1 functions, and the code section holds 0"},
		{"code without functions", w.New().Types(nothing()).Code(w.Body()).Bytes(), "the code section holds 1 functions, and the function section declares 0"},
		{"data that does not come", w.New().DataCount(1).Bytes(), "the data count section declares 1 data segments, and the data section holds 0"},
		{"data for no memory", w.New().Data(w.Segment(0, nil)).Bytes(), "the data section fills a memory, and the module has none"},
		{"elements for no table", w.New().Elements(w.Element(0)).Bytes(), "the element section fills a table, and the module has none"},
		{"an element of no form", w.New().Section(w.SectionElement, 1, 8, 0, 0).Bytes(), "of the unknown form 8"},
		{"data of no form", w.New().Section(w.SectionData, 1, 3, 0).Bytes(), "of the unknown form 3"},
		{"a type of no kind", w.New().Section(w.SectionType, 1, 0x5f, 0, 0).Bytes(), "holds a type of the unknown kind 0x5f"},
		{"a value of no type", w.New().Types(w.Func([]byte{0x69}, nil)).Bytes(), "holds a value of the unknown type 0x69"},
		{"a global of no kind", w.New().Section(w.SectionGlobal, 1, w.I32, 2, w.I32Const, 0, w.End).Bytes(), "neither constant nor variable"},
		{"a first value computed", w.New().Globals(w.Global(w.I32, false, w.I32Const, 0, w.I32Const, 0, 0x6a)).Bytes(), "computes a first value by the instruction 0x6a"},
		{"a first value of no global", w.New().Globals(w.Global(w.I32, false, 0x23, 0)).Bytes(), "names global 0, and the module has 0"},
		{"a table upside down", w.New().Tables(w.Table(w.FuncRef, 2, 1)).Bytes(), "declares a table of at least 2 and at most 1"},
		{"shared memory", w.New().Memories([]byte{3, 1, 1}).Bytes(), "declares a memory shared between threads"},
		{"long addresses", w.New().Memories([]byte{4, 1}).Bytes(), "declares a memory with 64-bit addresses"},
		{"exceptions", w.New().Section(w.SectionTag, 0).Bytes(), "the file uses exceptions"},

		{"code behind the end", code(w.End, 1), "the code section: function 0 has 2 bytes after its end"},
		{"code without an end", w.New().Types(nothing()).Functions(0).Code(w.Cat([]byte{3, 0, w.Block, w.Empty})).Bytes(), "function 0 ends too early"},
		{"a block of no type", code(w.Block, 7, w.End), "opens a block of the type 7, and the module has 1 types"},
		{"an else of its own", code(w.Block, w.Empty, w.Else, w.End), "holds an else without an if"},
		{"two elses", code(w.I32Const, 0, w.If, w.Empty, w.Else, w.Else, w.End), "holds an else without an if"},
		{"a branch too far", code(w.Br, 1), "branches out of 2 blocks, and is in 1"},
		{"a local of none", code(w.LocalGet, 0, w.Drop), "names local 0, and the module has 0"},
		{"a call of none", code(w.Call, 9), "names function 9, and the module has 1"},
		{"a global of none", code(0x23, 0, w.Drop), "names global 0"},
		{"memory of none", code(w.I32Const, 0, 0x28, 2, 0, w.Drop), "function 0 uses memory, and the module has none"},
		{"a table of none", code(w.I32Const, 0, 0x25, 0, w.Drop), "names table 0, and the module has 0"},
		{"data of none", code(0xfc, 9, 0), "uses a data segment, and the file has no data count section"},
		{"an instruction of none", code(0x27), "uses the instruction 0x27"},
		{"a tail call", code(0x12, 0), "uses tail calls (instruction 0x12), which weir's engine does not run"},
		{"an atomic", code(0xfe, 3, 0), "uses threads (instruction 0xfe)"},
		{"a number of 33 bits", code(w.I32Const, 0xff, 0xff, 0xff, 0xff, 0x1f, w.Drop), "holds a number of more than 32 bits"},
		{"a vector of none", code(0xfd, 0xa2, 1), "uses the vector instruction 162, which there is not"},
		{"a relaxed vector", code(0xfd, 0x80, 2), "uses a vector instruction of a number above 255"},
		{"a vector the long way", code(0xfd, 0x8c, 0), "uses a vector instruction of a number above 255"},
		{"a lane of none", code(0xfd, 21, 16), "names lane 16 of 16"},
		{"a misc of none", code(0xfc, 18), "uses the instruction 0xfc 18"},
		{"misaligned", w.New().Types(nothing()).Functions(0).Memories(w.Limits(1, -1)).Code(w.Body(w.I32Const, 0, 0x28, 3, 0, w.Drop)).Bytes(), "aligns a memory access to 2^3 bytes, and at most 2^2 fit it"},
		{"a second memory", w.New().Types(nothing()).Functions(0).Memories(w.Limits(1, -1)).Code(w.Body(0x3f, 1, w.Drop)).Bytes(), "uses a second memory"},
	} {
		t.Run(row.name, func(t *testing.T) { refuses(t, row.wasm, row.says) })
	}
}

// full is a module with every section there is.
func full() *w.Module {
	return w.New().Types(nothing(), w.Func([]byte{w.I32, w.F64}, []byte{w.I64})).
		Imports(w.ImportFunc("env", "f", 1), w.Import("env", "g", w.KindGlobal, w.I32, 0)).Functions(0, 0).
		Tables(w.Table(w.FuncRef, 2, 10)).Memories(w.Limits(1, 2)).Globals(w.Global(w.I64, true, w.I64Const, 0x7f)).
		Exports(w.ExportFunc("run", 1), w.Export("memory", w.KindMemory, 0)).Start(2).Elements(w.Element(0, 0, 1)).DataCount(1).
		Code(w.BodyWith([][]byte{w.Locals(3, w.I32)}, w.Loop, w.Empty, w.End), w.Body()).
		Data(w.Segment(0, []byte("text"))).Custom("note", []byte("one")).Custom("note", []byte("two"))
}

func TestReport(t *testing.T) {
	r, err := Check(full().Bytes(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case len(r.Sections) != 14, len(r.Types) != 2, r.Types[1] != (Signature{2, 1}), len(r.Functions) != 3, r.Functions[0] != 1,
		len(r.Imports) != 2, r.Imports[0].Name != "f", r.Imports[1].Kind() != KindGlobal, len(r.Exports) != 2, r.Exports[0] != (Export{"run", KindFunc, 1}),
		len(r.Memories) != 1, r.Memories[0] != (Memory{Least: 1, Most: 2, Bounded: true}), string(r.Custom["note"]) != "one", r.Sections[13].Name != "note", r.Most.Locals != 3, r.Most.Loops != 1:
		t.Errorf("got %+v", r)
	}
	// A limit of the caller's own counts.
	if _, err := Check(full().Bytes(), Limits{Exports: 1}); err == nil || err.Error() != "the export section declares 2 exports, and at most 1 are taken" {
		t.Errorf("got %v", err)
	}
}

// TestEveryPrefix holds each beginning of a valid module to a sentence, but for
// those that end where a section does.
func TestEveryPrefix(t *testing.T) {
	wasm := full().Bytes()
	whole, err := Check(wasm, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ends, at := map[int]bool{8: true}, 8
	for _, s := range whole.Sections {
		at += 2 + len(s.Body)
		ends[at] = true
	}
	for n := range len(wasm) {
		if _, err := Check(bytes.Clone(wasm[:n]), Limits{}); err == nil && !ends[n] {
			t.Errorf("the first %d of %d bytes pass", n, len(wasm))
		}
	}
}

// TestDefaults finds a limit that was forgotten in withDefaults.
func TestDefaults(t *testing.T) {
	for _, l := range []Limits{{}, {Nesting: -1, FileBytes: -1}} {
		if l.withDefaults() != DefaultLimits() {
			t.Errorf("%+v becomes %+v", l, l.withDefaults())
		}
	}
}
