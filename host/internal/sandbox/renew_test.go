package sandbox

import (
	"testing"

	"github.com/tetratelabs/wazero/api"

	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// An export that recurses deeply and one that does not are called: the instance keeps
// the stack of the second only. It also tests that the stack's size is found in this
// version of the engine.
func TestAGrownStackIsDropped(t *testing.T) {
	wasm := w.New().Types(w.Func([]byte{w.I32}, nil), w.Func(nil, []byte{w.I32})).Functions(0, 1, 1).
		Exports(w.ExportFunc("deep", 1), w.ExportFunc("flat", 2)).
		Code(
			w.Body(0x20, 0, 0x45, 0x0d, 0, 0x20, 0, w.I32Const, 1, 0x6b, 0x10, 0), // as deep as it is callState
			w.Body(w.Cat([]byte{w.I32Const}, w.S32(100_000), []byte{0x10, 0, w.I32Const, 0})...),
			w.Body(w.I32Const, 0)).Bytes()
	m := load(t, newEngine(t, Config{}), Plugin{Name: "deep", Wasm: wasm})
	for _, row := range []struct {
		export string
		keeps  int // handles
	}{{"deep", 0}, {"flat", 1}, {"deep", 1}, {"flat", 1}} {
		if _, fail := m.Call(t.Context(), Invocation{Export: row.export}); fail != nil {
			t.Fatal(fail)
		}
		s, ok := m.supply.(*recycledSupply)
		if !ok || len(s.ready) != 1 {
			t.Fatal("no instance waits")
		}
		if handles := s.ready[0].(*wazeroInstance).exports; len(handles) != row.keeps {
			t.Errorf("after %s: it keeps %d handles, want %d", row.export, len(handles), row.keeps)
		} else if row.keeps > 0 && (bytesOf(handles[0].stack) <= 0 || handles[0].name != "flat") {
			t.Errorf("after %s: it keeps %s with a stack of %d bytes", row.export, handles[0].name, bytesOf(handles[0].stack))
		}
	}
}

// Handles of engines that store their stacks elsewhere count as too large.
func TestAnUnknownStackCountsAsLarge(t *testing.T) {
	for name, f := range map[string]api.Function{
		"no such field": &struct{ api.Function }{},
		"another type": &struct {
			api.Function
			stack int
		}{},
		"no struct": odd{},
		"nothing":   nil,
	} {
		if n := bytesOf(stackOf(f)); n <= mostStack {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// odd is a handle that is no pointer.
type odd struct{ api.Function }
