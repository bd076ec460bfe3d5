//go:build wasip1

package main

import "fmt"

//go:wasmimport extism:host/env free
func free(p uint64)

//go:wasmimport extism:host/env length_unsafe
func lengthUnsafe(p uint64) uint64

//go:wasmimport extism:host/env load_u64
func loadU64(p uint64) uint64

//go:wasmimport extism:host/env memory_bytes
func memoryBytes() uint64

//go:wasmimport extism:host/env input_set
func inputSet(p, n uint64)

//go:wasmimport extism:host/env input_offset
func inputOffset() uint64

//go:wasmimport extism:host/env output_offset
func outputOffset() uint64

//go:wasmimport extism:host/env output_length
func outputLength() uint64

//go:wasmimport extism:host/env error_get
func errorGet() uint64

// blocks does as its input says with the kernel, three bytes for each step: what,
// with which block and how large, how far from its beginning. It answers with all
// that the kernel has said.
//
//go:wasmexport blocks
func blocks() int32 {
	program := input()
	sizes := [...]uint64{0, 1, 7, 8, 100, 200, 5000, 70_000, 2 << 20}
	var held [4]uint64
	var said []uint64
	for ; len(program) >= 3; program = program[3:] {
		p, n := &held[program[1]%4], sizes[int(program[1]/4)%len(sizes)]
		near := *p + uint64(int64(int8(program[2])))
		switch program[0] % 16 {
		case 0, 1:
			*p = alloc(n)
			said = append(said, *p)
		case 2:
			free(*p)
		case 3:
			free(near)
		case 4:
			said = append(said, length(*p))
		case 5:
			said = append(said, length(near))
		case 6:
			said = append(said, lengthUnsafe(near))
		case 7:
			said = append(said, uint64(loadU8(near)))
		case 8:
			storeU8(*p+5, 77)
		case 9:
			said = append(said, uint64(inputLoadU8(uint64(program[2]))), inputLength(), inputOffset())
		case 10:
			outputSet(*p, n)
			said = append(said, outputLength(), outputOffset())
		case 11:
			said = append(said, memoryBytes())
		case 12:
			inputSet(*p, n)
		case 13:
			said = append(said, errorGet())
		case 14:
			said = append(said, loadU64(*p+100), uint64(len(load(configGet(*p)))))
		case 15:
			varSet(*p, held[0])
			said = append(said, varGet(held[1]))
		}
	}
	return output(fmt.Sprint(said))
}
