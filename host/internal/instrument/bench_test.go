package instrument

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/wasmcheck"
	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// work is a function as a C compiler makes it; it takes how much to do.
type work struct {
	code []byte
	n    uint64
}

const (
	get, set, tee                     = 0x20, 0x21, 0x22
	add, sub, mul, rem, and, lts, geu = 0x6a, 0x6b, 0x6c, 0x70, 0x71, 0x48, 0x4f
	load, load8, store, store8        = 0x28, 0x2d, 0x36, 0x3a
	xor64, shl64, shr64, wrap         = 0x85, 0x86, 0x88, 0xa7
)

// again ends a loop that runs as often as local 0 says.
func again() []byte { return []byte{get, 0, w.I32Const, 1, sub, tee, 0, w.BrIf, 0, w.End} }

// works are loops and a recursion. Locals 1 to 3 are i32, local 4 is i64.
func works() map[string]work {
	loop := func(parts ...[]byte) []byte {
		return w.Cat([]byte{w.Loop, w.Empty}, w.Cat(parts...), again())
	}
	within := func(mask int32) []byte { return w.Cat([]byte{w.I32Const}, w.S32(mask), []byte{and}) }
	return map[string]work{
		"sum": {w.Cat(loop([]byte{get, 2, get, 0, add, set, 2}), []byte{get, 2}), 2e6},
		"tight": {w.Cat(loop( // s = s*1664525 + n
			[]byte{get, 2, w.I32Const}, w.S32(1664525), []byte{mul, get, 0, add, set, 2}), []byte{get, 2}), 1e6},
		"xorshift": {w.Cat([]byte{w.I64Const, 7, set, 4}, loop([]byte{
			get, 4, get, 4, w.I64Const, 13, shl64, xor64, set, 4, get, 4, get, 4, w.I64Const, 7, shr64, xor64, set, 4,
			get, 4, get, 4, w.I64Const, 17, shl64, xor64, set, 4}), []byte{get, 4, wrap}), 700e3},
		"memory": {w.Cat(loop( // a[i] += n; i = (i+1) % 16384
			[]byte{get, 1, get, 1, load, 2, 0, get, 0, add, store, 2, 0, get, 1, w.I32Const, 4, add}, within(0xffff), []byte{set, 1}), []byte{get, 2}), 1e6},
		"bytes": {w.Cat(loop( // *d++ = *s++
			[]byte{get, 1, get, 1, load8, 0}, w.U32(1024), []byte{store8, 0, 0, get, 1, w.I32Const, 1, add}, within(0xffff), []byte{set, 1}), []byte{get, 2}), 1e6},
		"primes": {w.Cat([]byte{w.I32Const, 2, set, 1, w.Loop, w.Empty,
			w.Block, w.Empty, w.Block, w.Empty, w.I32Const, 2, set, 3,
			w.Loop, w.Empty, get, 3, get, 3, mul, get, 1, 0x4b, w.BrIf, 1, get, 1, get, 3, rem, 0x45, w.BrIf, 2, get, 3, w.I32Const, 1, add, set, 3, w.Br, 0, w.End,
			w.End, get, 2, w.I32Const, 1, add, set, 2, w.End,
			get, 1, w.I32Const, 1, add, tee, 1, get, 0, lts, w.BrIf, 0, w.End, get, 2}), 15e3},
		"recursion": {w.Cat([]byte{w.Block, w.Empty, get, 0, w.I32Const, 2, lts, w.BrIf, 0,
			get, 0, w.I32Const, 1, sub, w.Call, 0, get, 0, w.I32Const, 2, sub, w.Call, 0, add, w.Return, w.End, get, 0}), 22},
		"calls in a loop": {w.Cat(loop([]byte{get, 2, get, 0, w.Call, 1, set, 2}), []byte{get, 2}), 1e6},
		"short loops": {w.Cat(loop([]byte{w.I32Const, 20, set, 1, w.Loop, w.Empty,
			get, 2, get, 1, mul, get, 0, add, set, 2, get, 1, w.I32Const, 1, sub, tee, 1, w.BrIf, 0, w.End}), []byte{get, 2}), 40e3},
		"calls of short loops": {w.Cat(loop([]byte{get, 2, get, 0, w.Call, 2, set, 2}), []byte{get, 2}), 40e3},
	}
}

// guest is a module that exports a piece of work.
func (x work) guest() []byte {
	locals := [][]byte{w.Locals(3, w.I32), w.Locals(1, w.I64)}
	return w.New().Types(w.Func([]byte{w.I32}, []byte{w.I32}), w.Func([]byte{w.I32, w.I32}, []byte{w.I32})).Functions(0, 1, 1).Memories(w.Limits(2, -1)).
		Exports(w.ExportFunc("run", 0)).Code(w.BodyWith(locals, x.code...), w.Body(get, 0, get, 1, mul, get, 1, add),
		w.BodyWith([][]byte{w.Locals(1, w.I32)}, w.I32Const, 20, set, 2, w.Loop, w.Empty,
			get, 0, get, 2, mul, get, 1, add, set, 0, get, 2, w.I32Const, 1, sub, tee, 2, w.BrIf, 0, w.End, get, 0)).Bytes()
}

// BenchmarkChecks runs each piece of work with and without checks, in turn, and
// reports the best times' ratio.
func BenchmarkChecks(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(works())) {
		x := works()[name]
		b.Run(name, func(b *testing.B) {
			r := newRuntime(b)
			ratio(b, func(wasm []byte) func() {
				i, err := start(context.Background(), r, compile(b, r, wasm))
				if err != nil {
					b.Fatal(err)
				}
				run := i.mod.ExportedFunction("run")
				return func() {
					if _, err := run.Call(context.Background(), x.n); err != nil {
						b.Fatal(err)
					}
				}
			}, x.guest(), rewritten(b, x.guest(), Options{Stop: true}).Wasm)
		})
	}
}

// BenchmarkGo does the same with a guest made from Go, whose functions all have
// loops and call.
func BenchmarkGo(b *testing.B) {
	out := filepath.Join(b.TempDir(), "work.wasm")
	guesttest.Build(b, filepath.Join("testdata", "work"), out)
	wasm, err := os.ReadFile(out)
	if err != nil {
		b.Fatal(err)
	}
	r := newRuntime(b)
	(&desk{}).offer(b, r, compile(b, r, wasm))
	instances := map[string]*instance{}
	for _, module := range [][]byte{wasm, rewritten(b, wasm, Options{Stop: true}).Wasm} {
		if instances[string(module)], err = start(context.Background(), r, compile(b, r, module), "_initialize"); err != nil {
			b.Fatal(err)
		}
	}
	for name, n := range map[string]uint64{"primes": 8000, "sum": 300e3, "fib": 20, "words": 1500} {
		b.Run(name, func(b *testing.B) {
			ratio(b, func(module []byte) func() {
				run := instances[string(module)].mod.ExportedFunction(name)
				return func() {
					if _, err := run.Call(context.Background(), n); err != nil {
						b.Fatal(err)
					}
				}
			}, wasm, rewritten(b, wasm, Options{Stop: true}).Wasm)
		})
	}
}

func ratio(b *testing.B, prepare func(wasm []byte) func(), plain, checked []byte) {
	runs := [2]func(){prepare(plain), prepare(checked)}
	best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for b.Loop() {
		for i, run := range runs {
			at := time.Now()
			run()
			best[i] = min(best[i], time.Since(at))
		}
	}
	b.ReportMetric(float64(best[1])/float64(best[0]), "×unchecked")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRewrite rewrites a guest as people write them in Go.
func BenchmarkRewrite(b *testing.B) {
	wasm, err := os.ReadFile(filepath.Join(guesttest.Shipped(b, "grep_search"), "grep_search", "grep_search.wasm"))
	if err != nil {
		b.Fatal(err)
	}
	r, err := wasmcheck.Check(wasm, wasmcheck.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	var result Result
	for b.Loop() {
		if result, err = Rewrite(r, Options{Stop: true, Renew: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(result.Wasm))/float64(len(wasm)), "×size")
}

// BenchmarkRewriteWorst rewrites single functions of a stranger, of two sizes: in a
// process that cannot be killed, the time for a byte must be that of both.
func BenchmarkRewriteWorst(b *testing.B) {
	call := []byte{w.Call, 0}
	nested := func(open []byte, depth int, inside []byte, n int) []byte {
		return w.Cat(bytes.Repeat(open, depth), bytes.Repeat(inside, n/len(inside)), bytes.Repeat([]byte{w.End}, depth))
	}
	block, loop := []byte{w.Block, w.Empty}, []byte{w.Loop, w.Empty}
	turning := w.Cat(loop, []byte{get, 0, w.BrIf, 0, w.End})
	for name, body := range map[string]func(n int) []byte{
		"calls":                   func(n int) []byte { return bytes.Repeat(call, n/2) },
		"calls in nested blocks":  func(n int) []byte { return nested(block, 9990, call, n) },
		"calls in nested loops":   func(n int) []byte { return nested(loop, 990, call, n) },
		"loops in nested blocks":  func(n int) []byte { return nested(block, 9990, turning, n) },
		"blocks in nested blocks": func(n int) []byte { return nested(block, 9990, w.Cat(block, []byte{w.End}), n) },
		"branches out of loops": func(n int) []byte {
			return nested(w.Cat(loop, []byte{get, 0, w.BrIf, 0}), 990, w.Cat([]byte{get, 0, w.BrIf}, w.U32(989)), n)
		},
		"short loops": func(n int) []byte { return bytes.Repeat(turning, n/len(turning)) },
	} {
		for _, size := range []int{1 << 20, 7 << 20} {
			b.Run(fmt.Sprintf("%s/%dMB", name, size>>20), func(b *testing.B) {
				wasm := w.New().Types(w.Func([]byte{w.I32}, nil), w.Func(nil, nil)).Functions(1, 0).Memories(w.Limits(1, -1)).Exports(w.ExportFunc("run", 1)).
					Code(w.Body(), w.Body(body(size)...)).Bytes()
				r, err := wasmcheck.Check(wasm, wasmcheck.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					_, err = Rewrite(r, Options{Stop: true, Renew: true}) // or a refusal, for its growth
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(wasm)), "ns/B")
			})
		}
	}
}
