package sandbox

import (
	"testing"
)

// BenchmarkFreshCall measures a call with its fresh instance: of the smallest
// guest and of a Go guest, without and with spares. With spares and one caller
// the time is what the background needs to make them, less what overlaps.
func BenchmarkFreshCall(b *testing.B) {
	for _, row := range []struct {
		name   string
		wasm   []byte
		export string
		spares int
	}{
		{"smallest", echoModule(), "run", 0},
		{"go", goGuest, "echo", 0},
		{"go/spares=2", goGuest, "echo", 2},
	} {
		b.Run(row.name, func(b *testing.B) {
			m := load(b, newEngine(b, Config{Spares: row.spares}), Plugin{Name: "bench", Wasm: row.wasm})
			input := make([]byte, 100)
			b.ReportAllocs()
			for b.Loop() {
				if _, fail := m.Call(b.Context(), Invocation{Export: row.export, Input: input}); fail != nil {
					b.Fatal(fail)
				}
			}
		})
	}
}

// BenchmarkOutput measures what passes through Extism's ABI.
func BenchmarkOutput(b *testing.B) {
	m := load(b, newEngine(b, Config{}), Plugin{Name: "bench", Wasm: goGuest})
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, fail := m.Call(b.Context(), Invocation{Export: "bigout", Input: []byte("1048576")}); fail != nil {
			b.Fatal(fail)
		}
	}
}

// BenchmarkLoad measures loading a Go guest whose code is in the cache.
func BenchmarkLoad(b *testing.B) {
	e := newEngine(b, Config{})
	for b.Loop() {
		m := load(b, e, Plugin{Name: "bench", Wasm: goGuest})
		if err := m.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
