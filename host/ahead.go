package host

import (
	"context"
	"errors"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/worker"
)

// compileAhead has every plugin compiled that is ready and is not compiled yet,
// one at a time, those that are there and those that come, until the Host
// closes. Whatever somebody waits for goes first.
func (h *Host) compileAhead() {
	ctx, err := h.enter(h.ending)
	if err != nil {
		return
	}
	defer h.leave(ctx)
	tried := map[slotKey]bool{}
	for {
		changed := h.changed.next()
		rest := time.NewTimer(h.cfg.Ahead)
		select {
		case <-rest.C:
		case <-changed:
			rest.Stop()
			continue
		case <-ctx.Done():
			return
		}
		for _, one := range h.current.Load().plugins {
			for _, s := range one.slots {
				key := slotKey{s.plugin.Source, s.plugin.WasmSHA256, s.memory}
				if ctx.Err() == nil && !tried[key] {
					tried[key] = true
					h.ahead(ctx, s)
				}
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// ahead compiles one module into the cache, unless it is there. What cannot be
// done now is left to the first call; a refusal holds.
func (h *Host) ahead(ctx context.Context, s *slot) {
	name, checked := s.plugin.Manifest.Name, s.home.inline(s.plugin.Manifest.Name)
	if s.loaded() || s.refusal() != nil || s.home.pool.Noted(s.plugin.WasmSHA256, checked) {
		return
	}
	began := time.Now()
	wasm, err := s.plugin.Read()
	if err != nil {
		return // the call that needs it says so
	}
	err = s.home.pool.Ahead(ctx, s.sandboxed(wasm), checked)
	switch {
	case err == nil:
		h.log.Info("plugin compiled ahead", "plugin", name, "took", time.Since(began).Round(time.Millisecond))
	case final(err):
		s.refuse(err)
		h.log.Warn("a plugin cannot be used", "plugin", name, "error", err)
	default:
		h.log.Debug("a plugin is not compiled ahead", "plugin", name, "error", err)
	}
}

// sandboxed is the slot's plugin as the sandbox takes it.
func (s *slot) sandboxed(wasm []byte) sandbox.Plugin {
	return sandbox.Plugin{Name: s.plugin.Manifest.Name, Wasm: wasm, Exports: s.plugin.Exports(), Memory: s.memory}
}

// final reports whether a module was refused for good, and did not only fail to
// be compiled this time. A quarantine ends when a person says so.
func final(err error) bool {
	return err != nil && !errors.Is(err, worker.ErrAgain) && !isQuarantined(err)
}

// refuse notes that the module cannot be used, unless it is in use by now.
func (s *slot) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.module == nil && s.loading == nil {
		s.broken = err
	}
}
