package sandbox

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/weirhost/weir/host/internal/instrument"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// extismFront runs plugins with Extism's own Go SDK.
type extismFront struct {
	log     hclog.Logger
	checked bool // loops check their deadline
	wasi    func() []string
}

func newExtismFront(log hclog.Logger, checked bool) *extismFront {
	return &extismFront{log: log, checked: checked, wasi: sync.OnceValue(wasiFunctions)}
}

type extismProgram struct {
	log    hclog.Logger
	plugin *extism.CompiledPlugin
	cache  wazero.CompilationCache // nil: none
	init   []string
	stuck  atomic.Int32 // instances that failed to start
}

// maxStuck bounds how many instances may fail in their start section: the SDK frees
// such an instance only when the module is closed.
const maxStuck = 64

// rerouted are imports of "extism:host/env" that are linked to hostModule instead:
// HTTP must pass the egress policy; logging must not depend on a level of the whole
// process; and the SDK ignores a failed allocation, an output and an error text.
var rerouted = map[string]bool{
	"http_request": true, "http_status_code": true, "http_headers": true,
	"log_trace": true, "log_debug": true, "log_info": true, "log_warn": true, "log_error": true, "get_log_level": true,
	"alloc": true, "output_set": true, "error_set": true,
}

// plan implements frontend.
func (x *extismFront) plan(s *structure) (plan, error) {
	init := s.initializer()
	r, err := instrument.Rewrite(s.Report, instrument.Options{
		Import: func(i wasmcheck.Import) (module, name string) {
			if i.Module == envModule && rerouted[i.Name] {
				return hostModule, i.Name
			}
			return i.Module, i.Name
		},
		Export: func(e wasmcheck.Export) string {
			switch {
			case init == "" || e.Kind != wasmcheck.KindFunc:
			case e.Name == init:
				return initExport
			case e.Name == "__wasm_call_ctors":
				return "weir:ctors" // the other initializer does its work
			}
			return e.Name
		},
	})
	p := plan{wasm: r.Wasm}
	if init != "" {
		p.init = []string{initExport}
	}
	return p, err
}

// initializer returns the export that initializes a guest's runtime, or "". A module
// with a Haskell runtime is left to the SDK.
func (s *structure) initializer() string {
	if _, ok := s.function(haskellInit); ok {
		return ""
	}
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		if sig, ok := s.function(name); ok && sig == (wasmcheck.Signature{}) {
			return name
		}
	}
	return ""
}

// mark implements frontend.
func (x *extismFront) mark() string { return EngineExtism }

// offers implements frontend.
func (x *extismFront) offers() map[string][]string { return offered(x.wasi()) }

// compile implements frontend.
func (x *extismFront) compile(ctx context.Context, pl plan, cacheDir string) (program, error) {
	p := &extismProgram{log: x.log, init: pl.init}
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(x.checked)
	if cacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, err
		}
		p.cache, config = cache, config.WithCompilationCache(cache)
	}
	err := guard(x.log, "compiling", func() (err error) {
		p.plugin, err = extism.NewCompiledPlugin(ctx, extism.Manifest{
			Wasm: []extism.Wasm{extism.WasmData{Data: pl.wasm, Name: "main"}},
			// No MaxPages: the meter caps each memory and notices when it does.
			// No AllowedHosts and AllowedPaths: both leak.
			Memory: &extism.ManifestMemory{MaxHttpResponseBytes: 0, MaxVarBytes: varBytes},
		}, extism.PluginConfig{RuntimeConfig: config, EnableWasi: true}, extismHostFunctions())
		return err
	})
	if err != nil {
		return nil, errors.Join(err, p.close(ctx))
	}
	return p, nil
}

// close implements program.
func (p *extismProgram) close(ctx context.Context) error {
	var errs []error
	if p.plugin != nil {
		errs = append(errs, guard(p.log, "closing", func() error { return p.plugin.Close(ctx) }))
	}
	if p.cache != nil {
		errs = append(errs, guard(p.log, "closing", func() error { return p.cache.Close(ctx) }))
	}
	return errors.Join(errs...)
}

// renewable implements program.
func (p *extismProgram) renewable() bool { return false }

// start implements program.
func (p *extismProgram) start(e *env) (instance, error) {
	if p.stuck.Load() >= maxStuck {
		return nil, msg.Errorf("it failed to start %d times; it is not started again until it is reloaded", maxStuck)
	}
	config := e.world()
	ictx := experimental.WithMemoryAllocator(context.WithValue(e.span.context(), envKey{}, e), e.memory)
	ictx = experimental.WithCloseNotifier(ictx, experimental.CloseNotifyFunc(func(_ context.Context, code uint32) { e.closed(code) }))
	i := &extismInstance{env: e, log: p.log}
	err := guard(p.log, "starting", func() (err error) {
		i.plugin, err = p.plugin.Instance(ictx, extism.PluginInstanceConfig{ModuleConfig: config})
		return err
	})
	if err != nil {
		p.stuck.Add(1)
		if _, exit := errors.AsType[*sys.ExitError](err); !exit {
			e.note(func() { e.exited = false }) // the engine closed it after a trap
		}
		return nil, err
	}
	i.plugin.Config = e.setup.config() // a map of its own: all instances share the SDK's
	for _, export := range p.init {
		if _, err := i.call(export, nil); err != nil {
			return nil, errors.Join(err, i.close())
		}
	}
	return i, nil
}

type extismInstance struct {
	env    *env
	log    hclog.Logger
	plugin *extism.Plugin
}

func (i *extismInstance) environment() *env { return i.env }

// extismHostFunctions returns the host functions for the SDK.
func extismHostFunctions() (out []extism.HostFunction) {
	for _, f := range hostFunctions() {
		h := extism.NewHostFunctionWithStack(f.name, extismCallback(f.call), f.params, f.results)
		h.SetNamespace(f.module)
		out = append(out, h)
	}
	return out
}

func extismCallback(f hostFunc) extism.HostFunctionStackCallback {
	return func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
		e, ok := ctx.Value(envKey{}).(*env)
		if !ok {
			panic(errOutside)
		}
		if err := f(&host{env: e, blocks: extismBlocks{ctx, p}}, stack); err != nil {
			panic(err) // the engine turns it into the call's error
		}
	}
}

// extismBlocks implements blocks with the SDK.
type extismBlocks struct {
	ctx    context.Context
	plugin *extism.CurrentPlugin
}

func (b extismBlocks) callKernel(f kernelFunc, stack []uint64) error {
	k, ok := b.ctx.Value(extism.PluginCtxKey("extism")).(api.Module)
	if !ok {
		return errOutside
	}
	return k.ExportedFunction(f.String()).CallWithStack(b.ctx, stack)
}

func (b extismBlocks) view(offset uint64, n int) ([]byte, bool) {
	if offset > math.MaxUint32 {
		return nil, false
	}
	return b.plugin.Memory().Read(uint32(offset), uint32(n))
}

// envKey is the context key of an instance's env.
type envKey struct{}

// call implements instance. The SDK does not check whether setting the input worked;
// it always does, because inputs are far smaller than the kernel's cap.
func (i *extismInstance) call(export string, input []byte) (r reply, err error) {
	ctx := i.env.span.context()
	err = guard(i.log, "running", func() (err error) {
		r.code, r.output, err = i.plugin.CallWithContext(context.WithValue(ctx, envKey{}, i.env), export, input)
		return err
	})
	if exit, ok := errors.AsType[*sys.ExitError](err); ok && ctx.Err() == nil {
		i.env.note(func() { i.env.exited, i.env.exitCode = true, exit.ExitCode() })
	}
	return r, err
}

// renew implements instance: the SDK has no such function.
func (i *extismInstance) renew() error { return errNotReusable }

// close implements instance. The call's context may have ended, so it uses another
// one.
func (i *extismInstance) close() error {
	i.env.note(func() { i.env.closing = true })
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return guard(i.log, "closing", func() error { return i.plugin.CloseWithContext(ctx) })
}
