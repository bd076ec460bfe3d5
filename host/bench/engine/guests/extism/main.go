//go:build wasip1

// Command extism is a guest as plugin authors write it for any host: with Extism's own
// kit.
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
