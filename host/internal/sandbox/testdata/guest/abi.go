//go:build wasip1

package main

import "unsafe"

// The few functions of the Extism ABI that the guest needs, by hand: the tests
// then show the ABI itself and not what some kit makes of it.

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoadU8(i uint64) uint32

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env length
func length(p uint64) uint64

//go:wasmimport extism:host/env load_u8
func loadU8(p uint64) uint32

//go:wasmimport extism:host/env store_u8
func storeU8(p uint64, b uint32)

//go:wasmimport extism:host/env store_u64
func storeU64(p, v uint64)

//go:wasmimport extism:host/env output_set
func outputSet(p, n uint64)

//go:wasmimport extism:host/env error_set
func errorSet(p uint64)

//go:wasmimport extism:host/env config_get
func configGet(p uint64) uint64

//go:wasmimport extism:host/env var_get
func varGet(p uint64) uint64

//go:wasmimport extism:host/env var_set
func varSet(k, v uint64)

//go:wasmimport extism:host/env http_request
func httpRequest(meta, body uint64) uint64

//go:wasmimport extism:host/env http_status_code
func httpStatusCode() int32

//go:wasmimport extism:host/env http_headers
func httpHeaders() uint64

//go:wasmimport extism:host/env log_warn
func logWarn(p uint64)

//go:wasmimport extism:host/user weir_http
func weirHTTP(p uint64) uint64

//go:wasmimport extism:host/user weir_progress
func weirProgress(p uint64)

//go:wasmimport extism:host/user weir_log
func weirLog(level int32, p uint64)

func input() []byte {
	b := make([]byte, inputLength())
	for i := range b {
		b[i] = byte(inputLoadU8(uint64(i)))
	}
	return b
}

func block(b []byte) uint64 {
	p := alloc(uint64(len(b)))
	i := 0
	for ; i+8 <= len(b); i += 8 {
		storeU64(p+uint64(i), *(*uint64)(unsafe.Pointer(&b[i])))
	}
	for ; i < len(b); i++ {
		storeU8(p+uint64(i), uint32(b[i]))
	}
	return p
}

func load(p uint64) []byte {
	if p == 0 {
		return nil
	}
	b := make([]byte, length(p))
	for i := range b {
		b[i] = byte(loadU8(p + uint64(i)))
	}
	return b
}

func output(s string) int32 {
	outputSet(block([]byte(s)), uint64(len(s)))
	return 0
}

func fail(err error) int32 {
	errorSet(block([]byte(err.Error())))
	return 1
}
