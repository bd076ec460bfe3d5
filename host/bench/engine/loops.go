package main

import "github.com/weirhost/weir/host/internal/wasmtest"

// A loop is a guest that does nothing but compute: what a check in each turn
// costs shows nowhere more. Each exports run, which answers 0.
type loop struct {
	name string
	wasm []byte
	most float64 // times the unchecked time
}

func loops() []loop {
	return []loop{
		{"tight loop", loopModule(locals(1), tight(30_000_000)), 1.15},
		{"primes", loopModule(locals(3), primes(60_000)), 1.15},
		{"memory loop", loopModule(locals(2), memory(300)), 1.15},
		{"recursion", recursion(27), 1.5},
	}
}

func loopModule(groups [][]byte, code []byte) []byte {
	return wasmtest.New().Types(wasmtest.Func(nil, []byte{wasmtest.I32})).Functions(0).
		Memories(wasmtest.Limits(1, 1)).Exports(wasmtest.ExportFunc("run", 0)).
		Code(wasmtest.BodyWith(groups, wasmtest.Cat(code, con(0))...)).Bytes()
}

// tight counts down from n.
func tight(n int32) []byte {
	return wasmtest.Cat(con(n), []byte{set, 0, wasmtest.Loop, wasmtest.Empty, get, 0}, con(1), []byte{i32Sub, localTee, 0, brIf, 0, end})
}

// primes looks at all divisors of the numbers up to n, as far as their squares go.
func primes(n int32) []byte {
	const number, by, count = 0, 1, 2
	return wasmtest.Cat(
		con(2), []byte{set, number, wasmtest.Loop, wasmtest.Empty},
		con(2), []byte{set, by, wasmtest.Block, wasmtest.Empty, wasmtest.Loop, wasmtest.Empty},
		[]byte{get, number, get, by, get, by, i32Mul, i32LtU, wasmtest.If, wasmtest.Empty, get, count}, con(1), []byte{i32Add, set, count, wasmtest.Br, 2, end},
		[]byte{get, number, get, by, i32RemU, i32Eqz, brIf, 1, get, by}, con(1), []byte{i32Add, set, by, wasmtest.Br, 0, end, end},
		[]byte{get, number}, con(1), []byte{i32Add, localTee, number}, con(n), []byte{i32LtU, brIf, 0, end},
	)
}

// memory adds a number to each word of a page of memory, n times.
func memory(n int32) []byte {
	const at, turn = 0, 1
	return wasmtest.Cat(
		[]byte{wasmtest.Loop, wasmtest.Empty}, con(0), []byte{set, at, wasmtest.Loop, wasmtest.Empty},
		[]byte{get, at, get, at, i32Load, 2, 0, get, turn, i32Add, i32Store, 2, 0},
		[]byte{get, at}, con(4), []byte{i32Add, localTee, at}, con(1<<16), []byte{i32LtU, brIf, 0, end},
		[]byte{get, turn}, con(1), []byte{i32Add, localTee, turn}, con(n), []byte{i32LtU, brIf, 0, end},
	)
}

// recursion is the slow way to the n-th Fibonacci number.
func recursion(n int32) []byte {
	fib := wasmtest.Body(wasmtest.Cat(
		[]byte{get, 0}, con(2), []byte{i32LtS, wasmtest.If, wasmtest.I32, get, 0, wasmtest.Else},
		[]byte{get, 0}, con(1), []byte{i32Sub, call, 1, get, 0}, con(2), []byte{i32Sub, call, 1, i32Add, end})...)
	return wasmtest.New().Types(wasmtest.Func(nil, []byte{wasmtest.I32}), wasmtest.Func([]byte{wasmtest.I32}, []byte{wasmtest.I32})).
		Functions(0, 1).Exports(wasmtest.ExportFunc("run", 0)).
		Code(wasmtest.Body(wasmtest.Cat(con(n), []byte{call, 1, wasmtest.Drop}, con(0))...), fib).Bytes()
}
