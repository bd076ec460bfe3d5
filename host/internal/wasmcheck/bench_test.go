package wasmcheck

import (
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
)

// BenchmarkCheck reads a guest as people write them in Go.
func BenchmarkCheck(b *testing.B) {
	wasm := read(b, filepath.Join(guesttest.Shipped(b, "grep_search"), "grep_search", "grep_search.wasm"))
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Check(wasm, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
