package rewrite

import (
	"context"
	"testing"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// counting is a module whose export counts its calls in a global and in memory,
// and grows its memory.
func counting() []byte {
	const globalGet, globalSet, add, load, store = 0x23, 0x24, 0x6a, 0x28, 0x36
	return w.New().Types(w.Func(nil, []byte{w.I32, w.I32, w.I32})).Functions(0).Memories(w.Limits(1, 3)).
		Globals(w.Global(w.I32, true, w.I32Const, 7)).Exports(w.ExportFunc("run", 0), w.Export("g0", w.KindGlobal, 0)).
		Code(w.Body(
			globalGet, 0, w.I32Const, 1, add, globalSet, 0,
			w.I32Const, 0, w.I32Const, 0, load, 2, 0, w.I32Const, 1, add, store, 2, 0,
			globalGet, 0, w.I32Const, 0, load, 2, 0, w.I32Const, 1, w.MemoryGrow, 0)).Bytes()
}

// TestRenewed calls one instance many times, and each call begins where the
// first did.
func TestRenewed(t *testing.T) {
	ctx := context.Background()
	r := newRuntime(t)
	result := rewritten(t, counting(), Options{Stop: true, Renew: true})
	if !result.Renewable || result.Globals != 1 || len(result.Obstacles) != 0 {
		t.Fatalf("got %+v", result)
	}
	original, err := start(ctx, r, compile(t, r, counting()))
	if err != nil {
		t.Fatal(err)
	}
	want := original.call(ctx, "run")
	i, err := start(ctx, r, compile(t, r, result.Wasm))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if d := i.call(ctx, "run").diff(want); d != "" {
			t.Fatal(d)
		}
		if err := i.renew(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
