package instrument

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// endless are guests that would run for hours, each in its own way. Their
// export begins with a call of the import, which says that they run.
func endless() map[string][]byte {
	begin := []byte{w.Call, 0}
	one := func(code ...byte) []byte {
		return w.New().Types(w.Func(nil, nil), w.Func([]byte{w.I32}, nil)).Imports(w.ImportFunc("test", "running", 0)).Functions(0).
			Memories(w.Limits(1000, 1000)).Exports(w.ExportFunc("run", 1)).Code(w.Body(w.Cat(begin, code)...)).Bytes()
	}
	// Each function calls the next one four times.
	tree := func(depth uint32, leaf ...byte) []byte {
		var types []uint32
		var bodies [][]byte
		for i := range depth {
			types = append(types, 0)
			next := append([]byte{w.Call}, w.U32(i+2)...)
			code := w.Cat(next, next, next, next)
			if i == 0 {
				code = append(begin, code...)
			}
			bodies = append(bodies, w.Body(code...))
		}
		return w.New().Types(w.Func(nil, nil)).Imports(w.ImportFunc("test", "running", 0)).Functions(append(types, 0)...).Memories(w.Limits(1000, 1000)).
			Exports(w.ExportFunc("run", 1)).Code(append(bodies, w.Body(leaf...))...).Bytes()
	}
	fill := []byte{w.I32Const, 0, w.I32Const, 0, w.I32Const, 0x80, 0x80, 0x80, 31, 0xfc, 11, 0} // 62 MiB
	return map[string][]byte{
		"a tight loop":               one(w.Loop, w.Empty, w.Br, 0, w.End),
		"loops within each other":    one(w.Loop, w.Empty, w.Loop, w.Empty, w.I32Const, 1, w.BrIf, 0, w.End, w.Br, 0, w.End),
		"a loop that takes a number": one(w.I32Const, 0, w.Loop, 1, w.Br, 0, w.End),
		"a loop that calls":          one(w.Loop, w.Empty, w.Call, 0, w.Br, 0, w.End),
		"a tree of calls":            tree(40),
		"a straight line of bulk":    one(w.Repeat(1000, fill...)...),
		"a tree of calls, with bulk": tree(20, fill...),
	}
}

// TestStop sets weir:stop from another goroutine once the guest runs, and the
// guest ends, and works again after it is renewed. It delays no other guest.
func TestStop(t *testing.T) {
	ctx := context.Background()
	for name, wasm := range endless() {
		t.Run(name, func(t *testing.T) {
			r := newRuntime(t)
			running := make(chan struct{}, 1)
			_, err := r.NewHostModuleBuilder("test").NewFunctionBuilder().WithFunc(func() {
				select {
				case running <- struct{}{}:
				default:
				}
			}).Export("running").Instantiate(ctx)
			if err != nil {
				t.Fatal(err)
			}
			result := rewritten(t, wasm, Options{Stop: true, Renew: true})
			i, err := start(ctx, r, compile(t, r, result.Wasm))
			if err != nil {
				t.Fatal(err)
			}
			flag := i.mod.ExportedGlobal(StopGlobal).(api.MutableGlobal)
			for range 2 {
				done := make(chan struct{})
				go func() {
					<-running
					runtime.GC() // which needs every goroutine to stop, the guest's too
					flag.Set(1)
					close(done)
				}()
				e := i.call(ctx, "run")
				<-done
				if !strings.Contains(e.err, "unreachable") {
					t.Fatalf("got %v", e.err)
				}
				flag.Set(0)
				if err := i.renew(ctx); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
