//go:build linux

package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
)

// benchGuests returns the smallest guest, as from C, and a Go guest.
func benchGuests() map[string]sandbox.Plugin {
	return map[string]sandbox.Plugin{
		"tiny": {Name: "tiny", Wasm: wasmtest.Echo("echo"), Exports: []string{"echo"}},
		"go":   {Name: "go", Wasm: goGuest, Exports: []string{"echo"}},
	}
}

// BenchmarkEcho measures a call and its answer, inside this process with loop checks
// and in a worker without them, without spares and with one.
func BenchmarkEcho(b *testing.B) {
	for _, guest := range []string{"tiny", "go"} {
		for _, size := range []int{100, 64 << 10, 1 << 20} {
			for _, way := range []string{"inline", "worker", "worker+spare"} {
				b.Run(guest+"/"+strconv.Itoa(size)+"/"+way, func(b *testing.B) {
					var m caller
					pl := benchGuests()[guest]
					switch way {
					case "inline":
						m = inline(b, pl, nil)
					case "worker":
						m = load(b, newPool(b, nil), pl)
					default:
						m = load(b, newPool(b, func(c *Config) { c.Spares = 1 }), pl)
					}
					inv := sandbox.Invocation{Export: "echo", Input: []byte(strings.Repeat("x", size))}
					b.SetBytes(int64(size))
					for b.Loop() {
						if out, fail := m.Call(b.Context(), inv); fail != nil || len(out.Bytes) != size {
							b.Fatal(fail)
						}
					}
				})
			}
		}
	}
}

// BenchmarkWay measures the way to a worker and back, without a guest.
func BenchmarkWay(b *testing.B) {
	pl := benchGuests()["tiny"]
	load(b, newPool(b, nil), pl) // so that it is compiled
	m := load(b, newPool(b, func(c *Config) { c.Command = asRole("mirror") }), pl)
	for _, size := range []int{100, 64 << 10, 1 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			inv := sandbox.Invocation{Export: "echo", Input: []byte(strings.Repeat("x", size)), Grant: sandbox.Grant{Config: map[string]string{"weir.locale": "en"}}}
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				if out, fail := m.Call(b.Context(), inv); fail != nil || len(out.Bytes) != size {
					b.Fatal(fail)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "µs-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "µs-p99")
		})
	}
}

// tightLoop counts down from a hundred million.
func tightLoop() []byte {
	code := wasmtest.Cat([]byte{0x41}, wasmtest.S32(100_000_000), []byte{
		0x21, 0x00, // local = n
		0x03, 0x40, // loop
		0x20, 0x00, 0x41, 0x01, 0x6b, 0x22, 0x00, // local -= 1
		0x0d, 0x00, // again unless 0
		0x0b, 0x41, 0x00,
	})
	return wasmtest.New().Types(wasmtest.Func(nil, []byte{wasmtest.I32})).Functions(0).Exports(wasmtest.ExportFunc("run", 0)).
		Code(wasmtest.BodyWith([][]byte{wasmtest.Locals(1, wasmtest.I32)}, code...)).Bytes()
}

// BenchmarkTightLoop measures the cost of the loop check: a hundred million
// iterations.
func BenchmarkTightLoop(b *testing.B) {
	pl := sandbox.Plugin{Name: "loop", Wasm: tightLoop(), Exports: []string{"run"}}
	for way, m := range map[string]caller{"inline": inline(b, pl, nil), "worker": load(b, newPool(b, nil), pl)} {
		b.Run(way, func(b *testing.B) {
			for b.Loop() {
				if _, fail := m.Call(b.Context(), sandbox.Invocation{Export: "run", Timeout: time.Hour}); fail != nil {
					b.Fatal(fail)
				}
			}
		})
	}
}

// BenchmarkStart measures the start of a worker with its module's code in the cache,
// until it is ready, and its end.
func BenchmarkStart(b *testing.B) {
	for name, pl := range benchGuests() {
		b.Run(name, func(b *testing.B) {
			m := load(b, newPool(b, nil), pl)
			for b.Loop() {
				w, err := m.spawn(b.Context(), nil)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(resident(b, w)>>10), "KiB-resident")
				w.discard()
			}
		})
	}
}

// resident returns the private memory of a worker, in bytes.
func resident(b *testing.B, w *process) (n int64) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(w.cmd.Process.Pid), "smaps_rollup"))
	if err != nil {
		return 0 // for root only
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "Private_") {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			n += kib << 10
		}
	}
	return n
}

// BenchmarkCompile measures the first compile of a module in a child, with an empty
// cache each time.
func BenchmarkCompile(b *testing.B) {
	for name, pl := range benchGuests() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				dir, err := os.MkdirTemp(guesttest.Cache(b), "bench-")
				if err != nil {
					b.Fatal(err)
				}
				p := newPool(b, func(c *Config) { c.CacheDir = dir })
				load(b, p, pl)
				_ = os.RemoveAll(dir)
			}
		})
	}
}

// BenchmarkCallers measures calls of several concurrent callers, and the CPU time of
// this process and the workers per call. Busy callers do work of their own between
// calls, as a daemon does.
func BenchmarkCallers(b *testing.B) {
	p := newPool(b, nil)
	m := load(b, p, benchGuests()["go"])
	inv := sandbox.Invocation{Export: "echo", Input: []byte(strings.Repeat("x", 100))}
	for name, row := range map[string]struct {
		callers int
		work    time.Duration
	}{"1": {1, 0}, "4": {4, 0}, "4 busy": {4, 70 * time.Microsecond}} {
		round := func(n int64) {
			var left atomic.Int64
			left.Store(n)
			var all sync.WaitGroup
			for range row.callers {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						for end := time.Now().Add(row.work); time.Now().Before(end); {
							continue
						}
						if out, fail := m.Call(b.Context(), inv); fail != nil || len(out.Bytes) != 100 {
							b.Error(fail)
						}
					}
				})
			}
			all.Wait()
		}
		theirs := func() (sum time.Duration) {
			for _, pid := range childrenOf(os.Getpid()) {
				sum += cpuTimeOf(pid)
			}
			return sum
		}
		b.Run(name, func(b *testing.B) {
			round(200) // that start workers, and measure the duration of a call
			ours, before := cpuTimeOf(os.Getpid()), theirs()
			b.ResetTimer()
			round(int64(b.N))
			b.StopTimer()
			b.ReportMetric(float64((cpuTimeOf(os.Getpid())-ours).Nanoseconds())/1e3/float64(b.N), "µs-parent")
			b.ReportMetric(float64((theirs()-before).Nanoseconds())/1e3/float64(b.N), "µs-workers")
		})
	}
}
