package instrument

import (
	"bytes"
	"context"
	"testing"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// TestCarried brings the state of an instance that has worked to a new one, which
// then goes on like it.
func TestCarried(t *testing.T) {
	ctx := context.Background()
	carried := 0
	for name, x := range zoo() {
		t.Run(name, func(t *testing.T) {
			result := rewritten(t, x.wasm, Options{Renew: true})
			if name == "globals of each type" || name == "a reference of the host's" {
				if result.Portable {
					t.Fatal("references and vectors cannot be carried")
				}
				return
			}
			if !result.Portable || len(x.calls) == 0 {
				return
			}
			r := interpreter(t)
			c := compile(t, r, result.Wasm)
			first, err := start(ctx, r, c)
			if err != nil {
				t.Fatal(err)
			}
			first.call(ctx, x.calls[0].name, x.calls[0].args...)
			if _, err := first.mod.ExportedFunction(SaveExport).Call(ctx); err != nil {
				t.Fatal(err)
			}
			second := &instance{}
			if second.mod, err = r.InstantiateModule(experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
				return &second.memory
			})), c, config()); err != nil {
				t.Fatal(err)
			}
			second.become(t, first, result.Globals)
			for _, do := range x.calls {
				a, b := first.call(ctx, do.name, do.args...), second.call(ctx, do.name, do.args...)
				if diff := a.diff(b); diff != "" {
					t.Fatalf("%v: %s", do, diff)
				}
			}
			carried++
		})
	}
	if carried < 10 {
		t.Errorf("only %d animals were carried", carried)
	}
}

// become brings an instance that has not started to where another one is.
func (i *instance) become(t *testing.T, other *instance, globals int) {
	t.Helper()
	ctx := context.Background()
	if m := i.mod.Memory(); m != nil && len(i.memory.bytes) < len(other.memory.bytes) {
		i.memory.image = make([]byte, len(other.memory.bytes))
		i.memory.bytes, i.memory.shrinking = bytes.Clone(other.memory.bytes), true
		if _, ok := m.Grow(1); !ok {
			t.Fatal("the memory does not take its size")
		}
		i.memory.shrinking = false
	}
	copy(i.memory.bytes, other.memory.bytes)
	if _, err := i.mod.ExportedFunction(SaveExport).Call(ctx); err != nil {
		t.Fatal(err)
	}
	for n := range globals {
		from := other.mod.ExportedGlobal(SavedGlobal(n))
		i.mod.ExportedGlobal(SavedGlobal(n)).(api.MutableGlobal).Set(from.Get())
	}
	if _, err := i.mod.ExportedFunction(RestoreExport).Call(ctx); err != nil {
		t.Fatal(err)
	}
}
