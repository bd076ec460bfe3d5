package runner

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// ErrRetired is the error of Acquire for a module that is not in use any more.
var ErrRetired = errors.New("the module belongs to an earlier state of the folders")

// A Module is one plugin's module. It is loaded at the first Acquire and unloaded
// when the Cache is full or, once it is retired, after the last Release. It is safe
// for concurrent use.
type Module struct {
	plugin  *registry.Plugin
	memory  tool.Bytes
	engines *Engines // one reference, released with the last use of a retired module
	cache   *Cache   // nil: the module is loaded until it is retired
	load    func(ctx context.Context, p sandbox.Plugin) (Runner, error)

	element *list.Element // in the cache, under its lock; nil: not in the cache
	weight  tool.Bytes    // as the cache last counted it, under its lock

	mu      sync.Mutex
	runner  Runner
	invalid error        // final for these bytes
	loading *compilation // the one that runs; nil: none
	refs    int
	retired bool
}

// A Key says which plugins share a Module.
type Key struct {
	Source, SHA256 string
	Memory         tool.Bytes
}

// A compilation is one attempt to load a module; err may be read once done is closed.
type compilation struct {
	done chan struct{}
	err  error
}

// NewModule returns a module that is not loaded yet. It retains e until Retire. With
// a nil cache it is never unloaded before.
func NewModule(e *Engines, c *Cache, p *registry.Plugin, memory tool.Bytes) *Module {
	return &Module{plugin: p, memory: memory, engines: e.Retain(), cache: c, load: e.load}
}

// KeyOf returns the key of a plugin's module under a cap of memory.
func KeyOf(p *registry.Plugin, memory tool.Bytes) Key { return Key{p.Source, p.WasmSHA256, memory} }

// Key returns the key of the module.
func (m *Module) Key() Key { return KeyOf(m.plugin, m.memory) }

// Plugin returns the plugin that the module belongs to.
func (m *Module) Plugin() *registry.Plugin { return m.plugin }

// Serves reports whether a new snapshot can use m for a plugin with the same Key:
// the file, the exports and the engines are the same.
func (m *Module) Serves(p *registry.Plugin, e *Engines) bool {
	return m.engines == e && m.plugin.WasmPath == p.WasmPath && slices.Equal(m.plugin.Exports(), p.Exports())
}

// Acquire returns the module's Runner for one call; after it the caller must call
// Release. It waits while the module is compiled. The end of ctx ends the wait, not
// the compilation, for which other calls wait too.
func (m *Module) Acquire(ctx context.Context) (Runner, error) {
	for {
		r, c, err := m.acquireOrLoad(ctx)
		if r != nil || err != nil {
			return r, err
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if c.err != nil {
			return nil, c.err
		}
	}
}

// Release ends a use. The last one of a retired module closes it.
func (m *Module) Release() {
	m.mu.Lock()
	unused, last := m.unref()
	m.mu.Unlock()
	if unused != nil {
		m.cache.remove(m)
		closeAll([]Runner{unused})
	} else {
		closeAll(m.cache.touch(m))
	}
	m.end(last)
}

// Retire says that no snapshot needs the module any more.
func (m *Module) Retire() {
	m.mu.Lock()
	m.retired = true
	m.refs++
	m.mu.Unlock()
	m.Release()
}

// Loaded reports whether the module is in memory.
func (m *Module) Loaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runner != nil
}

// Uses returns how many calls use the module; a compilation is one.
func (m *Module) Uses() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refs
}

// Refusal returns why the module cannot be used: it is invalid, or in quarantine.
// nil: it can.
func (m *Module) Refusal() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.invalid == nil && m.runner == nil && m.engines != nil {
		return m.engines.Quarantined(m.plugin.WasmSHA256)
	}
	return m.invalid
}

// acquireOrLoad returns the Runner, or the compilation to wait for.
func (m *Module) acquireOrLoad(ctx context.Context) (Runner, *compilation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.invalid != nil:
		return nil, nil, m.invalid
	case m.runner != nil:
		m.refs++
		return m.runner, nil, nil
	case m.retired:
		return nil, nil, ErrRetired
	case m.loading == nil:
		m.loading = &compilation{done: make(chan struct{})}
		m.refs++ // the compilation is a use
		go m.compile(context.WithoutCancel(ctx), m.loading)
	}
	return nil, m.loading, nil
}

// compile loads the module. A file that cannot be read, and a compilation that
// failed for another reason than the module's bytes, is tried again at the next call.
func (m *Module) compile(ctx context.Context, c *compilation) {
	var r Runner
	var invalid error
	wasm, err := m.plugin.Read()
	if err == nil {
		r, err = m.load(ctx, m.sandboxed(wasm))
		if isFinal(err) {
			invalid = err
		}
	}
	m.mu.Lock()
	m.runner, m.invalid = r, invalid
	m.mu.Unlock()
	// The module enters the cache before a waiting call continues, so that their use
	// is the later one. Evicted modules are closed last, because that needs time.
	evicted := m.cache.touch(m)
	m.mu.Lock()
	m.loading, c.err = nil, err
	unused, last := m.unref() // before a waiting call continues: it may count the uses
	close(c.done)
	m.mu.Unlock()
	if unused != nil {
		m.cache.remove(m)
		evicted = append(evicted, unused)
	}
	closeAll(evicted)
	m.end(last)
}

// unref drops one use; m.mu is held. last says that it was the last one of a retired
// module, whose Runner the caller must close; nil: there is none.
func (m *Module) unref() (unused Runner, last bool) {
	m.refs--
	if !m.retired || m.refs > 0 {
		return nil, false
	}
	unused, m.runner = m.runner, nil
	return unused, true
}

// end releases the engines after the last use of a retired module.
func (m *Module) end(last bool) {
	if last && m.engines != nil {
		m.engines.Release()
	}
}

// size returns how much memory the module needs; false: it is not loaded.
func (m *Module) size() (tool.Bytes, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runner == nil {
		return 0, false
	}
	return m.runner.Weight(), true
}

// unload returns the Runner, which the caller must close, and leaves the module to
// be loaded again; false: it is in use.
func (m *Module) unload() (Runner, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refs > 0 {
		return nil, false
	}
	r := m.runner
	m.runner = nil
	return r, true
}

// sandboxed returns the plugin in the form that the sandbox loads.
func (m *Module) sandboxed(wasm []byte) sandbox.Plugin {
	return sandbox.Plugin{Name: m.plugin.Manifest.Name, Wasm: wasm, Exports: m.plugin.Exports(), Memory: m.memory}
}

// closeAll ends runners that no call uses. An error is ignored: what cannot be freed
// now is freed with the process.
func closeAll(all []Runner) {
	for _, r := range all {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		_ = r.Close(ctx)
		cancel()
	}
}
