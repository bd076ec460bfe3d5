package instrument

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// memory is a linear memory that can be put back to an image, as simple as can be.
type memory struct {
	bytes, image []byte
	shrinking    bool
}

func (m *memory) Reallocate(size uint64) []byte {
	switch {
	case m.shrinking:
		m.bytes = m.bytes[:len(m.image)]
	case size > 256<<20:
		return nil
	default:
		m.bytes = append(bytes.Clone(m.bytes), make([]byte, size-uint64(len(m.bytes)))...)
	}
	return m.bytes
}

func (m *memory) Free() {}

// rewritten sends a module through the gate and the rewriter.
func rewritten(t testing.TB, wasm []byte, o Options) Result {
	t.Helper()
	r, err := wasmcheck.Check(wasm, wasmcheck.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := Rewrite(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// newRuntime is an engine that compiles; the second, much slower to run and
// quicker to compile for, would do for most tests but those that stop.
func newRuntime(t testing.TB) wazero.Runtime {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig())
	t.Cleanup(func() { r.Close(ctx) })
	return r
}

func compile(t testing.TB, r wazero.Runtime, wasm []byte) wazero.CompiledModule {
	t.Helper()
	m, err := r.CompileModule(context.Background(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// instance is a running module, of the original or rewritten.
type instance struct {
	mod    api.Module
	memory memory
}

// start makes an instance and brings it to where calls begin.
func start(ctx context.Context, r wazero.Runtime, c wazero.CompiledModule, inits ...string) (*instance, error) {
	i := &instance{}
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		return &i.memory
	}))
	var err error
	if i.mod, err = r.InstantiateModule(ctx, c, config()); err != nil {
		return nil, err
	}
	for _, name := range append([]string{StartExport}, inits...) {
		if f := i.mod.ExportedFunction(name); f != nil {
			if _, err := f.Call(ctx); err != nil {
				i.mod.Close(ctx)
				return nil, err
			}
		}
	}
	if f := i.mod.ExportedFunction(SaveExport); f != nil {
		if _, err := f.Call(ctx); err != nil {
			return nil, err
		}
		i.memory.image = bytes.Clone(i.memory.bytes)
	}
	return i, nil
}

func config() wazero.ModuleConfig {
	return wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(zeros{}).
		WithWalltime(func() (int64, int32) { return 1_800_000_000, 0 }, 1).
		WithNanotime(func() int64 { return 1_000_000_000 }, 1).WithNanosleep(func(int64) {})
}

// zeros is randomness that is the same each time.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// renew puts a rewritten instance back.
func (i *instance) renew(ctx context.Context) error {
	i.memory.shrinking = true
	_, err := i.mod.ExportedFunction(RestoreExport).Call(ctx)
	i.memory.shrinking = false
	copy(i.memory.bytes, i.memory.image)
	return err
}

// end is all that can be seen of a call: what it returned or how it failed, and
// the state that it left.
type end struct {
	results []uint64
	err     string
	memory  []byte
	globals string
}

func (i *instance) call(ctx context.Context, name string, args ...uint64) end {
	results, err := i.mod.ExportedFunction(name).Call(ctx, args...)
	e := end{results: results, memory: bytes.Clone(i.memory.bytes)}
	if err != nil {
		e.err, _, _ = strings.Cut(err.Error(), "\nwasm stack trace")
	}
	for n := range 20 {
		if g := i.mod.ExportedGlobal(fmt.Sprint("g", n)); g != nil {
			e.globals += g.String() + " "
		}
	}
	return e
}

func (e end) diff(other end) string {
	switch {
	case fmt.Sprint(e.results) != fmt.Sprint(other.results):
		return fmt.Sprintf("results %v and %v", e.results, other.results)
	case e.err != other.err:
		return fmt.Sprintf("errors %q and %q", e.err, other.err)
	case e.globals != other.globals:
		return fmt.Sprintf("globals %s and %s", e.globals, other.globals)
	case len(e.memory) != len(other.memory):
		return fmt.Sprintf("%d and %d bytes of memory", len(e.memory), len(other.memory))
	case !bytes.Equal(e.memory, other.memory):
		return "other bytes in memory"
	}
	return ""
}
