package main

import "github.com/weirhost/weir/host/internal/wasmtest"

// Instructions beside those of wasmtest, by their names in WebAssembly.
const (
	i32Load, i64Load, i32Load8, i32Store, i64Store, i32Store8 = 0x28, 0x29, 0x2d, 0x36, 0x37, 0x3a

	localTee, globalGet, globalSet = 0x22, 0x23, 0x24

	i32Eqz, i32Eq, i32LtS, i32LtU, i32GtU, i32LeU           = 0x45, 0x46, 0x48, 0x49, 0x4b, 0x4d
	i32Add, i32Sub, i32Mul, i32RemU, i32And, i32Shl, i32Shr = 0x6a, 0x6b, 0x6c, 0x70, 0x71, 0x74, 0x76
	i32Wrap, i64Extend                                      = 0xa7, 0xad

	get, set, call = wasmtest.LocalGet, wasmtest.LocalSet, wasmtest.Call
	end, ret       = wasmtest.End, wasmtest.Return
	brIf, grow     = wasmtest.BrIf, wasmtest.MemoryGrow
)

// con is i32.const.
func con(n int32) []byte { return append([]byte{wasmtest.I32Const}, wasmtest.S32(n)...) }

// The places of the plain guest, in bytes: its mailbox, its input when that
// comes through the mailbox, and what malloc gives out.
const (
	boxAt, inputAt, heapAt = 1 << 10, 4 << 10, 64 << 10
	plainPages             = 2
)

// What the plain guest imports, defines and keeps, by index.
const (
	inputLength = iota
	inputLoad64
	inputLoad8
	alloc
	store64
	store8
	outputSet
	malloc
	take
	give
	echo
	text
	box
	reserve
)

const (
	brk  = iota // the end of what malloc has given out
	size        // how long the input is
	heap        // where malloc begins
)

// plainGuest is a guest as a C compiler makes one with Extism's kit: a small
// memory, malloc, and loops that pass eight bytes at a time. With mailbox it
// takes its input and leaves its answer in its own memory when the host speaks
// the direct ABI.
func plainGuest(mailbox bool) []byte {
	const env = "extism:host/env"
	i32, i64 := wasmtest.I32, wasmtest.I64
	f := func(params ...byte) func(results ...byte) []byte {
		return func(results ...byte) []byte { return wasmtest.Func(params, results) }
	}
	exports := [][]byte{
		wasmtest.ExportFunc("echo", echo), wasmtest.ExportFunc("text", text), wasmtest.Export("memory", wasmtest.KindMemory, 0),
	}
	if mailbox {
		exports = append(exports, wasmtest.ExportFunc("weir_mailbox", box), wasmtest.ExportFunc("weir_reserve", reserve))
	}
	return wasmtest.New().
		Types(f()(i32), f()(i64), f(i64)(i64), f(i64)(i32), f(i64, i64)(), f(i64, i32)(), f(i32)(i32), f(i32, i32)(i32)).
		Imports(
			wasmtest.ImportFunc(env, "input_length", 1), wasmtest.ImportFunc(env, "input_load_u64", 2), wasmtest.ImportFunc(env, "input_load_u8", 3),
			wasmtest.ImportFunc(env, "alloc", 2), wasmtest.ImportFunc(env, "store_u64", 4), wasmtest.ImportFunc(env, "store_u8", 5),
			wasmtest.ImportFunc(env, "output_set", 4),
		).
		Functions(6, 0, 7, 0, 0, 0, 6).
		Memories(wasmtest.Limits(plainPages, -1)).
		Globals(wasmtest.Global(i32, true, con(heapAt)...), wasmtest.Global(i32, true, con(0)...), wasmtest.Global(i32, true, con(heapAt)...)).
		Exports(exports...).
		Code(mallocBody(), takeBody(), giveBody(), echoBody(), textBody(), boxBody(), reserveBody()).
		// magic, version, state, and where the input goes, with room up to the heap
		Data(wasmtest.Segment(boxAt, words(0x72696577, 1, 0, inputAt, heapAt-inputAt))).
		Bytes()
}

func words(n ...uint32) []byte {
	var b []byte
	for _, w := range n {
		b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	return b
}

// field returns a field of the mailbox: the address operand of loads and stores,
// and the offset after it.
func field(op byte, offset uint32) []byte {
	return wasmtest.Cat([]byte{op, 2}, wasmtest.U32(boxAt+offset))
}

// locals is so many i32.
func locals(n uint32) [][]byte { return [][]byte{wasmtest.Locals(n, wasmtest.I32)} }

// mallocBody: (n) → address. It grows the memory as it needs to and answers 0
// when that is refused.
func mallocBody() []byte {
	return wasmtest.BodyWith(locals(1), wasmtest.Cat(
		[]byte{globalGet, brk, get, 0}, con(15), []byte{i32Add}, con(-16), []byte{i32And, i32Add, set, 1}, // end = brk + round(n)
		[]byte{get, 1, 0x3f, 0}, con(16), []byte{i32Shl, i32GtU, wasmtest.If, wasmtest.Empty}, // if end > memory
		[]byte{get, 1, 0x3f, 0}, con(16), []byte{i32Shl, i32Sub}, con(65535), []byte{i32Add}, con(16), []byte{i32Shr, grow, 0},
		con(-1), []byte{i32Eq, wasmtest.If, wasmtest.Empty}, con(0), []byte{ret, end, end},
		[]byte{globalGet, brk, get, 1, globalSet, brk}, // the old one is the answer
	)...)
}

// each makes a loop over the eight-byte words of a text of the length in local
// n, and one over the bytes that are left; i counts.
func each(n, i byte, word, rest []byte) []byte {
	loop := func(step int32, body []byte) []byte {
		return wasmtest.Cat(
			[]byte{wasmtest.Block, wasmtest.Empty, wasmtest.Loop, wasmtest.Empty},
			[]byte{get, n, get, i}, con(step), []byte{i32Add, i32LtU, brIf, 1}, // until n < i + step
			body, []byte{get, i}, con(step), []byte{i32Add, set, i, wasmtest.Br, 0, end, end})
	}
	return wasmtest.Cat(loop(8, word), loop(1, rest))
}

// takeBody: () → the address of the input; its length goes to size.
func takeBody() []byte {
	const at, n, i = 0, 1, 2
	return wasmtest.BodyWith(locals(3), wasmtest.Cat(
		[]byte{globalGet, heap, globalSet, brk}, // what the call before has given out is free again
		con(0), field(i32Load, 8), con(1), []byte{i32Eq, wasmtest.If, wasmtest.Empty},
		con(0), field(i32Load, 20), []byte{globalSet, size}, con(0), field(i32Load, 12), []byte{ret, end},
		[]byte{call, inputLength, i32Wrap, localTee, n, globalSet, size, get, n, call, malloc, set, at},
		each(n, i,
			[]byte{get, at, get, i, i32Add, get, i, i64Extend, call, inputLoad64, i64Store, 0, 0},
			[]byte{get, at, get, i, i32Add, get, i, i64Extend, call, inputLoad8, i32Store8, 0, 0}),
		[]byte{get, at},
	)...)
}

// giveBody: (address, length) → 0, the answer.
func giveBody() []byte {
	const at, n, i, to = 0, 1, 2, 3
	return wasmtest.BodyWith([][]byte{wasmtest.Locals(1, wasmtest.I32), wasmtest.Locals(1, wasmtest.I64)}, wasmtest.Cat(
		con(0), field(i32Load, 8), con(1), []byte{i32Eq, wasmtest.If, wasmtest.Empty},
		con(0), []byte{get, at}, field(i32Store, 24), con(0), []byte{get, n}, field(i32Store, 28), con(0), con(2), field(i32Store, 8),
		con(0), []byte{ret, end},
		[]byte{get, n, i64Extend, call, alloc, set, to},
		each(n, i,
			[]byte{get, to, get, i, i64Extend, 0x7c, get, at, get, i, i32Add, i64Load, 0, 0, call, store64},
			[]byte{get, to, get, i, i64Extend, 0x7c, get, at, get, i, i32Add, i32Load8, 0, 0, call, store8}),
		[]byte{get, to, get, n, i64Extend, call, outputSet}, con(0),
	)...)
}

// echoBody: () → code. The answer is a copy of the input.
func echoBody() []byte {
	const at, to = 0, 1
	return wasmtest.BodyWith(locals(2),
		call, take, set, at, globalGet, size, call, malloc, localTee, to, get, at, globalGet, size, 0xfc, 10, 0, 0, // memory.copy
		get, to, globalGet, size, call, give)
}

// textBody: () → code. The answer is as long as the input says, in decimal.
func textBody() []byte {
	const at, n, to = 0, 1, 2
	return wasmtest.BodyWith(locals(3), wasmtest.Cat(
		[]byte{call, take, set, at},
		[]byte{wasmtest.Loop, wasmtest.Empty, globalGet, size, wasmtest.If, wasmtest.Empty},
		[]byte{get, n}, con(10), []byte{i32Mul, get, at, i32Load8, 0, 0, i32Add}, con('0'), []byte{i32Sub, set, n},
		[]byte{get, at}, con(1), []byte{i32Add, set, at, globalGet, size}, con(1), []byte{i32Sub, globalSet, size, wasmtest.Br, 1, end, end},
		[]byte{get, n, call, malloc, localTee, to}, con('x'), []byte{get, n, 0xfc, 11, 0}, // memory.fill
		[]byte{get, to, get, n, call, give},
	)...)
}

// boxBody: () → the mailbox's address.
func boxBody() []byte { return wasmtest.Body(con(boxAt)...) }

// reserveBody: (n) → 1 when the input has room for n bytes.
func reserveBody() []byte {
	const n, at = 0, 1
	return wasmtest.BodyWith(locals(1), wasmtest.Cat(
		[]byte{globalGet, heap, globalSet, brk, get, n, call, malloc, localTee, at, i32Eqz, wasmtest.If, wasmtest.Empty}, con(0), []byte{ret, end},
		con(0), []byte{get, at}, field(i32Store, 12), con(0), []byte{get, n}, field(i32Store, 16),
		[]byte{globalGet, brk, globalSet, heap}, con(1),
	)...)
}
