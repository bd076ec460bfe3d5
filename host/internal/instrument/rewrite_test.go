package instrument

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero/api"

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

// TestOthersSetGlobals renews globals that no code of the module sets: who holds
// an exported one may set it, and the module's own code may take it for granted.
// One that is neither set nor exported cannot change and is left alone.
func TestOthersSetGlobals(t *testing.T) {
	ctx := context.Background()
	const globalGet = 0x23
	wasm := w.New().Types(w.Func(nil, []byte{w.I64})).Functions(0).
		Globals(w.Global(w.I64, true, w.I64Const, 5), w.Global(w.I32, true, w.I32Const, 6), w.Global(w.I64, true, w.I64Const, 7)).
		Exports(w.ExportFunc("run", 0), w.Export("open", w.KindGlobal, 0), w.Export("again", w.KindGlobal, 0), w.Export("other", w.KindGlobal, 1)).
		Code(w.Body(globalGet, 0)).Bytes()
	result := rewritten(t, wasm, Options{Renew: true})
	if !result.Renewable || result.Globals != 2 {
		t.Fatalf("got %+v", result)
	}
	r := interpreter(t)
	i, err := start(ctx, r, compile(t, r, result.Wasm))
	if err != nil {
		t.Fatal(err)
	}
	open, other := i.mod.ExportedGlobal("again").(api.MutableGlobal), i.mod.ExportedGlobal("other").(api.MutableGlobal)
	for range 3 {
		open.Set(50)
		other.Set(60)
		if e := i.call(ctx, "run"); len(e.results) != 1 || e.results[0] != 50 {
			t.Fatalf("the global was not set: %+v", e)
		}
		if err := i.renew(ctx); err != nil {
			t.Fatal(err)
		}
		if e := i.call(ctx, "run"); e.results[0] != 5 || other.Get() != 6 {
			t.Fatalf("the globals are %d and %d, want 5 and 6", e.results[0], other.Get())
		}
	}
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
