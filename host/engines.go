package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/sdk/tool"
)

// A Sandbox says how plugins are run. Its fields mean what they do in Config.
type Sandbox struct {
	Engine          string
	Renewed, Spares int
	Workers         Workers
}

// same reports whether plugins would be run the same way.
func (s Sandbox) same(o Sandbox) bool {
	if !slices.Equal(s.Workers.Inline, o.Workers.Inline) {
		return false
	}
	s.Workers.Inline, o.Workers.Inline = nil, nil
	return s.Engine == o.Engine && s.Renewed == o.Renewed && s.Spares == o.Spares &&
		s.Workers.Isolation == o.Workers.Isolation && s.Workers.Max == o.Workers.Max && s.Workers.Idle == o.Workers.Idle && s.Workers.Headroom == o.Workers.Headroom &&
		s.Workers.CompileCPU == o.Workers.CompileCPU && s.Workers.CompileMemory == o.Workers.CompileMemory && s.Workers.Quarantine == o.Workers.Quarantine
}

// engines are what runs plugins in one way: the sandbox in this process and, if
// somebody said how to start them, the workers. They are closed when nobody
// holds them any more, so that what runs in them ends there.
type engines struct {
	how    Sandbox
	engine *sandbox.Engine
	pool   *worker.Pool // nil: everything runs in this process
	ended  func(error)

	mu   sync.Mutex
	held int
}

// openEngines makes engines that the caller holds.
func (h *Host) openEngines(ctx context.Context, how Sandbox) (_ *engines, err error) {
	e := &engines{how: how, held: 1, ended: h.enginesEnded}
	cache := h.cfg.CacheDir
	if w := how.Workers; h.isolates() {
		e.pool, err = worker.New(ctx, worker.Config{
			Command: h.cfg.WorkerCommand, Engine: how.Engine, CacheDir: cache, Logger: h.log, Renewed: how.Renewed, Spares: how.Spares,
			Max: w.Max, Idle: w.Idle, Headroom: w.Headroom, CompileCPU: w.CompileCPU, CompileMemory: w.CompileMemory,
			Quarantine: w.Quarantine,
		})
		if err != nil {
			return nil, err
		}
		cache = e.pool.CacheDir()
	}
	e.engine, err = sandbox.New(ctx, sandbox.Config{Engine: how.Engine, CacheDir: cache, Logger: h.log, Renewed: how.Renewed, Spares: how.Spares})
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// Places returns how many guests run at once, of all plugins and of one, if
// Parallel is n and plugins run inline or, where the system has them, in worker
// processes.
func Places(n int, inline bool) (all, one int) {
	if n <= 0 {
		n = sched.DefaultSlots(!inline && CanIsolate())
	}
	return n, sched.PluginShare(n)
}

// isolates reports whether plugins can have processes of their own here.
func (h *Host) isolates() bool { return len(h.cfg.WorkerCommand) > 0 && CanIsolate() }

// enginesEnded is told of engines that were closed while the Host runs.
func (h *Host) enginesEnded(err error) {
	if err != nil {
		h.log.Warn("what ran plugins before a reload could not be closed", "error", err)
	}
}

// hold keeps the engines from being closed until release.
func (e *engines) hold() *engines {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held++
	return e
}

// release lets go of the engines; whoever is last closes them.
func (e *engines) release() {
	e.mu.Lock()
	e.held--
	last := e.held == 0
	e.mu.Unlock()
	if last {
		e.ended(e.close())
	}
}

// close ends whatever runs.
func (e *engines) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var errs []error
	if e.engine != nil {
		errs = append(errs, e.engine.Close(ctx))
	}
	if e.pool != nil {
		errs = append(errs, e.pool.Close(ctx))
	}
	return errors.Join(errs...)
}

// quarantined returns why a module is in quarantine; nil: it is not.
func (e *engines) quarantined(digest string) error {
	if e.pool == nil {
		return nil
	}
	if q, ok := e.pool.Quarantine().Held(digest); ok {
		return &worker.Quarantined{Plugin: q.Plugin, Entry: q}
	}
	return nil
}

// inline reports whether a plugin runs in this process.
func (e *engines) inline(plugin string) bool {
	w := e.how.Workers
	return e.pool == nil || w.Isolation == Inline || slices.Contains(w.Inline, plugin)
}

// runnerOf loads a plugin where it is to run.
func (e *engines) runnerOf(ctx context.Context, p sandbox.Plugin) (runner, error) {
	if !e.inline(p.Name) {
		m, err := e.pool.Load(ctx, p)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	if e.pool != nil {
		if _, err := e.pool.Prepare(ctx, p, true); err != nil {
			return nil, err
		}
	}
	m, err := e.engine.Load(ctx, p)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// slots returns how many guests may run at once.
func (h *Host) slots(l Live) int {
	if l.Parallel > 0 {
		return l.Parallel
	}
	return sched.DefaultSlots(h.isolates() && l.Sandbox.Workers.Isolation != Inline)
}

// budget is how much memory loaded modules may take.
func (l Live) budget() tool.Bytes {
	if l.Loaded == 0 {
		return DefaultLoaded
	}
	return l.Loaded
}
