package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/weirhost/weir/host/internal/wasmtest"
)

// goGuest is the compiled testdata/guest, built once per run by the plain Go
// toolchain.
var goGuest []byte

// TestMain builds the guest. Compiling it for the engine takes seconds, and
// ten times that under the race detector, so all runs share one cache folder:
// WEIR_TEST_CACHE, or weir-test in the user's cache folder. Run the tests once
// without -race first and a run with it finds everything compiled.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "weir-guest-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	goGuest, err = buildGuest(dir, "./testdata/guest")
	if err != nil {
		panic(err)
	}
	m.Run()
}

func buildGuest(dir, source string) ([]byte, error) {
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, source)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s: %w\n%s", source, err, text)
	}
	return os.ReadFile(out)
}

func testCache() string {
	if dir := os.Getenv("WEIR_TEST_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "weir-test")
}

// newEngine makes an engine on the shared cache that ends with the test.
func newEngine(t testing.TB, c Config) *Engine {
	t.Helper()
	if c.CacheDir == "" {
		c.CacheDir = testCache()
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

// logBook collects what a guest logs.
type logBook struct {
	mu   sync.Mutex
	text []byte
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

func (b *logBook) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Output: b, Level: hclog.Trace, DisableTime: true})
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
