//go:build wasip1

// The guest as strangers write it: Extism's own kit, and a host that is nobody
// in particular.
package main

import (
	"bytes"
	"strconv"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmexport echo
func echo() int32 {
	pdk.Output(append([]byte(nil), pdk.Input()...))
	return 0
}

//go:wasmexport text
func text() int32 {
	n, err := strconv.Atoi(string(pdk.Input()))
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.Output(bytes.Repeat([]byte("x"), n))
	return 0
}
