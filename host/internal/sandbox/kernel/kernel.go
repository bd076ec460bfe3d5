// Package kernel holds the kernel of Extism: a small WebAssembly module that
// keeps the blocks of memory through which a plugin and its host pass data. The
// file beside this one is the one that Extism's Go SDK carries, byte for byte, and
// its license stands beside it.
package kernel

import _ "embed"

//go:embed extism-runtime.wasm
var wasm string

// Wasm is the module. The bytes are the caller's own.
func Wasm() []byte { return []byte(wasm) }
