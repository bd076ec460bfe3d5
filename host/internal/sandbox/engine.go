package sandbox

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/memsnap"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/wasmcheck"
	"github.com/weirhost/weir/sdk/tool"
)

// An Engine loads plugins. It is safe for concurrent use.
type Engine struct {
	log    hclog.Logger
	cache  *diskCache // nil: none
	front  frontend
	kept   int // as in Config, but never 0
	spares int
	read   bool                  // compile nothing
	space  func() *memsnap.Space // nil: instances cannot be reset
	own    *memsnap.Space        // to close; nil: none was created, or it belongs to another

	mu      sync.Mutex
	modules map[*Module]bool
	closed  bool
}

// wasiOutput is a switch of Extism's SDK that would connect guests to our own stdout
// and stderr without a limit. New unsets it.
const wasiOutput = "EXTISM_ENABLE_WASI_OUTPUT"

// New returns an Engine. It fails for an unknown engine name, and when the cache
// folder cannot be created or cannot be restricted to this user.
func New(_ context.Context, c Config) (*Engine, error) {
	log := c.Logger
	log = cmp.Or(log, hclog.NewNullLogger())
	if err := os.Unsetenv(wasiOutput); err != nil {
		return nil, err
	}
	front, err := newFront(c, log)
	if err != nil {
		return nil, err
	}
	e := &Engine{log: log, front: front, kept: cmp.Or(c.Renewed, DefaultRenewed), spares: c.Spares, read: c.ReadCache, modules: make(map[*Module]bool)}
	e.space = sync.OnceValue(func() *memsnap.Space { return e.memories(c) })
	if c.CacheDir != "" {
		if e.cache, err = openCache(c); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// memories returns what creates memories that can be reset; nil: there is none.
func (e *Engine) memories(c Config) *memsnap.Space {
	if c.Memories != nil || memsnap.Supported() != nil {
		return c.Memories
	}
	open := c.OpenMemories
	if open == nil {
		open = memsnap.Open
	}
	own, err := open()
	if err != nil {
		e.log.Warn("instances are made for each call, for their memory cannot be renewed", "error", err)
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		_ = own.Close() // no memory was created from it
		return nil
	}
	e.own = own
	return own
}

func newFront(c Config, log hclog.Logger) (frontend, error) {
	switch cmp.Or(c.Engine, DefaultEngine) {
	case EngineExtism:
		return newExtismFront(log, !c.Unchecked), nil
	case EngineWazero:
		return newWazeroFront(log, !c.Unchecked), nil
	}
	return nil, msg.Errorf("there is no engine %q; the engines are %s and %s", c.Engine, EngineWazero, EngineExtism)
}

// Close closes every module that is still loaded; see Module.Close for what
// happens to running calls.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	modules := make([]*Module, 0, len(e.modules))
	for m := range e.modules {
		modules = append(modules, m)
	}
	e.mu.Unlock()
	var errs []error
	for _, m := range modules {
		errs = append(errs, m.Close(ctx))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.own != nil {
		errs = append(errs, e.own.Close())
	}
	return errors.Join(errs...)
}

// Load checks and compiles a plugin; no code of it runs. The error is a sentence that
// names the plugin and says what is wrong with its file. Without a cached result
// compiling a large module takes seconds, and cannot be cancelled: ctx is only checked
// before it starts.
func (e *Engine) Load(ctx context.Context, p Plugin) (*Module, error) {
	m, err := e.load(ctx, p)
	if err != nil {
		return nil, msg.Errorf("plugin %s: %w", p.Name, err)
	}
	e.mu.Lock()
	closed := e.closed
	if !closed {
		e.modules[m] = true
	}
	e.mu.Unlock()
	if closed {
		return nil, errors.Join(msg.Errorf("plugin %s: %s", p.Name, tool.Text{Format: "the sandbox is closed"}), m.Close(ctx))
	}
	return m, nil
}

func (e *Engine) load(ctx context.Context, p Plugin) (*Module, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, memory, err := e.examine(p)
	if err != nil {
		return nil, err
	}
	pl, err := e.front.plan(s)
	if err != nil {
		return nil, err
	}
	prog, err := e.compile(ctx, pl)
	if err == nil && e.cache != nil && !e.read {
		e.cache.note(p.Wasm, pl.wasm, e.front.mark())
	}
	switch {
	case errors.Is(err, ErrNotCompiled):
		return nil, err
	case err != nil:
		return nil, msg.Errorf("the engine refuses the module: %s", reason(err))
	}
	log := e.log.Named("plugin." + p.Name)
	weight := s.weight(p, e.spares)
	s.trim()
	m := &Module{
		name: p.Name, engine: e, log: log, program: prog, shape: s, memory: memory, weight: weight,
		supply: e.supply(prog, log, uint64(memory)), calls: NewCalls(context.Background()),
	}
	return m, nil
}

// supply returns where a module's calls get their instances.
func (e *Engine) supply(p program, log hclog.Logger, memory uint64) supply {
	fresh := newFreshSupply(p, log, memory, e.spares)
	if e.kept < 0 || !p.renewable() {
		return fresh
	}
	space := e.space()
	if space == nil {
		return fresh
	}
	return &recycledSupply{others: fresh, program: p, log: log, memory: memory, most: e.kept, space: space}
}

// examine checks a module without an engine.
func (e *Engine) examine(p Plugin) (*structure, tool.Bytes, error) {
	s, err := parseModule(p.Wasm)
	if err != nil {
		return nil, 0, err
	}
	memory := p.memory(s)
	imports, rest := s.answered(e.front.offers()), s.check(p, memory)
	if imports != nil && rest != nil {
		return s, memory, msg.Errorf("%s; %w", imports, rest)
	}
	return s, memory, cmp.Or(imports, rest)
}

// memory returns the cap of the guest's memory, in bytes.
func (p Plugin) memory(s *structure) tool.Bytes {
	if p.Memory > 0 {
		return min(max(p.Memory, minMemory), maxMemory)
	}
	return DefaultMemoryOf(s.info().IsGo)
}

// DefaultMemoryOf returns the memory of a guest for which no limit is set: the runtime
// of Go needs more than others.
func DefaultMemoryOf(isGo bool) tool.Bytes {
	if isGo {
		return DefaultGoMemory
	}
	return DefaultMemory
}

// check refuses a module that could never run, with the reason.
func (s *structure) check(p Plugin, memory tool.Bytes) error {
	for _, m := range s.Memories {
		if m.Least > uint64(memory)/wasmcheck.PageSize {
			return msg.Errorf("it needs at least %d MiB of memory, and its limit is %s; raise [limits] memory", (m.Least*wasmcheck.PageSize+1<<20-1)>>20, memory)
		}
	}
	for _, e := range s.Exports {
		if strings.HasPrefix(e.Name, ownPrefix) {
			return msg.Errorf("it exports %.40q, and names that begin with %s are reserved for the host", e.Name, ownPrefix)
		}
	}
	for _, name := range p.Exports {
		if err := s.checkExport(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *structure) checkExport(name string) error {
	sig, ok := s.function(name)
	switch {
	case !ok:
		return msg.Errorf("it exports no function %q; it exports %s", name, list(s.info().Exports))
	case sig.Params > 0 || sig.Results > 1:
		return msg.Errorf("its function %q has parameters or returns several values; a tool's function has no parameters and returns at most one number", name)
	}
	return nil
}

// answered refuses imports that the host does not offer.
func (s *structure) answered(offered map[string][]string) error {
	for _, i := range s.Imports {
		names, ok := offered[i.Module]
		switch {
		case !ok:
			return msg.Errorf("it imports %s.%s, which this host does not offer; it offers %s", shown(i.Module), shown(i.Name), strings.Join(slices.Sorted(maps.Keys(offered)), ", "))
		case !slices.Contains(names, i.Name):
			return msg.Errorf("it imports %s.%s, which this host does not offer", i.Module, shown(i.Name))
		}
	}
	return nil
}

// list names the first dozen of names.
func list(names []string) tool.Text {
	const most = 12
	if len(names) == 0 {
		return tool.Text{Format: "none"}
	}
	var some []string
	for _, n := range names[:min(most, len(names))] {
		some = append(some, shown(n))
	}
	if len(names) > most {
		return tool.Textf("%s and %d more", strings.Join(some, ", "), len(names)-most)
	}
	return tool.Textf("%s", strings.Join(some, ", "))
}

// shown makes a name of a module safe to show: its author may have written anything.
func shown(name string) string { return printable(name, 80) }

// compile uses the disk cache. A folder that is undamaged but does not load is deleted
// and compiled again; the last attempt is without the cache.
func (e *Engine) compile(ctx context.Context, p plan) (program, error) {
	if e.cache == nil {
		return e.front.compile(ctx, p, "")
	}
	if e.read {
		return e.fromCache(ctx, p)
	}
	for range 2 {
		dir, whole, err := e.cache.folder(p.wasm)
		if err != nil {
			e.log.Warn("compiled plugins cannot be kept", "error", err)
			break
		}
		prog, err := e.front.compile(ctx, p, dir)
		if err == nil {
			keep := e.cache.seal
			if whole { // the engine found its code and wrote none
				keep = e.cache.used
			}
			if err := keep(dir); err != nil {
				e.log.Warn("compiled plugins cannot be kept", "error", err)
			}
			return prog, nil
		}
		if err := e.cache.drop(dir); err != nil {
			break
		}
	}
	return e.front.compile(ctx, p, "")
}
