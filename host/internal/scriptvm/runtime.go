package scriptvm

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

//go:embed quickjs.wasm
var quickjs []byte

//go:embed prelude.js
var prelude []byte

// Options are the bounds of every script of a Runtime.
type Options struct {
	// Memory is the most linear memory of one script, in bytes, rounded up to pages of
	// 64 KiB. 0 means DefaultMemory; negative is an error.
	Memory int
	// StepTime is how long one Step may compute. 0 means DefaultStepTime; negative is an
	// error.
	StepTime time.Duration
	// Time is how long all steps of a script may compute. 0 means DefaultTime; negative is
	// an error.
	Time time.Duration
	// CacheDir holds compiled code between processes; empty: none is kept.
	CacheDir string
	// Files are the engine; the zero value: that of this weir.
	Files Files
}

// Files are what a Runtime is made of, beside its bounds.
type Files struct {
	Engine  []byte // QuickJS as WebAssembly
	Prelude []byte // in JavaScript
}

// Defaults of Options, and the bound of a source. A script that holds a text of 8 MiB and
// its parsed JSON stays below 64 MiB.
const (
	DefaultMemory   = 64 << 20
	DefaultStepTime = 5 * time.Second
	DefaultTime     = 30 * time.Second
	// MaxSource is how long a script may be, in bytes.
	MaxSource = 256 << 10
)

// WithDefaults returns the bounds that apply.
func (o Options) WithDefaults() Options {
	o.Memory = cmp.Or(o.Memory, DefaultMemory)
	o.StepTime = cmp.Or(o.StepTime, DefaultStepTime)
	o.Time = cmp.Or(o.Time, DefaultTime)
	return o
}

const (
	pageSize = 64 << 10
	// maxStack is how deep calls of JavaScript may go, in bytes of the module's stack, which
	// has a MiB.
	maxStack = 256 << 10
)

// A Runtime is the engine, compiled, and the state in which every script starts. Its
// methods may be called by several goroutines at a time.
type Runtime struct {
	options  Options
	files    Files
	cache    wazero.CompilationCache // nil: none
	runtime  wazero.Runtime
	module   wazero.CompiledModule
	image    []byte   // linear memory with QuickJS and the prelude started
	in       reserved // in that memory
	dispatch uint64   // the prelude's function, a handle
	digest   [sha256.Size]byte
	stripper stripper
}

// Open compiles the engine and starts it once. The caller closes the Runtime when no
// script runs.
func Open(ctx context.Context, o Options) (_ *Runtime, err error) {
	if o.Memory < 0 || o.StepTime < 0 || o.Time < 0 {
		return nil, errors.New("the bounds of scripts are negative")
	}
	o = o.WithDefaults()
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(uint32((o.Memory + pageSize - 1) / pageSize)).WithCloseOnContextDone(true)
	if o.Files.Engine == nil {
		o.Files = OwnFiles()
	}
	r := &Runtime{options: o, files: o.Files}
	if o.CacheDir != "" {
		if r.cache, err = wazero.NewCompilationCacheWithDir(o.CacheDir); err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(r.cache)
	}
	r.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close(ctx))
		}
	}()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r.runtime); err != nil {
		return nil, err
	}
	if err := r.exportHost(ctx); err != nil {
		return nil, err
	}
	if r.module, err = r.runtime.CompileModule(ctx, r.files.Engine); err != nil {
		return nil, err
	}
	return r, r.boot(ctx)
}

// OwnFiles returns the engine of this weir. The slices must not be changed.
func OwnFiles() Files { return Files{quickjs, prelude} }

// Digest identifies the state in which every script starts: a snapshot can be resumed by a
// Runtime of the same one, and by no other.
func (r *Runtime) Digest() string { return hex.EncodeToString(r.digest[:]) }

// Close frees the compiled engine. Scripts of it must not be used after that.
func (r *Runtime) Close(ctx context.Context) error {
	err := r.runtime.Close(ctx)
	if r.cache != nil {
		err = errors.Join(err, r.cache.Close(ctx))
	}
	return err
}

// exportHost provides the functions that QuickJS imports: none leads out of the module.
func (r *Runtime) exportHost(ctx context.Context) error {
	b := r.runtime.NewHostModuleBuilder("env")
	for name, params := range map[string]int{"host_get_timezone_offset": 2, "host_module_normalize": 2, "host_module_load": 2, "host_call": 5} {
		results := []api.ValueType{api.ValueTypeI32}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = 0 }),
			slices.Repeat([]api.ValueType{api.ValueTypeI32}, params), results).Export(name)
	}
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
		stack[0] = 0
		if deadline, ok := ctx.Deadline(); ctx.Err() != nil || ok && time.Until(deadline) < r.options.StepTime/10 {
			stack[0] = 1 // QuickJS ends the script by an exception that it cannot catch
		}
	}), nil, []api.ValueType{api.ValueTypeI32}).Export("host_interrupt")
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(onRejection), slices.Repeat([]api.ValueType{api.ValueTypeI32}, 3), nil).Export("host_promise_rejection")
	_, err := b.Instantiate(ctx)
	return err
}

// boot starts the engine and the prelude, and keeps the state.
func (r *Runtime) boot(ctx context.Context) error {
	// Every process comes to the same image: a snapshot is the difference from it.
	s, err := r.instanceWith(ctx, wazero.NewModuleConfig().WithRandSource(zeros{}))
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	for _, start := range []string{"_initialize", "qjs_init"} {
		if _, err := s.call(ctx, start); err != nil {
			return err
		}
	}
	for _, set := range []struct {
		name  string
		value uint64
	}{{"qjs_set_memory_limit", uint64(r.options.Memory) * 3 / 4}, {"qjs_set_max_stack_size", maxStack}, {"qjs_set_interrupt_handler", 1}, {"qjs_set_promise_rejection_handler", 1}} {
		if _, err := s.call(ctx, set.name, set.value); err != nil {
			return err
		}
	}
	name, err := s.bytes(ctx, []byte("prelude.js"))
	if err != nil {
		return err
	}
	f, err := s.evalAs(ctx, r.files.Prelude, name)
	if err != nil {
		return err
	}
	if err := r.reserve(ctx, s); err != nil {
		return err
	}
	if r.dispatch, err = s.call(ctx, "qjs_call", f, r.in.undefined, 0, 0); err != nil {
		return err
	}
	if err := s.rehearse(ctx); err != nil {
		return err
	}
	memory, ok := s.module.Memory().Read(0, s.module.Memory().Size())
	if !ok {
		return errors.New("the engine has no memory")
	}
	r.image = slices.Clone(memory)
	r.digest = sha256.Sum256(slices.Concat(r.files.Engine, r.files.Prelude, r.image))
	return nil
}

// reserved is what scripts need again and again, so that no call of the module makes it.
type reserved struct {
	undefined uint64            // a handle
	words     map[string]uint64 // by the name of what the prelude can be asked: handles
	file      uint64            // the name of every program
	text      uint64            // room for maxShort bytes
	args      uint64            // room for the arguments of a call
	length    uint64            // room for a number
}

// maxShort is how long a text may be, in bytes, for which no memory is allocated.
const maxShort = 4 << 10

// reserve makes what is reserved.
func (r *Runtime) reserve(ctx context.Context, s *Script) (err error) {
	if r.in.undefined, err = s.call(ctx, "qjs_get_undefined"); err != nil {
		return err
	}
	r.in.words = map[string]uint64{}
	for _, word := range []string{"run", "check", "broken", "give", "take", "reset"} {
		if r.in.words[word], err = s.text(ctx, word); err != nil {
			return err
		}
	}
	if r.in.file, err = s.bytes(ctx, []byte(file)); err != nil {
		return err
	}
	if r.in.args, err = s.bytes(ctx, make([]byte, 64)); err != nil {
		return err
	}
	if r.in.length, err = s.bytes(ctx, make([]byte, 8)); err != nil {
		return err
	}
	r.in.text, err = s.bytes(ctx, make([]byte, maxShort))
	return err
}

// rehearsal uses what most scripts use.
const rehearsal = `const r = await tools.a({n: 1}); console.log(r.lines); return r.json()`

// rehearse runs a script to its end. QuickJS makes much of what is built in at its first
// use, which takes longer than all else at the start of a script.
func (s *Script) rehearse(ctx context.Context) error {
	f, err := s.eval(ctx, []byte(opening+rehearsal+closing))
	if err != nil {
		return err
	}
	list, err := s.setting(ctx, Setting{Tools: []string{"a"}, Seed: 1})
	if err != nil {
		return err
	}
	state, err := s.run(ctx, func(ctx context.Context) error { return s.dispatch(ctx, "run", f, list) })
	for err == nil && !state.Done {
		state, err = s.run(ctx, func(ctx context.Context) error {
			h, err := s.text(ctx, `{"id":1,"value":{"tool":"a","uuid":"","chars":1,"lines":1,"text":"1"}}`)
			if err != nil {
				return err
			}
			return s.dispatch(ctx, "give", h)
		})
	}
	if err == nil && state.Fault != nil {
		err = errors.New(state.Fault.Message)
	}
	if err != nil {
		return fmt.Errorf("the engine of scripts runs no script: %w", err)
	}
	return s.dispatch(ctx, "reset")
}

// zeros is a source of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// instance returns a new instance, nothing of which has run.
func (r *Runtime) instance(ctx context.Context) (*Script, error) {
	return r.instanceWith(ctx, wazero.NewModuleConfig().WithRandSource(rand.Reader).WithSysWalltime().WithSysNanotime())
}

func (r *Runtime) instanceWith(ctx context.Context, c wazero.ModuleConfig) (*Script, error) {
	m, err := r.runtime.InstantiateModule(ctx, r.module, c.WithName("").WithStartFunctions())
	if err != nil {
		return nil, fmt.Errorf("the engine of scripts cannot start: %w", err)
	}
	return &Script{runtime: r, module: m, functions: map[string]api.Function{}, left: r.options.Time}, nil
}

// fresh returns an instance in the state in which every script starts.
func (r *Runtime) fresh(ctx context.Context) (*Script, error) {
	s, err := r.instance(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.restore(r.image); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}
