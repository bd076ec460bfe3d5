package instrument

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero/api"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// TestUsed calls the exports of a module, one of which fails at once and one of
// which begins with a loop, and some of what is not the module's own.
func TestUsed(t *testing.T) {
	ctx := context.Background()
	wasm := w.New().Types(w.Func([]byte{w.I32}, []byte{w.I32}), w.Func(nil, nil)).Functions(0, 1, 0, 0).Memories(w.Limits(1, 3)).
		Globals(w.Global(w.I32, true, w.I32Const, 7)).
		Exports(w.ExportFunc("grow", 0), w.ExportFunc("fail", 1), w.ExportFunc("loop", 2), w.Export("g0", w.KindGlobal, 0), w.Export("memory", w.KindMemory, 0)).
		Code(w.Body(get, 0, w.MemoryGrow, 0), w.Body(w.Unreachable),
			w.Body(w.Loop, w.Empty, get, 0, w.I32Const, 1, sub, tee, 0, w.I32Const, 0, 0x4a, w.BrIf, 0, w.End, get, 0, w.Call, 3),
			w.Body(get, 0, w.I32Const, 2, add)).Bytes()
	for _, o := range []Options{{Used: true}, {Renew: true, Used: true}, {Stop: true, Renew: true, Used: true}} {
		result := rewritten(t, wasm, o)
		r := newRuntime(t)
		i, err := start(ctx, r, compile(t, r, result.Wasm))
		if err != nil {
			t.Fatal(err)
		}
		used := i.mod.ExportedGlobal(UsedGlobal).(api.MutableGlobal)
		if o.Renew {
			if err := i.renew(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if used.Get() != 0 {
			t.Fatalf("%+v: nobody has called it and it is used", o)
		}
		for _, c := range []call{{"grow", []uint64{0}}, {"fail", nil}, {"loop", []uint64{5}}} {
			e := i.call(ctx, c.name, c.args...)
			if (e.err != "") != (c.name == "fail") || c.name == "loop" && e.results[0] != 2 {
				t.Errorf("%+v: %s came to %+v", o, c.name, e)
			}
			if used.Get() != 1 {
				t.Errorf("%+v: %s was called and it is not used", o, c.name)
			}
			used.Set(0)
		}
	}
}
