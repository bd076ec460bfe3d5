package runner

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/judge"
	"github.com/weirhost/weir/host/internal/memsnap"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/worker"
)

// closeTime bounds how long running calls may delay the end of a module or of
// engines.
const closeTime = 5 * time.Second

// Engines are one Sandbox in operation: the sandbox of this process and, if
// configured, a pool of worker processes. They close when the last reference is
// released. They are safe for concurrent use.
type Engines struct {
	settings Sandbox
	engine   *sandbox.Engine
	pool     *worker.Pool // nil: everything runs in this process
	log      hclog.Logger

	mu   sync.Mutex
	refs int
}

// An EnginesConfig says what Engines need besides a Sandbox.
type EnginesConfig struct {
	WorkerCommand []string // starts a worker process; empty: no worker processes
	CacheDir      string   // keeps compiled modules; empty: compile in every process
	Logger        hclog.Logger
	// OpenMemories opens the memories of plugins in this process, which worker processes
	// make hide itself; nil: memsnap.Open.
	OpenMemories func() (*memsnap.Space, error)
}

// Isolates reports whether plugins can have worker processes here.
func (c EnginesConfig) Isolates() bool { return len(c.WorkerCommand) > 0 && worker.Supported() }

// Open returns Engines with one reference, which is the caller's.
func Open(ctx context.Context, s Sandbox, cfg EnginesConfig) (_ *Engines, err error) {
	e := &Engines{settings: s, refs: 1, log: cfg.Logger}
	cache := cfg.CacheDir
	if w := s.Workers; cfg.Isolates() {
		e.pool, err = worker.New(ctx, worker.Config{
			Command: cfg.WorkerCommand, Engine: s.Engine, CacheDir: cache, Logger: cfg.Logger, Renewed: s.Renewed, Spares: s.Spares,
			Max: w.Max, Idle: w.Idle, Headroom: w.Headroom, CompileCPU: w.CompileCPU, CompileMemory: w.CompileMemory,
			Quarantine: w.Quarantine,
		})
		if err != nil {
			return nil, err
		}
		cache = e.pool.CacheDir()
	}
	e.engine, err = sandbox.New(ctx, sandbox.Config{Engine: s.Engine, CacheDir: cache, Logger: cfg.Logger, Renewed: s.Renewed, Spares: s.Spares, OpenMemories: cfg.OpenMemories})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Settings returns how e runs plugins.
func (e *Engines) Settings() Sandbox { return e.settings }

// Retain adds a reference and returns e.
func (e *Engines) Retain() *Engines {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refs++
	return e
}

// Release drops a reference. The last one closes e and logs an error of that.
func (e *Engines) Release() {
	e.mu.Lock()
	e.refs--
	last := e.refs == 0
	e.mu.Unlock()
	if !last {
		return
	}
	if err := e.Close(); err != nil {
		e.log.Warn("the engines of earlier settings could not be closed", "error", err)
	}
}

// References returns the number of references.
func (e *Engines) References() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.refs
}

// Close ends all modules, whatever references remain.
func (e *Engines) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
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

// HasWorkers reports whether there are worker processes.
func (e *Engines) HasWorkers() bool { return e.pool != nil }

// Judges returns what checks the manifests of one scan in processes of their own, and what
// ends these; nil where there are none.
func (e *Engines) Judges(ctx context.Context) (registry.Judge, func()) {
	if e.pool == nil {
		return nil, func() {}
	}
	j := judge.New(ctx, e.pool, e.log)
	return j.Judge, j.Close
}

// Quarantined returns why a module is in quarantine; nil: it is not.
func (e *Engines) Quarantined(digest string) error {
	if e.pool == nil {
		return nil
	}
	if q, ok := e.pool.Quarantine().Held(digest); ok {
		return &worker.Quarantined{Plugin: q.Plugin, Entry: q}
	}
	return nil
}

// Unquarantine takes a module out of quarantine. The error is that of the file which
// lists it.
func (e *Engines) Unquarantine(digest string) error {
	if e.pool == nil {
		return nil
	}
	return e.pool.Quarantine().Release(digest)
}

// Inline reports whether a plugin runs in this process.
func (e *Engines) Inline(plugin string) bool {
	w := e.settings.Workers
	return e.pool == nil || w.Isolation == Inline || slices.Contains(w.Inline, plugin)
}

// Precompiled reports whether a compiled module is in the cache, for a plugin that
// runs inline or in a worker process.
func (e *Engines) Precompiled(digest string, inline bool) bool {
	return e.pool != nil && e.pool.LikelyCompiled(digest, inline)
}

// load returns a Runner for a plugin, in the process in which it is to run.
func (e *Engines) load(ctx context.Context, p sandbox.Plugin) (Runner, error) {
	if !e.Inline(p.Name) {
		m, err := e.pool.Load(ctx, p)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	if e.pool != nil {
		if _, err := e.pool.Compile(ctx, p, true); err != nil {
			return nil, err
		}
	}
	m, err := e.engine.Load(ctx, p)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// isQuarantined reports whether an error says that a module is in quarantine.
func isQuarantined(err error) bool {
	_, ok := errors.AsType[*worker.Quarantined](err)
	return ok
}

// isFinal reports whether an error says that a module is invalid, and not only that
// this compilation failed. A quarantine is not final: a person can end it.
func isFinal(err error) bool {
	return err != nil && !errors.Is(err, worker.ErrAgain) && !isQuarantined(err)
}
