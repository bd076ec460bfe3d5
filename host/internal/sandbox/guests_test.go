package sandbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
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

// asm assembles small modules by hand, section by section, so that tests can
// say what no compiler would produce.
type asm struct {
	sections []byte
}

func (a *asm) section(id byte, body ...byte) *asm {
	a.sections = append(a.sections, id)
	a.sections = binary.AppendUvarint(a.sections, uint64(len(body)))
	a.sections = append(a.sections, body...)
	return a
}

func (a *asm) bytes() []byte { return append([]byte("\x00asm\x01\x00\x00\x00"), a.sections...) }

func vec(items ...[]byte) []byte {
	out := binary.AppendUvarint(nil, uint64(len(items)))
	for _, i := range items {
		out = append(out, i...)
	}
	return out
}

func str(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }

func cat(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// imp is an imported function, exp an exported one, code a body without locals.
func imp(module, name string, typ byte) []byte {
	return cat(str(module), str(name), []byte{kindFunc, typ})
}
func exp(name string, index byte) []byte { return append(str(name), kindFunc, index) }
func code(ops ...byte) []byte {
	body := append([]byte{0}, append(ops, 0x0b)...)
	return cat(binary.AppendUvarint(nil, uint64(len(body))), body)
}

// Function types that the hand-made modules use: 0: () → i32, 1: () → i64,
// 2: (i64 i64) → (), 3: (i32) → (), 4: () → ().
func types() []byte {
	return vec([]byte{0x60, 0, 1, 0x7f}, []byte{0x60, 0, 1, 0x7e}, []byte{0x60, 2, 0x7e, 0x7e, 0}, []byte{0x60, 1, 0x7f, 0}, []byte{0x60, 0, 0})
}

// bareModule exports run with the given body and nothing else.
func bareModule(ops ...byte) []byte {
	return new(asm).section(sectionType, types()...).section(sectionFunction, vec([]byte{0})...).
		section(sectionExport, vec(exp("run", 0))...).section(10, vec(code(ops...))...).bytes()
}

// echoModule is about the smallest guest that answers: it sets its input as
// its output, without a memory of its own.
func echoModule() []byte {
	const env = "extism:host/env"
	return new(asm).section(sectionType, types()...).
		section(sectionImport, vec(imp(env, "input_offset", 1), imp(env, "input_length", 1), imp(env, "output_set", 2))...).
		section(sectionFunction, vec([]byte{0})...).
		section(sectionExport, vec(exp("run", 3))...).
		section(10, vec(code(0x10, 0, 0x10, 1, 0x10, 2, 0x41, 0))...).bytes()
}
