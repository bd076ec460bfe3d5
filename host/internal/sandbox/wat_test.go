package sandbox

import (
	"encoding/binary"
	"maps"
	"slices"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// The functions that a guest of imports can call, with their types.
var importable = []struct {
	module, name    string
	params, results []byte
}{
	{envModule, "alloc", []byte{w.I64}, []byte{w.I64}},
	{envModule, "free", []byte{w.I64}, nil},
	{envModule, "length", []byte{w.I64}, []byte{w.I64}},
	{envModule, "length_unsafe", []byte{w.I64}, []byte{w.I64}},
	{envModule, "load_u8", []byte{w.I64}, []byte{w.I32}},
	{envModule, "load_u64", []byte{w.I64}, []byte{w.I64}},
	{envModule, "store_u8", []byte{w.I64, w.I32}, nil},
	{envModule, "store_u64", []byte{w.I64, w.I64}, nil},
	{envModule, "memory_bytes", nil, []byte{w.I64}},
	{envModule, "reset", nil, nil},
	{envModule, "input_set", []byte{w.I64, w.I64}, nil},
	{envModule, "input_offset", nil, []byte{w.I64}},
	{envModule, "input_length", nil, []byte{w.I64}},
	{envModule, "input_load_u8", []byte{w.I64}, []byte{w.I32}},
	{envModule, "input_load_u64", []byte{w.I64}, []byte{w.I64}},
	{envModule, "output_set", []byte{w.I64, w.I64}, nil},
	{envModule, "output_offset", nil, []byte{w.I64}},
	{envModule, "output_length", nil, []byte{w.I64}},
	{envModule, "error_set", []byte{w.I64}, nil},
	{envModule, "error_get", nil, []byte{w.I64}},
	{envModule, "config_get", []byte{w.I64}, []byte{w.I64}},
	{envModule, "var_get", []byte{w.I64}, []byte{w.I64}},
	{envModule, "var_set", []byte{w.I64, w.I64}, nil},
	{envModule, "http_request", []byte{w.I64, w.I64}, []byte{w.I64}},
	{envModule, "http_status_code", nil, []byte{w.I32}},
	{envModule, "http_headers", nil, []byte{w.I64}},
	{envModule, "get_log_level", nil, []byte{w.I32}},
	{envModule, "log_info", []byte{w.I64}, nil},
	{userModule, "weir_http", []byte{w.I64}, []byte{w.I64}},
	{userModule, "weir_progress", []byte{w.I64}, nil},
	{userModule, "weir_log", []byte{w.I32, w.I64}, nil},
	{userModule, "list_roots", nil, []byte{w.I64}},
	{userModule, "notify_tool_list_changed", nil, nil},
	{"wasi_snapshot_preview1", "proc_exit", []byte{w.I32}, nil},
	{"wasi_snapshot_preview1", "fd_close", []byte{w.I32}, []byte{w.I32}},
	{"wasi_snapshot_preview1", "fd_renumber", []byte{w.I32, w.I32}, []byte{w.I32}},
	{"wasi_snapshot_preview1", "fd_fdstat_set_flags", []byte{w.I32, w.I32}, []byte{w.I32}},
	{"wasi_snapshot_preview1", "fd_write", []byte{w.I32, w.I32, w.I32, w.I32}, []byte{w.I32}},
	{"wasi_snapshot_preview1", "poll_oneoff", []byte{w.I32, w.I32, w.I32, w.I32}, []byte{w.I32}},
}

// A part is a sequence of instructions.
type part = []byte

func do(parts ...part) part { return w.Cat(parts...) }
func op(b ...byte) part     { return b }
func num(n int32) part      { return do(op(w.I32Const), w.S32(n)) }
func long(n int64) part     { return do(op(w.I64Const), w.S64(n)) }
func get(local byte) part   { return op(w.LocalGet, local) }
func set(local byte) part   { return op(w.LocalSet, local) }

// the calls an imported function by its name.
func the(name string, args ...part) part {
	i := slices.IndexFunc(importable, func(f struct {
		module, name    string
		params, results []byte
	}) bool {
		return f.name == name
	})
	if i < 0 {
		panic(name)
	}
	return do(do(args...), op(w.Call), w.U32(uint32(i)))
}

// extend makes an i64 of an i32.
func extend(p part) part { return do(p, op(0xad)) }

// forever runs parts without end.
func forever(parts ...part) part {
	return do(op(w.Loop, w.Empty), do(parts...), op(w.Br, 0, w.End, w.Unreachable))
}

// text makes a block that holds s and leaves its offset in local 0.
func text(s string) part {
	p := do(the("alloc", long(int64(len(s)))), set(0))
	for i := range len(s) {
		p = do(p, the("store_u8", do(get(0), long(int64(i)), op(0x7c)), num(int32(s[i]))))
	}
	return p
}

// says answers with s.
func says(s string) part { return do(text(s), the("output_set", get(0), long(int64(len(s))))) }

// number answers with the eight bytes of an i64, made by p.
func number(p part) part {
	return do(p, set(1), the("alloc", long(8)), set(0), the("store_u64", get(0), get(1)), the("output_set", get(0), long(8)))
}

// A guestShape is a guest of imports: a memory of 64 KiB, a variable global, a
// table, and functions. Locals 0 to 3 of each are i64, 4 to 7 i32.
type guestShape struct {
	start   part            // the start section; nil: none
	plain   map[string]part // exports of type () → ()
	exports map[string]part // exports of type () → i32; the result is 0 if the body leaves nothing
	raw     map[string]part // exports of type () → i32 whose bodies leave the result
	globals [][]byte        // nil: one of i64
	pages   []byte          // limits of the memory; nil: one page and no maximum
	box     []uint32        // a mailbox at boxPlace, as the guest makes it; nil: none
	reserve part            // the body of weir_reserve, which leaves its answer; nil: no memory
	place   part            // what weir_mailbox answers; nil: boxPlace
}

// Where the mailbox of a guestShape lies, and room for its input.
const (
	boxPlace = 1024
	boxRoom  = 2048
)

// inBox is a good mailbox with room for so many bytes.
func inBox(room uint32) []uint32 {
	return []uint32{boxMagic, 1, boxEmpty, boxRoom, room, 0, 0, 0, 0, 0, 0, 0}
}

// field reads a field of the mailbox, leave writes one.
func field(at int) part         { return do(num(int32(boxPlace+at)), op(0x28, 2, 0)) }
func leave(at int, v part) part { return do(num(int32(boxPlace+at)), v, op(0x36, 2, 0)) }
func answers(ptr, length part) part { // by the mailbox
	return do(leave(boxOutPtrAt, ptr), leave(boxOutLenAt, length), leave(boxStateAt, num(boxAnswered)))
}

// bytes is the module.
func (g guestShape) bytes() []byte {
	var types, imports [][]byte
	for i, f := range importable {
		types = append(types, w.Func(f.params, f.results))
		imports = append(imports, w.ImportFunc(f.module, f.name, uint32(i)))
	}
	tool, nothing := uint32(len(types)), uint32(len(types)+1)
	types = append(types, w.Func(nil, []byte{w.I32}), w.Func(nil, nil), w.Func([]byte{w.I32}, []byte{w.I32}))
	var kinds []uint32
	var bodies, exports [][]byte
	add := func(kind uint32, body part) uint32 {
		kinds = append(kinds, kind)
		bodies = append(bodies, w.BodyWith([][]byte{w.Locals(4, w.I64), w.Locals(4, w.I32)}, body...))
		return uint32(len(imports) + len(kinds) - 1)
	}
	each := func(all map[string]part, kind uint32, end part) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			exports = append(exports, w.ExportFunc(name, add(kind, do(all[name], end))))
		}
	}
	each(g.exports, tool, num(0))
	each(g.raw, tool, nil)
	each(g.plain, nothing, nil)
	if g.pages == nil {
		g.pages = w.Limits(1, -1)
	}
	data := [][]byte{w.Segment(16, []byte("from the data segment"))}
	if g.box != nil {
		var fields []byte
		for _, f := range g.box {
			fields = binary.LittleEndian.AppendUint32(fields, f)
		}
		data = append(data, w.Segment(boxPlace, fields))
		if g.place == nil {
			g.place = num(boxPlace)
		}
		if g.reserve == nil {
			g.reserve = num(0)
		}
		exports = append(exports, w.ExportFunc(boxExport, add(tool, g.place)), w.ExportFunc(reserveExport, add(nothing+1, g.reserve)))
	}
	if g.globals == nil {
		g.globals = [][]byte{w.Global(w.I64, true, long(7)...)}
	}
	m := w.New().Types(types...).Imports(imports...)
	start := uint32(0)
	if g.start != nil {
		start = add(nothing, g.start)
	}
	first := uint32(len(imports))
	m.Functions(kinds...).Tables(w.Table(w.FuncRef, 4, 8)).Memories(g.pages).
		Globals(g.globals...).Exports(append(exports, w.Export("memory", w.KindMemory, 0))...)
	if g.start != nil {
		m.Start(start)
	}
	return m.Elements(w.Element(1, first)).Code(bodies...).Data(data...).Bytes()
}

// running is a guest whose export run does so.
func running(parts ...part) []byte {
	return guestShape{exports: map[string]part{"run": do(parts...)}}.bytes()
}
