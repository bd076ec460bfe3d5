//go:build wasip1

// Command direct is a guest with a mailbox: it exchanges input and answer in its own
// memory if the host has the direct ABI, else through Extism's functions.
package main

import (
	"bytes"
	"strconv"
	"unsafe"

	"github.com/extism/go-pdk"
)

// mailbox is laid out as docs/abi.md says.
type mailbox struct {
	magic, version, state uint32
	inPtr, inCap, inLen   uint32
	outPtr, outLen        uint32
	errPtr, errLen        uint32
	maxChars, maxLines    uint32
}

var (
	box = mailbox{magic: 0x72696577, version: 1}
	in  []byte
	out []byte
)

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

//go:wasmexport weir_mailbox
func weirMailbox() uint32 {
	weirReserve(4096)
	return uint32(uintptr(unsafe.Pointer(&box)))
}

//go:wasmexport weir_reserve
func weirReserve(n uint32) uint32 {
	in = make([]byte, n)
	box.inPtr, box.inCap = address(in), n
	return 1
}

func main() {}

func input() []byte {
	if box.state == 1 {
		return in[:box.inLen]
	}
	return pdk.Input()
}

func output(b []byte) int32 {
	if box.state == 1 {
		out = b
		box.outPtr, box.outLen, box.state = address(out), uint32(len(out)), 2
		return 0
	}
	pdk.Output(b)
	return 0
}

//go:wasmexport echo
func echo() int32 { return output(append([]byte(nil), input()...)) }

//go:wasmexport text
func text() int32 {
	n, err := strconv.Atoi(string(input()))
	if err != nil {
		return 1
	}
	return output(bytes.Repeat([]byte("x"), n))
}
