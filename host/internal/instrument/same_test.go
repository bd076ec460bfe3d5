package instrument

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// interpreter runs small modules without compiling them first.
func interpreter(t testing.TB) wazero.Runtime {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { r.Close(ctx) })
	return r
}

// A call is an export and what it is given.
type call struct {
	name string
	args []uint64
}

// same calls new instances of a module and one renewed instance of the
// rewritten one, in the given order, and compares all that can be seen.
func same(t testing.TB, r wazero.Runtime, wasm []byte, inits []string, calls []call) {
	t.Helper()
	ctx := context.Background()
	result := rewritten(t, wasm, Options{Stop: true, Renew: true})
	if !result.Renewable {
		t.Fatalf("it cannot be renewed: %v", result.Obstacles)
	}
	original, changed := compile(t, r, wasm), compile(t, r, result.Wasm)
	defer original.Close(ctx)
	defer changed.Close(ctx)
	i, err := start(ctx, r, changed, inits...)
	if err != nil {
		if _, err2 := start(ctx, r, original, inits...); err2 == nil {
			t.Fatalf("only the rewritten module does not start: %v", err)
		}
		return
	}
	defer i.mod.Close(ctx)
	known := map[string]end{}
	for n, c := range calls {
		want, ok := known[fmt.Sprint(c)]
		if !ok {
			fresh, err := start(ctx, r, original, inits...)
			if err != nil {
				t.Fatalf("only the rewritten module starts: %v", err)
			}
			want = fresh.call(ctx, c.name, c.args...)
			known[fmt.Sprint(c)] = want
			fresh.mod.Close(ctx)
		}
		if d := i.call(ctx, c.name, c.args...).diff(want); d != "" {
			t.Fatalf("call %d, %v: %s", n, c, d)
		}
		if err := i.renew(ctx); err != nil {
			t.Fatalf("call %d, %v: %v", n, c, err)
		}
	}
}

// FuzzPrograms holds programs to the same answers whether they are rewritten or
// not, and to payments on all their ways.
func FuzzPrograms(f *testing.F) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		b := make([]byte, 200)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		f.Add(b)
	}
	r := interpreter(f)
	f.Fuzz(func(t *testing.T, choices []byte) {
		wasm := newProgram(choices)
		if _, err := wasmcheck.Check(wasm, wasmcheck.Limits{}); err != nil {
			t.Fatalf("the program is wrong: %v", err)
		}
		var calls []call
		for _, n := range []uint64{0, 1, 7, 0, 1 << 31, 7} {
			calls = append(calls, call{"run", []uint64{n, n / 2}})
		}
		same(t, r, wasm, nil, calls)
		pays(t, wasm)
	})
}
