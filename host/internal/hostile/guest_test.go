package hostile

import (
	"encoding/binary"
	"math"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// Types of the functions below.
const (
	tRun      uint32 = iota // () → i32, what a tool's export is
	tNum                    // () → i64
	tMap                    // i64 → i64
	tTake                   // i64
	tPair                   // i64, i64
	tByte                   // i64, i32
	tLog                    // i32, i64
	tFour                   // i32 × 4 → i32
	tExit                   // i32
	tTwo                    // i32, i32 → i32
	tOpen                   // as path_open
	tNothing                // ()
	tLoadByte               // i64 → i32
)

var funcTypes = [][]byte{
	w.Func(nil, []byte{w.I32}), w.Func(nil, []byte{w.I64}), w.Func([]byte{w.I64}, []byte{w.I64}), w.Func([]byte{w.I64}, nil),
	w.Func([]byte{w.I64, w.I64}, nil), w.Func([]byte{w.I64, w.I32}, nil), w.Func([]byte{w.I32, w.I64}, nil),
	w.Func([]byte{w.I32, w.I32, w.I32, w.I32}, []byte{w.I32}), w.Func([]byte{w.I32}, nil), w.Func([]byte{w.I32, w.I32}, []byte{w.I32}),
	w.Func([]byte{w.I32, w.I32, w.I32, w.I32, w.I32, w.I64, w.I64, w.I32, w.I32}, []byte{w.I32}), w.Func(nil, nil), w.Func([]byte{w.I64}, []byte{w.I32}),
}

// The functions that every guest here imports, by their index.
const (
	fAlloc uint32 = iota
	fStore8
	fStore64
	fLoad64
	fInputLength
	fOutputSet
	fErrorSet
	fVarSet
	fVarGet
	fLogInfo
	fConfigGet
	fProgress
	fHTTP
	fLog
	fWrite
	fExit
	fPoll
	fRandom
	fEnviron
	fOpen
	fImports // how many there are; the guest's own functions follow
)

const (
	env  = "extism:host/env"
	user = "extism:host/user"
	wasi = "wasi_snapshot_preview1"
)

var imports = [][]byte{
	w.ImportFunc(env, "alloc", tMap), w.ImportFunc(env, "store_u8", tByte), w.ImportFunc(env, "store_u64", tPair), w.ImportFunc(env, "load_u64", tMap),
	w.ImportFunc(env, "input_length", tNum), w.ImportFunc(env, "output_set", tPair), w.ImportFunc(env, "error_set", tTake),
	w.ImportFunc(env, "var_set", tPair), w.ImportFunc(env, "var_get", tMap), w.ImportFunc(env, "log_info", tTake), w.ImportFunc(env, "config_get", tMap),
	w.ImportFunc(user, "weir_progress", tTake), w.ImportFunc(user, "weir_http", tMap), w.ImportFunc(user, "weir_log", tLog),
	w.ImportFunc(wasi, "fd_write", tFour), w.ImportFunc(wasi, "proc_exit", tExit), w.ImportFunc(wasi, "poll_oneoff", tFour),
	w.ImportFunc(wasi, "random_get", tTwo), w.ImportFunc(wasi, "environ_sizes_get", tTwo), w.ImportFunc(wasi, "path_open", tOpen),
}

// Locals of every function: 0 to 3 are i64, 4 to 7 are i32.
var locals = [][]byte{w.Locals(4, w.I64), w.Locals(4, w.I32)}

// Instructions that wasmtest has no name for.
const (
	opEqz32, opEq64, opGe64u, opAdd64, opMul64 = 0x45, 0x51, 0x5a, 0x7c, 0x7e
	opAdd32, opDiv32, opWrap, opExtend         = 0x6a, 0x6d, 0xa7, 0xad
	opLoad32, opStore32, opStore64             = 0x28, 0x36, 0x37
	opGlobalGet, opGlobalSet, opCallIndirect   = 0x23, 0x24, 0x11
)

// part is a stretch of instructions.
type part = []byte

func do(parts ...part) part    { return w.Cat(parts...) }
func op(b ...byte) part        { return b }
func num(n int32) part         { return w.Cat(op(w.I32Const), w.S32(n)) }
func long(n int64) part        { return w.Cat(op(w.I64Const), w.S64(n)) }
func call(f uint32) part       { return w.Cat(op(w.Call), w.U32(f)) }
func get(local byte) part      { return op(w.LocalGet, local) }
func set(local byte) part      { return op(w.LocalSet, local) }
func block(parts ...part) part { return w.Cat(op(w.Block, w.Empty), do(parts...), op(w.End)) }

// word is the number whose eight bytes in memory are the first of a text.
func word(text string) part { return long(int64(binary.LittleEndian.Uint64([]byte(text)))) }

func memory(code byte, at int) part { return w.Cat(op(code, 0), w.U32(uint32(at))) }

// forever never comes to its end.
func forever(parts ...part) part {
	return w.Cat(op(w.Loop, w.Empty), do(parts...), op(w.Br, 0, w.End, w.Unreachable))
}

var (
	drop   = op(w.Drop)
	trap   = op(w.Unreachable)
	answer = num(0) // success
)

// times runs parts n times; local 3 counts.
func times(n int64, parts ...part) part {
	return do(long(0), set(3), block(op(w.Loop, w.Empty), get(3), long(n), op(opGe64u, w.BrIf, 1),
		do(parts...), get(3), long(1), op(opAdd64), set(3), op(w.Br, 0, w.End)))
}

// text puts a text into a new block of the kernel, whose offset goes to local 0.
func text(s string) part {
	p := do(long(int64(len(s))), call(fAlloc), set(0))
	for len(s)%8 != 0 {
		i := len(s) - 1
		p = do(p, get(0), long(int64(i)), op(opAdd64), num(int32(s[i])), call(fStore8))
		s = s[:i]
	}
	for i := 0; i < len(s); i += 8 {
		p = do(p, get(0), long(int64(i)), op(opAdd64), word(s[i:]), call(fStore64))
	}
	return p
}

// filled makes a block of n bytes, a multiple of 8, that repeats eight bytes.
func filled(n int64, eight string) part {
	return do(long(n), call(fAlloc), set(0), times(n/8, get(0), get(3), long(8), op(opMul64), op(opAdd64), word(eight), call(fStore64)))
}

// says answers with a text.
func says(s string) part { return do(text(s), get(0), long(int64(len(s))), call(fOutputSet)) }

// A shape is what a guest has beside its imports.
type shape struct {
	pages    uint32 // of memory at first
	maxPages int64  // negative: none declared
	table    int64  // the most entries of the table; 0: 16
	start    part   // a start section
	exports  map[string]part
	helpers  []part // functions fImports, fImports+1, … of type () → i32
}

// guest is a module whose export run has the given body.
func guest(body ...part) []byte {
	return shape{exports: map[string]part{"run": do(body...)}}.bytes()
}

func (s shape) bytes() []byte {
	var types []uint32
	var bodies, exports [][]byte
	add := func(typ uint32, body part) uint32 {
		types, bodies = append(types, typ), append(bodies, w.BodyWith(locals, body...))
		return fImports + uint32(len(types)) - 1
	}
	for _, h := range s.helpers {
		add(tRun, h)
	}
	for _, name := range []string{"run", "trap", "spin", "die", "full", "self"} {
		if body, ok := s.exports[name]; ok {
			exports = append(exports, w.ExportFunc(name, add(tRun, body)))
		}
	}
	start := uint32(0)
	if s.start != nil {
		start = add(tNothing, s.start)
	}
	if s.pages == 0 {
		s.pages = 2
	}
	if s.maxPages == 0 {
		s.maxPages = -1
	}
	if s.table == 0 {
		s.table = 16
	}
	m := w.New().Types(funcTypes...).Imports(imports...).Functions(types...).Tables(w.Table(w.FuncRef, 16, s.table)).
		Memories(w.Limits(s.pages, s.maxPages)).Globals(w.Global(w.I64, true, w.Cat(op(w.I64Const), w.S64(0))...)).
		Exports(append(exports, w.Export("memory", w.KindMemory, 0))...)
	if s.start != nil {
		m = m.Start(start)
	}
	return m.Elements(w.Element(1, fImports)).Code(bodies...).Data(w.Segment(8, []byte("data"))).Bytes()
}

// iovecs writes n descriptions of the same stretch of memory to address 4096.
func iovecs(n, length int) part {
	var p part
	for i := range n {
		p = do(p, num(int32(4096+8*i)), num(64), memory(opStore32, 0), num(int32(4100+8*i)), num(int32(length)), memory(opStore32, 0))
	}
	return p
}

// nanos as poll_oneoff takes them: a clock subscription at address 0.
func sleepFor(ns int64) part {
	return do(
		num(0), long(0), memory(opStore64, 0), // userdata
		num(8), num(0), memory(opStore32, 0), // a clock
		num(16), num(1), memory(opStore32, 0), // the monotonic one
		num(24), long(ns), memory(opStore64, 0),
		num(32), long(0), memory(opStore64, 0),
		num(40), num(0), memory(opStore32, 0), // from now on
		num(0), num(128), num(1), num(256), call(fPoll), drop,
	)
}

const eternity = math.MaxInt64 / 2
