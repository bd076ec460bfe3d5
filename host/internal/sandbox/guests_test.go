package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/wasmtest"
)

// goGuest is the compiled testdata/guest, built once per run by the plain Go
// toolchain.
var goGuest []byte

// TestMain builds the guest. Compiling it for the engine takes seconds, so all
// runs share one cache folder: WEIR_TEST_CACHE, or weir-test in the user's cache
// folder.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "weir-guest-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	wasm := filepath.Join(dir, "guest.wasm")
	if err = guesttest.BuildTo("testdata/guest", wasm); err != nil {
		panic(err)
	}
	if goGuest, err = os.ReadFile(wasm); err != nil {
		panic(err)
	}
	m.Run()
}

// newEngine makes an engine on the shared cache that ends with the test.
func newEngine(t testing.TB, c Config) *Engine {
	t.Helper()
	if c.CacheDir == "" {
		c.CacheDir = guesttest.Cache(t)
	}
	e, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// load loads a plugin that is expected to be fine.
func load(t testing.TB, e *Engine, p Plugin) *Module {
	t.Helper()
	m, err := e.Load(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// guest loads the Go guest with what most tests need.
func guest(t testing.TB) *Module {
	t.Helper()
	return load(t, newEngine(t, Config{}), Plugin{Name: "guest", Wasm: goGuest})
}

// imp is an imported function, exp an exported one, code a body without locals.
func imp(module, name string, typ byte) []byte {
	return wasmtest.ImportFunc(module, name, uint32(typ))
}
func exp(name string, index byte) []byte { return wasmtest.ExportFunc(name, uint32(index)) }
func code(ops ...byte) []byte            { return wasmtest.Body(ops...) }

// Function types that the hand-made modules use: 0: () → i32, 1: () → i64,
// 2: (i64 i64) → (), 3: (i32) → (), 4: () → ().
func types() []byte {
	return wasmtest.Vec([]byte{0x60, 0, 1, 0x7f}, []byte{0x60, 0, 1, 0x7e}, []byte{0x60, 2, 0x7e, 0x7e, 0}, []byte{0x60, 1, 0x7f, 0}, []byte{0x60, 0, 0})
}

// bareModule exports run with the given body and nothing else.
func bareModule(ops ...byte) []byte {
	return wasmtest.New().Section(wasmtest.SectionType, types()...).Section(wasmtest.SectionFunction, wasmtest.Vec([]byte{0})...).
		Section(wasmtest.SectionExport, wasmtest.Vec(exp("run", 0))...).Section(wasmtest.SectionCode, wasmtest.Vec(code(ops...))...).Bytes()
}

// echoModule is about the smallest guest that answers: it sets its input as
// its output, without a memory of its own.
func echoModule() []byte { return wasmtest.Echo("run") }
