package sandbox

import (
	"fmt"
	"testing"

	"github.com/hashicorp/go-hclog"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// BenchmarkCall measures a call with its recycled or fresh instance: of the smallest
// guest and a Go guest, with Extism's functions and with a mailbox, on both engines.
func BenchmarkCall(b *testing.B) {
	boxed := guestShape{box: inBox(1 << 10), exports: map[string]part{"run": answers(field(boxInPtrAt), field(boxInLenAt))}}.bytes()
	for _, row := range []struct {
		name   string
		config Config
		wasm   []byte
		export string
	}{
		{"smallest", Config{}, echoModule(), "run"},
		{"mailbox", Config{}, boxed, "run"},
		{"go", Config{}, goGuest, "echo"},
		{"smallest/fresh", Config{Renewed: -1}, echoModule(), "run"},
		{"go/fresh", Config{Renewed: -1}, goGuest, "echo"},
		{"go/spares=2", Config{Renewed: -1, Spares: 2}, goGuest, "echo"},
		{"smallest/extism", Config{Engine: EngineExtism}, echoModule(), "run"},
		{"go/extism", Config{Engine: EngineExtism}, goGuest, "echo"},
	} {
		b.Run(row.name, func(b *testing.B) {
			m := load(b, newEngine(b, row.config), Plugin{Name: "bench", Wasm: row.wasm})
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

// BenchmarkOutput measures results of several sizes, through a mailbox.
func BenchmarkOutput(b *testing.B) {
	for _, n := range []int32{64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			body := do(num((n+0xffff)>>16), op(w.MemoryGrow, 0, w.Drop), num(1<<16), num('x'), num(n), op(0xfc, 11, 0), answers(num(1<<16), num(n)))
			m := load(b, newEngine(b, Config{}), Plugin{Name: "bench", Wasm: guestShape{box: inBox(1 << 10), exports: map[string]part{"run": body}}.bytes()})
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				if out, fail := m.Call(b.Context(), Invocation{Export: "run"}); fail != nil || len(out.Bytes) != int(n) {
					b.Fatal(fail)
				}
			}
		})
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

// BenchmarkKernel measures what Extism's kernel adds to loading a module whose code is
// in the cache.
func BenchmarkKernel(b *testing.B) {
	front := newWazeroFront(hclog.NewNullLogger(), true)
	s, err := parseModule(echoModule())
	if err != nil {
		b.Fatal(err)
	}
	with, err := front.plan(s)
	if err != nil {
		b.Fatal(err)
	}
	without := with
	without.kernelWasm = nil
	dir := b.TempDir()
	for _, row := range []struct {
		name string
		plan plan
	}{{"with", with}, {"without", without}} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				p, err := front.compile(b.Context(), row.plan, dir)
				if err != nil {
					b.Fatal(err)
				}
				if err := p.close(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
