package host

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// A slot is a module that is loaded when it is first called, once, and closed
// when no snapshot and no call needs it any more, or when the shelf is full.
type slot struct {
	load   func(ctx context.Context, p sandbox.Plugin) (runner, error)
	held   func(digest string) error // why a module is not tried; nil: it is
	plugin *registry.Plugin
	memory tool.Bytes
	home   *engines // where it runs, held until the slot is done with; nil: somebody else holds it
	shelf  *shelf   // nil: the module stays until the slot is retired

	place  *list.Element // on the shelf, under its lock; nil: it is not there
	weight tool.Bytes    // as the shelf last counted it

	mu      sync.Mutex
	module  runner
	broken  error // the refusal, which is final for these bytes
	loading *load // the one that runs; nil: none
	refs    int
	stale   bool
}

// A runner runs the exports of one plugin, in this process or in others. A guest runs
// in its Invocation's Place, which is given back behind it. It is safe for concurrent
// use. Close refuses new calls and waits for those that were admitted until ctx is
// done; then it ends them.
type runner interface {
	Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error)
	// Weight is about how much memory it takes while no call runs.
	Weight() tool.Bytes
	Close(ctx context.Context) error
}

// slotKey says which calls share a module.
type slotKey struct {
	plugin, sha string
	memory      tool.Bytes
}

// A load is one try to compile a module; err may be read once done is closed.
type load struct {
	done chan struct{}
	err  error
}

// take returns the module for one call; give must be called behind it. The
// load itself is not bound to ctx: others wait for it too.
func (s *slot) take(ctx context.Context) (runner, error) {
	for {
		m, l, err := s.try(ctx)
		if m != nil || err != nil {
			return m, err
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if l.err != nil {
			return nil, l.err
		}
	}
}

// errRetired says that no snapshot needs the module, and it is not compiled.
var errRetired = errors.New("the module belongs to an earlier state of the folders")

// try returns the module if it is there, and the load to wait for if it is not.
func (s *slot) try(ctx context.Context) (runner, *load, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken != nil:
		return nil, nil, s.broken
	case s.module != nil:
		s.refs++
		return s.module, nil, nil
	case s.stale:
		return nil, nil, errRetired
	case s.loading == nil:
		s.loading = &load{done: make(chan struct{})}
		s.refs++ // keeps the slot from being closed under the load
		go s.run(context.WithoutCancel(ctx), s.loading)
	}
	return nil, s.loading, nil
}

// run compiles the module. A file that cannot be read may be back at the next
// call, and so may what only happened to go wrong; what is refused stays refused.
func (s *slot) run(ctx context.Context, l *load) {
	var m runner
	var refused error
	wasm, err := s.plugin.Read()
	if err == nil {
		m, err = s.load(ctx, s.sandboxed(wasm))
		if final(err) {
			refused = err
		}
	}
	s.mu.Lock()
	s.module, s.broken = m, refused
	s.mu.Unlock()
	// On the shelf before anyone is woken, so that their use comes after; what
	// goes for it is closed behind, for that takes time.
	gone := s.shelf.put(s)
	s.mu.Lock()
	s.loading, l.err = nil, err
	unused, last := s.drop() // before anyone is woken: they may count the uses
	close(l.done)
	s.mu.Unlock()
	if unused != nil {
		s.shelf.remove(s)
		gone = append(gone, unused)
	}
	closeModules(gone)
	s.leave(last)
}

// leave lets go of where the module ran, behind the last use of a stale slot.
func (s *slot) leave(last bool) {
	if last && s.home != nil {
		s.home.release()
	}
}

// give ends a use; the last one of a stale slot closes the module.
func (s *slot) give() {
	s.mu.Lock()
	unused, last := s.drop()
	s.mu.Unlock()
	s.settle(unused)
	s.leave(last)
}

// settle closes the module behind its last use, or has the shelf know of it.
func (s *slot) settle(unused runner) {
	if unused != nil {
		s.shelf.remove(s)
		closeModules([]runner{unused})
		return
	}
	closeModules(s.shelf.put(s))
}

// weighs is how much memory the module takes; false: it is not loaded.
func (s *slot) weighs() (tool.Bytes, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.module == nil {
		return 0, false
	}
	return s.module.Weight(), true
}

// unload takes the module out, to be closed, and leaves the slot to load again;
// false: it is in use.
func (s *slot) unload() (runner, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs > 0 {
		return nil, false
	}
	m := s.module
	s.module = nil
	return m, true
}

// drop takes one use off, under s.mu. Of a stale slot it says whether that was
// the last, and returns the module that is to be closed then; nil: none.
func (s *slot) drop() (m runner, last bool) {
	s.refs--
	if !s.stale || s.refs > 0 {
		return nil, false
	}
	m, s.module = s.module, nil
	return m, true
}

// retire says that no snapshot needs the slot any more.
func (s *slot) retire() {
	s.mu.Lock()
	s.stale = true
	s.refs++
	s.mu.Unlock()
	s.give()
}

// refusal returns why the module cannot be used: it was refused, or it is in
// quarantine.
func (s *slot) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil && s.module == nil && s.held != nil {
		return s.held(s.plugin.WasmSHA256)
	}
	return s.broken
}

// closeModules ends modules that nobody uses. What cannot be freed is freed
// with the process.
func closeModules(all []runner) {
	for _, m := range all {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_ = m.Close(ctx)
		cancel()
	}
}
