// Package wasmtest writes WebAssembly modules byte by byte, for tests with modules
// that no compiler produces. Sections have the order in which they are added. The
// package checks nothing, because tests need invalid modules.
package wasmtest

import "encoding/binary"

// Numbers of the sections.
const (
	SectionCustom byte = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
	SectionTag
)

// Value types.
const (
	I32       byte = 0x7f
	I64       byte = 0x7e
	F32       byte = 0x7d
	F64       byte = 0x7c
	V128      byte = 0x7b
	FuncRef   byte = 0x70
	ExternRef byte = 0x6f
)

// Kinds of imports and exports.
const (
	KindFunc byte = iota
	KindTable
	KindMemory
	KindGlobal
	KindTag
)

// A Module is a file in the making.
type Module struct{ b []byte }

// New begins a module with its eight first bytes.
func New() *Module { return &Module{b: []byte("\x00asm\x01\x00\x00\x00")} }

// Bytes returns the file. The Module must not be added to afterwards.
func (m *Module) Bytes() []byte { return m.b }

// Raw adds bytes as they are.
func (m *Module) Raw(b ...byte) *Module {
	m.b = append(m.b, b...)
	return m
}

// Section adds a section with its true size.
func (m *Module) Section(id byte, body ...byte) *Module {
	m.b = append(m.b, id)
	m.b = binary.AppendUvarint(m.b, uint64(len(body)))
	return m.Raw(body...)
}

// Custom adds a custom section.
func (m *Module) Custom(name string, content []byte) *Module {
	return m.Section(SectionCustom, Cat(Name(name), content)...)
}

// Types adds the type section; see Func.
func (m *Module) Types(types ...[]byte) *Module { return m.Section(SectionType, Vec(types...)...) }

// Imports adds the import section; see ImportFunc and Import.
func (m *Module) Imports(imports ...[]byte) *Module {
	return m.Section(SectionImport, Vec(imports...)...)
}

// Functions adds the function section: the type of each function.
func (m *Module) Functions(types ...uint32) *Module {
	return m.Section(SectionFunction, Indices(types...)...)
}

// Tables adds the table section; see Table.
func (m *Module) Tables(tables ...[]byte) *Module { return m.Section(SectionTable, Vec(tables...)...) }

// Memories adds the memory section; see Limits, in pages of 64 KiB.
func (m *Module) Memories(limits ...[]byte) *Module {
	return m.Section(SectionMemory, Vec(limits...)...)
}

// Globals adds the global section; see Global.
func (m *Module) Globals(globals ...[]byte) *Module {
	return m.Section(SectionGlobal, Vec(globals...)...)
}

// Exports adds the export section; see ExportFunc and Export.
func (m *Module) Exports(exports ...[]byte) *Module {
	return m.Section(SectionExport, Vec(exports...)...)
}

// Start adds the start section.
func (m *Module) Start(function uint32) *Module { return m.Section(SectionStart, U32(function)...) }

// Elements adds the element section; see Element.
func (m *Module) Elements(elements ...[]byte) *Module {
	return m.Section(SectionElement, Vec(elements...)...)
}

// DataCount adds the data count section.
func (m *Module) DataCount(n uint32) *Module { return m.Section(SectionDataCount, U32(n)...) }

// Code adds the code section; see Body and BodyWith.
func (m *Module) Code(bodies ...[]byte) *Module { return m.Section(SectionCode, Vec(bodies...)...) }

// Data adds the data section; see Segment.
func (m *Module) Data(segments ...[]byte) *Module { return m.Section(SectionData, Vec(segments...)...) }

// U32 is an unsigned number in LEB128.
func U32(n uint32) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// S32 is a signed 32-bit number, as i32.const takes it.
func S32(n int32) []byte { return S64(int64(n)) }

// S64 is a signed 64-bit number, as i64.const takes it.
func S64(n int64) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// Vec is a list with its true count.
func Vec(items ...[]byte) []byte { return Cat(U32(uint32(len(items))), Cat(items...)) }

// Lie is a list that claims another count than it has.
func Lie(count uint32, items ...[]byte) []byte { return Cat(U32(count), Cat(items...)) }

// Indices is a list of numbers.
func Indices(n ...uint32) []byte {
	out := U32(uint32(len(n)))
	for _, i := range n {
		out = append(out, U32(i)...)
	}
	return out
}

// Name is a text with its length.
func Name(s string) []byte { return Cat(U32(uint32(len(s))), []byte(s)) }

// Cat joins parts.
func Cat(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Repeat is the bytes n times.
func Repeat(n int, b ...byte) []byte {
	out := make([]byte, 0, n*len(b))
	for range n {
		out = append(out, b...)
	}
	return out
}

// Func is a function type.
func Func(params, results []byte) []byte {
	return Cat([]byte{0x60}, U32(uint32(len(params))), params, U32(uint32(len(results))), results)
}

// Import is an import of any kind; desc is what follows the kind.
func Import(module, name string, kind byte, desc ...byte) []byte {
	return Cat(Name(module), Name(name), []byte{kind}, desc)
}

// ImportFunc is an imported function of the given type.
func ImportFunc(module, name string, typ uint32) []byte {
	return Import(module, name, KindFunc, U32(typ)...)
}

// Export is an export of any kind.
func Export(name string, kind byte, index uint32) []byte {
	return Cat(Name(name), []byte{kind}, U32(index))
}

// ExportFunc is an exported function.
func ExportFunc(name string, index uint32) []byte { return Export(name, KindFunc, index) }

// Limits are the bounds of a memory or table; a negative most: none is declared.
func Limits(least uint32, most int64) []byte {
	if most < 0 {
		return Cat([]byte{0}, U32(least))
	}
	return Cat([]byte{1}, U32(least), U32(uint32(most)))
}

// Table is a table of the given reference type.
func Table(ref byte, least uint32, most int64) []byte { return Cat([]byte{ref}, Limits(least, most)) }

// Global is a global with the instructions of its first value, without end.
func Global(typ byte, mutable bool, init ...byte) []byte {
	m := byte(0)
	if mutable {
		m = 1
	}
	return Cat([]byte{typ, m}, init, []byte{End})
}

// Element puts functions into table 0 from the given place on.
func Element(offset int32, functions ...uint32) []byte {
	return Cat([]byte{0, I32Const}, S32(offset), []byte{End}, Indices(functions...))
}

// Segment is active data of memory 0.
func Segment(offset int32, content []byte) []byte {
	return Cat([]byte{0, I32Const}, S32(offset), []byte{End}, Name(string(content)))
}

// Locals is one group of a function's locals.
func Locals(n uint32, typ byte) []byte { return append(U32(n), typ) }

// Body is a function without locals; the end is added.
func Body(code ...byte) []byte { return BodyWith(nil, code...) }

// BodyWith is a function with groups of locals; see Locals. The end is added.
func BodyWith(groups [][]byte, code ...byte) []byte {
	body := Cat(Vec(groups...), code, []byte{End})
	return Cat(U32(uint32(len(body))), body)
}

// Some instructions.
const (
	Unreachable byte = 0x00
	Block       byte = 0x02
	Loop        byte = 0x03
	If          byte = 0x04
	Else        byte = 0x05
	End         byte = 0x0b
	Br          byte = 0x0c
	BrIf        byte = 0x0d
	BrTable     byte = 0x0e
	Return      byte = 0x0f
	Call        byte = 0x10
	Drop        byte = 0x1a
	LocalGet    byte = 0x20
	LocalSet    byte = 0x21
	MemoryGrow  byte = 0x40
	I32Const    byte = 0x41
	I64Const    byte = 0x42
	Empty       byte = 0x40 // the type of a block that leaves nothing
)

// Exporting is a module that exports one function of type () → i32.
func Exporting(name string, code ...byte) []byte {
	return New().Types(Func(nil, []byte{I32})).Functions(0).Exports(ExportFunc(name, 0)).Code(Body(code...)).Bytes()
}

// Slow is a module that takes a compiler long and lies about nothing: one
// function with so many ifs, one after the other. 60,000 take more than a second
// of CPU time and some hundred MiB.
func Slow(export string, ifs int) []byte {
	var code []byte
	for range ifs {
		code = append(code, 0x20, 0x00, 0x04, 0x40, 0x20, 0x00, 0x41, 0x01, 0x6a, 0x21, 0x00, 0x0b) // if local: local += 1
	}
	return New().Types(Func(nil, []byte{I32})).Functions(0).Exports(ExportFunc(export, 0)).
		Code(BodyWith([][]byte{Locals(1, I32)}, append(code, 0x41, 0x00)...)).Bytes()
}

// Echo is about the smallest guest that answers: its export hands its input
// back, without a memory of its own.
func Echo(export string) []byte {
	const env = "extism:host/env"
	return New().Types(Func(nil, []byte{I32}), Func(nil, []byte{I64}), Func([]byte{I64, I64}, nil)).
		Imports(ImportFunc(env, "input_offset", 1), ImportFunc(env, "input_length", 1), ImportFunc(env, "output_set", 2)).
		Functions(0).Exports(ExportFunc(export, 3)).
		Code(Body(Call, 0, Call, 1, Call, 2, I32Const, 0)).Bytes()
}
