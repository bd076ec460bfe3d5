package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/weirhost/weir/host/internal/instrument"
	"github.com/weirhost/weir/host/internal/sandbox/kernel"
	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// wazeroFront runs plugins on the engine itself, without Extism's SDK. Extism's ABI is
// its kernel, with one instance for each guest instance, linked as one module to
// another, and host functions for the rest.
type wazeroFront struct {
	log     hclog.Logger
	checked bool // guests check their deadline
	wasi    func() []string
	kernel  func() ([]byte, error)
}

func newWazeroFront(log hclog.Logger, checked bool) *wazeroFront {
	return &wazeroFront{
		log: log, checked: checked, wasi: sync.OnceValue(wasiFunctions),
		kernel: sync.OnceValues(func() ([]byte, error) { return rewrittenKernel(checked) }),
	}
}

// kernelModule is the import module of functions that the kernel implements.
const kernelModule = "weir:kernel"

// kernelFunctions are the Extism functions that the kernel implements without the
// host.
var kernelFunctions = []string{
	"free", "length", "length_unsafe", "load_u8", "load_u64", "store_u8", "store_u64", "memory_bytes", "reset",
	"input_set", "input_offset", "input_length", "input_load_u8", "input_load_u64", "output_offset", "output_length", "error_get",
}

// offers implements frontend.
func (x *wazeroFront) offers() map[string][]string { return offered(x.wasi()) }

// mark implements frontend. The rewritten kernel is part of it: a change of the
// rewriting changes the kernel too.
func (x *wazeroFront) mark() string {
	wasm, err := x.kernel()
	if err != nil {
		return EngineWazero
	}
	sum := sha256.Sum256(wasm)
	return EngineWazero + "-" + hex.EncodeToString(sum[:8])
}

// plan implements frontend.
func (x *wazeroFront) plan(s *structure) (plan, error) {
	p := plan{init: s.initialisers()}
	if s.usesBlocks() {
		p.kernelWasm = kernel.Wasm()
	}
	names := func(i wasmcheck.Import) (string, string) { return route(i), i.Name }
	r, err := instrument.Rewrite(s.Report, instrument.Options{Stop: x.checked, Renew: true, Stdio: true, Import: names})
	if err == nil && p.kernelWasm != nil {
		p.kernelWasm, err = x.kernel()
	}
	if err != nil { // slower: the engine checks the deadline instead of the code
		x.log.Debug("a module is run as it is", "reason", err)
		r, err = instrument.Rewrite(s.Report, instrument.Options{Import: names})
		p.wasm, p.watched = r.Wasm, x.checked
		return p, err
	}
	if r.Start {
		p.init = append([]string{instrument.StartExport}, p.init...)
	}
	p.wasm, p.canRenew, p.portable, p.globals = r.Wasm, r.Renewable, r.Portable, r.Globals
	p.usesStdio = slices.ContainsFunc(s.Imports, func(i wasmcheck.Import) bool {
		return i.Module == wasi_snapshot_preview1.ModuleName && strings.HasPrefix(i.Name, "fd_")
	})
	if !r.Renewable {
		x.log.Debug("a module gets a new instance for each call", "reasons", r.Obstacles)
	}
	return p, nil
}

// route returns the module that an import is linked to.
func route(i wasmcheck.Import) string {
	switch {
	case i.Module != envModule:
		return i.Module
	case slices.Contains(kernelFunctions, i.Name):
		return kernelModule
	}
	return hostModule
}

// rewrittenKernel returns the kernel with loop checks: a guest can make it loop
// without end.
func rewrittenKernel(checked bool) ([]byte, error) {
	s, err := parseModule(kernel.Wasm())
	if err != nil {
		return nil, err
	}
	r, err := instrument.Rewrite(s.Report, instrument.Options{Stop: checked, Renew: true, Used: true})
	if err == nil && !r.Renewable {
		err = fmt.Errorf("the kernel cannot be renewed: %v", r.Obstacles)
	}
	return r.Wasm, err
}

// usesBlocks reports whether the module imports anything that needs the kernel.
func (s *structure) usesBlocks() bool {
	return slices.ContainsFunc(s.Imports, func(i wasmcheck.Import) bool { return i.Module == envModule || i.Module == userModule })
}

// initialisers returns the exports that initialize the guest's runtime, in order.
func (s *structure) initialisers() []string {
	var out []string
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		if sig, ok := s.function(name); ok && sig.Params == 0 {
			out = append(out, name)
			break // the first one includes the other
		}
	}
	if _, ok := s.function(haskellInit); !ok {
		return out
	}
	out = slices.DeleteFunc(out, func(name string) bool { return name != "_initialize" })
	return append(out, haskellInit)
}

// haskellInit initializes Haskell's runtime; its parameters are those of main.
const haskellInit = "hs_init"

// wazeroProgram is a compiled module and its kernel, in an engine of their own, which
// is closed with them.
type wazeroProgram struct {
	log     hclog.Logger
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil: none
	kernel  wazero.CompiledModule   // nil: the guest uses no blocks
	main    wazero.CompiledModule
	stdio   api.Module // replaces WASI's descriptor functions where they must not change anything; nil: not needed

	plan
	shared snapshots
}

// renewable implements program.
func (p *wazeroProgram) renewable() bool { return p.canRenew }

// compile implements frontend.
func (x *wazeroFront) compile(ctx context.Context, pl plan, cacheDir string) (program, error) {
	p := &wazeroProgram{log: x.log, plan: pl}
	p.wasm, p.kernelWasm = nil, nil // not needed after this
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(pl.watched)
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
	if pl.usesStdio {
		if err := p.provideStdio(ctx); err != nil {
			return err
		}
	}
	if pl.kernelWasm != nil {
		if p.kernel, err = p.runtime.CompileModule(ctx, pl.kernelWasm); err != nil {
			return err
		}
	}
	p.main, err = p.runtime.CompileModule(ctx, pl.wasm)
	return err
}

// provide instantiates the modules of host functions.
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

// provideStdio instantiates both modules that change WASI's descriptors: the real one,
// under its own name, and one that changes nothing.
func (p *wazeroProgram) provideStdio(ctx context.Context) error {
	b := p.runtime.NewHostModuleBuilder(instrument.StdioModule)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	if _, err := b.Instantiate(ctx); err != nil {
		return err
	}
	m, err := p.runtime.CompileModule(ctx, instrument.Stdio())
	if err != nil {
		return err
	}
	p.stdio, err = p.runtime.InstantiateModule(ctx, m, wazero.NewModuleConfig().WithName(""))
	return err
}

func wazeroCallback(f hostFunc) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		i := insideOf(ctx)
		if i == nil {
			panic(errOutside)
		}
		i.env.touched = i.env.touched || !i.env.bound
		if err := f(&i.host, stack); err != nil {
			panic(err) // the engine returns it as the call's error
		}
		if i.stop.up.Load() { // the guest's fuel does not include this time
			panic(errOver)
		}
	}
}

// close implements program.
func (p *wazeroProgram) close(ctx context.Context) error {
	errs := []error{p.shared.close()}
	if p.runtime != nil {
		errs = append(errs, guard(p.log, "closing", func() error { return p.runtime.Close(ctx) }))
	}
	if p.cache != nil {
		errs = append(errs, guard(p.log, "closing", func() error { return p.cache.Close(ctx) }))
	}
	return errors.Join(errs...)
}
