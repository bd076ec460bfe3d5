package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// extismFront runs plugins by Extism's own Go SDK.
type extismFront struct {
	log     hclog.Logger
	checked bool            // loops look at their deadline
	wasi    func() []string // names of the engine's WASI functions
}

func newExtismFront(log hclog.Logger, checked bool) *extismFront {
	return &extismFront{log: log, checked: checked, wasi: sync.OnceValue(wasiFunctions)}
}

// wasiFunctions asks the engine for its WASI functions.
func wasiFunctions() []string {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	m, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
	if err != nil {
		return nil
	}
	return slices.Collect(maps.Keys(m.ExportedFunctions()))
}

// extismFunctions are what Extism's ABI lets plugins import.
const extismFunctions = "alloc free length length_unsafe load_u8 load_u64 store_u8 store_u64 memory_bytes reset " +
	"input_set input_offset input_length input_load_u8 input_load_u64 output_set output_offset output_length " +
	"error_set error_get config_get var_get var_set http_request http_status_code http_headers " +
	"get_log_level log_trace log_debug log_info log_warn log_error"

// offers implements frontend.
func (x *extismFront) offers() map[string][]string {
	offers := map[string][]string{"wasi_snapshot_preview1": x.wasi(), "extism:host/env": strings.Fields(extismFunctions)}
	for _, f := range hostFunctions() {
		if f.Namespace != hostModule {
			offers[f.Namespace] = append(offers[f.Namespace], f.Name)
		}
	}
	return offers
}

type extismProgram struct {
	log     hclog.Logger
	plugin  *extism.CompiledPlugin
	cache   wazero.CompilationCache // nil: none
	hasInit bool
	stuck   atomic.Int32 // instances that failed to start
}

// maxStuck bounds what modules that fail in their start section can pile up:
// the SDK does not let go of such an instance before the module is closed.
const maxStuck = 64

// varBytes is what Extism variables of one call may hold together.
const varBytes = 1 << 20

// guard runs a piece of an engine. A panic in there is an error of the module
// at hand, not the end of the host.
func guard(log hclog.Logger, what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("the engine panicked", "while", what, "panic", p, "stack", string(debug.Stack()))
			err = errEngine
		}
	}()
	return f()
}

var errEngine = errors.New("the engine gave up on the module")

// compile implements frontend. cacheDir is empty for no disk cache.
func (x *extismFront) compile(ctx context.Context, s *structure, cacheDir string) (program, error) {
	wasm, hasInit := s.rewrite()
	p := &extismProgram{log: x.log, hasInit: hasInit}
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
			Wasm: []extism.Wasm{extism.WasmData{Data: wasm, Name: "main"}},
			// MaxPages stays open: the meter caps each memory and sees when it does.
			// AllowedHosts and AllowedPaths stay empty: both leak.
			Memory: &extism.ManifestMemory{MaxHttpResponseBytes: 0, MaxVarBytes: varBytes},
		}, extism.PluginConfig{RuntimeConfig: config, EnableWasi: true}, hostFunctions())
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

// start implements program.
func (p *extismProgram) start(ctx context.Context, e *env) (instance, error) {
	if p.stuck.Load() >= maxStuck {
		return nil, fmt.Errorf("it failed to start %d times; it is not tried again until it is reloaded", maxStuck)
	}
	fs := wazero.NewFSConfig()
	for _, v := range e.jail.Volumes() {
		fs = fs.(sysfs.FSConfig).WithSysFSMount(v.FS, v.Guest)
	}
	config := wazero.NewModuleConfig().WithFSConfig(fs).
		WithRandSource(rand.Reader).WithSysWalltime().WithSysNanotime().WithNanosleep(e.sleep).
		WithStdout(e.stdout).WithStderr(e.stderr)
	ictx := experimental.WithMemoryAllocator(context.WithValue(ctx, envKey{}, e), e.memory)
	ictx = experimental.WithCloseNotifier(ictx, experimental.CloseNotifyFunc(func(_ context.Context, code uint32) { e.closed(code) }))
	i := &extismInstance{env: e, log: p.log}
	err := guard(p.log, "starting", func() (err error) {
		i.plugin, err = p.plugin.Instance(ictx, extism.PluginInstanceConfig{ModuleConfig: config})
		return err
	})
	if err != nil {
		p.stuck.Add(1)
		if _, exit := errors.AsType[*sys.ExitError](err); !exit {
			e.note(func() { e.exited = false }) // closed by the engine, after a trap
		}
		return nil, err
	}
	i.plugin.Config = e.config // its own map: the SDK's is shared by all instances
	if p.hasInit {
		if _, err := i.call(ctx, initExport, nil); err != nil {
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

// envKey finds the env of an instance in the context of its host functions.
type envKey struct{}

// call implements instance. The SDK sets the input without looking whether
// that worked; it always does, for inputs are held far below the kernel's cap.
func (i *extismInstance) call(ctx context.Context, export string, input []byte) (r reply, err error) {
	err = guard(i.log, "running", func() (err error) {
		r.code, r.output, err = i.plugin.CallWithContext(context.WithValue(ctx, envKey{}, i.env), export, input)
		return err
	})
	if exit, ok := errors.AsType[*sys.ExitError](err); ok && ctx.Err() == nil {
		i.env.note(func() { i.env.exited, i.env.exitCode = true, exit.ExitCode() })
	}
	return r, err
}

// close implements instance. The call's context may be over by now, and the
// instance has to go all the same.
func (i *extismInstance) close() error {
	i.env.note(func() { i.env.closing = true })
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return guard(i.log, "closing", func() error { return i.plugin.CloseWithContext(ctx) })
}
