package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/sdk/tool"
)

// A slot is a module that is compiled when it is first needed, once, and
// closed when no snapshot and no call needs it any more.
type slot struct {
	load   func(ctx context.Context, p sandbox.Plugin) (runner, error)
	held   func(digest string) error // why a module is not tried; nil: it is
	plugin *registry.Plugin
	memory tool.Bytes

	mu      sync.Mutex
	module  runner
	broken  error // the refusal, which is final for these bytes
	loading *load // the one that runs; nil: none
	refs    int
	stale   bool
}

// A runner runs the exports of one plugin, in this process or in others. It is
// safe for concurrent use. Close refuses new calls and waits for those that run
// until ctx is done; then it ends them.
type runner interface {
	Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error)
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
		m, err = s.load(ctx, sandbox.Plugin{Name: s.plugin.Manifest.Name, Wasm: wasm, Exports: s.plugin.Exports(), Memory: s.memory})
		if !errors.Is(err, worker.ErrAgain) && !isQuarantined(err) {
			refused = err
		}
	}
	s.mu.Lock()
	s.module, s.broken, s.loading = m, refused, nil
	l.err = err
	unused := s.drop() // before anyone is woken: they may count the uses
	close(l.done)
	s.mu.Unlock()
	closeModule(unused)
}

// give ends a use; the last one of a stale slot closes the module.
func (s *slot) give() {
	s.mu.Lock()
	unused := s.drop()
	s.mu.Unlock()
	closeModule(unused)
}

// drop takes one use off, under s.mu, and returns the module that is to be
// closed when it was the last use of a stale slot; nil: none.
func (s *slot) drop() runner {
	s.refs--
	if !s.stale || s.refs > 0 {
		return nil
	}
	m := s.module
	s.module = nil
	return m
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

// closeModule ends a module that nobody uses; nil: nothing. What cannot be
// freed is freed with the process.
func closeModule(m runner) {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = m.Close(ctx)
}
