// Package kernel contains the kernel of Extism: a small WebAssembly module that manages
// the blocks of memory that carry data between a plugin and its host. The file is the
// one of Extism's Go SDK, byte for byte; its license is beside it.
package kernel

import _ "embed"

//go:embed extism-runtime.wasm
var wasm string

// Wasm is the module. The bytes are the caller's own.
func Wasm() []byte { return []byte(wasm) }
