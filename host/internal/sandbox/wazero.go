package sandbox

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/weirhost/weir/host/internal/gate"
	"github.com/weirhost/weir/host/internal/sandbox/kernel"
)

// wazeroFront runs plugins on the engine itself, without Extism's SDK. Extism's
// ABI is its kernel, one instance for each of the guest's, which is linked to the
// guest as one module to another, and host functions for the rest.
type wazeroFront struct {
	log     hclog.Logger
	checked bool // guests look at their deadline
	wasi    func() []string
}

func newWazeroFront(log hclog.Logger, checked bool) *wazeroFront {
	return &wazeroFront{log: log, checked: checked, wasi: sync.OnceValue(wasiFunctions)}
}

// kernelModule is what guests import from that the kernel answers itself.
const kernelModule = "weir:kernel"

// kernelFunctions are of Extism's functions those that go from guest to kernel
// without the host.
var kernelFunctions = []string{
	"free", "length", "length_unsafe", "load_u8", "load_u64", "store_u8", "store_u64", "memory_bytes", "reset",
	"input_set", "input_offset", "input_length", "input_load_u8", "input_load_u64", "output_offset", "output_length", "error_get",
}

// offers implements frontend.
func (x *wazeroFront) offers() map[string][]string { return offered(x.wasi()) }

// plan implements frontend.
func (x *wazeroFront) plan(s *structure) plan {
	wasm := s.renamed(names{imports: func(i gate.Import) string {
		switch {
		case i.Module != envModule:
			return i.Module
		case slices.Contains(kernelFunctions, i.Name):
			return kernelModule
		}
		return hostModule
	}})
	return plan{wasm: wasm, init: s.initialisers(), blocks: s.usesBlocks()}
}

// usesBlocks reports whether the module imports anything that needs the kernel.
func (s *structure) usesBlocks() bool {
	return slices.ContainsFunc(s.Imports, func(i gate.Import) bool { return i.Module == envModule || i.Module == userModule })
}

// initialisers are the exports that set the guest's runtime up, in their order.
func (s *structure) initialisers() []string {
	var out []string
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		if sig, ok := s.function(name); ok && sig.Params == 0 {
			out = append(out, name)
			break // the first includes the other
		}
	}
	if _, ok := s.function(haskellInit); !ok {
		return out
	}
	out = slices.DeleteFunc(out, func(name string) bool { return name != "_initialize" })
	return append(out, haskellInit)
}

// haskellInit starts Haskell's runtime; it takes the arguments of main.
const haskellInit = "hs_init"

// wazeroProgram is a module and the kernel, compiled, in an engine of their own:
// what is closed with it is gone.
type wazeroProgram struct {
	log     hclog.Logger
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil: none
	kernel  wazero.CompiledModule   // nil: the guest uses no blocks
	main    wazero.CompiledModule
	init    []string
	watched bool // the engine watches the context
}

// compile implements frontend.
func (x *wazeroFront) compile(ctx context.Context, pl plan, cacheDir string) (program, error) {
	p := &wazeroProgram{log: x.log, init: pl.init, watched: x.checked}
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(p.watched)
	if cacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, err
		}
		p.cache, config = cache, config.WithCompilationCache(cache)
	}
	err := guard(x.log, "compiling", func() error {
		p.runtime = wazero.NewRuntimeWithConfig(ctx, config)
		return p.compile(ctx, pl)
	})
	if err != nil {
		return nil, errors.Join(err, p.close(ctx))
	}
	return p, nil
}

func (p *wazeroProgram) compile(ctx context.Context, pl plan) (err error) {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, p.runtime); err != nil {
		return err
	}
	if err := p.provide(ctx); err != nil {
		return err
	}
	if pl.blocks {
		if p.kernel, err = p.runtime.CompileModule(ctx, kernel.Wasm()); err != nil {
			return err
		}
	}
	p.main, err = p.runtime.CompileModule(ctx, pl.wasm)
	return err
}

// provide makes the modules of host functions.
func (p *wazeroProgram) provide(ctx context.Context) error {
	builders := make(map[string]wazero.HostModuleBuilder)
	for _, f := range append(hostFunctions(), storeFunctions()...) {
		b, ok := builders[f.module]
		if !ok {
			b = p.runtime.NewHostModuleBuilder(f.module)
			builders[f.module] = b
		}
		b.NewFunctionBuilder().WithGoModuleFunction(wazeroCallback(f.call), f.params, f.results).Export(f.name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func wazeroCallback(f hostFunc) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		i := insideOf(ctx)
		if i == nil {
			panic(errOutside)
		}
		if err := f(&i.host, stack); err != nil {
			panic(err) // the engine turns it into the call's error
		}
	}
}

// close implements program.
func (p *wazeroProgram) close(ctx context.Context) error {
	var errs []error
	if p.runtime != nil {
		errs = append(errs, guard(p.log, "closing", func() error { return p.runtime.Close(ctx) }))
	}
	if p.cache != nil {
		errs = append(errs, guard(p.log, "closing", func() error { return p.cache.Close(ctx) }))
	}
	return errors.Join(errs...)
}
