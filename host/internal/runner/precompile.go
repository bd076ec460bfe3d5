package runner

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/registry"
)

// preloadTime bounds how long a reload waits for new modules to be compiled.
const preloadTime = 30 * time.Second

// A Precompiler compiles modules in the background that no call has needed yet, one
// at a time, in the order of Modules.
type Precompiler struct {
	Delay   time.Duration          // how long the plugins must be unchanged before
	Changed func() <-chan struct{} // returns a channel that closes at the next change of the plugins
	Modules func() []*Module       // the modules of the current plugins
	Logger  hclog.Logger
}

// Run compiles the current modules and those that come later, until ctx ends. Calls
// have priority over it.
func (p Precompiler) Run(ctx context.Context) {
	tried := map[Key]bool{}
	for {
		changed := p.Changed()
		delay := time.NewTimer(p.Delay)
		select {
		case <-delay.C:
		case <-changed:
			delay.Stop()
			continue
		case <-ctx.Done():
			return
		}
		for _, m := range p.Modules() {
			if ctx.Err() == nil && !tried[m.Key()] {
				tried[m.Key()] = true
				p.compile(ctx, m)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// compile puts one compiled module into the cache, unless it is there. What fails
// now is tried again at the first call, unless the module is invalid.
func (p Precompiler) compile(ctx context.Context, m *Module) {
	name := m.plugin.Manifest.Name
	inline := m.engines.Inline(name)
	if m.Loaded() || m.Refusal() != nil || m.engines.Precompiled(m.plugin.WasmSHA256, inline) {
		return
	}
	began := time.Now()
	wasm, err := m.plugin.Read()
	if err != nil {
		return // the call that needs it reports the error
	}
	err = m.engines.pool.Precompile(ctx, m.sandboxed(wasm), inline)
	switch {
	case err == nil:
		p.Logger.Info("plugin precompiled", "plugin", name, "took", time.Since(began).Round(time.Millisecond))
	case isFinal(err):
		m.setInvalid(err)
		p.Logger.Warn("a plugin cannot be used", "plugin", name, "error", err)
	default:
		p.Logger.Debug("a plugin could not be precompiled", "plugin", name, "error", err)
	}
}

// setInvalid notes that the module cannot be used, unless a call uses it by now.
func (m *Module) setInvalid(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runner == nil && m.loading == nil {
		m.invalid = err
	}
}

// Preload loads the modules that replace loaded ones, at most preloadTime long. Calls
// then need not wait, and none reads a file that has changed since the scan.
func Preload(ctx context.Context, modules []*Module) {
	ctx, cancel := context.WithTimeout(ctx, preloadTime)
	defer cancel()
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	defer all.Wait()
	for _, m := range modules {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if _, err := m.Acquire(ctx); err == nil {
				m.Release()
			}
		})
	}
}

// Warm compiles one module. changed says that the error is about files that are not
// those of the scan: after a new scan it may succeed.
func Warm(ctx context.Context, m *Module) (took time.Duration, changed bool, err error) {
	began := time.Now()
	if _, err = m.Acquire(ctx); err == nil {
		m.Release()
	}
	return time.Since(began), errors.Is(err, registry.ErrChanged) || errors.Is(err, ErrRetired), err
}
