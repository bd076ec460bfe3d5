package host

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/registry"
)

// indexFile is what is known of modules' files, within Config.CacheDir.
const indexFile = "installed.json"

// openIndex reads what earlier runs found out about the modules' files.
func (h *Host) openIndex() {
	file := ""
	if h.cfg.CacheDir != "" {
		file = filepath.Join(h.cfg.CacheDir, indexFile)
	}
	h.index = modindex.Open(file, h.cfg.Version)
}

// saveIndex keeps what was found out. Without it the next start reads the files
// again.
func (h *Host) saveIndex() {
	if err := h.index.Save(); err != nil {
		h.log.Warn("what is known of the plugins' modules cannot be kept; the next start reads them all", "error", err)
	}
}

// Warm compiles every plugin that is ready, or those of them that are named, so
// that no call has to wait for it, and reports each as it is done; report may be
// nil. It stops when ctx ends.
func (h *Host) Warm(ctx context.Context, report func(name string, took time.Duration, err error), names ...string) {
	inner, err := h.enter(ctx)
	if err != nil {
		return
	}
	defer h.leave(inner)
	ctx = inner
	if report == nil {
		report = func(string, time.Duration, error) {}
	}
	done := map[slotKey]bool{}
	for try := 0; h.warm(ctx, names, done, try > 0, report) && h.Reload(ctx) == nil; try++ {
	}
}

// warm compiles what is not done yet. again says that files are not those that
// were scanned; last reports them instead.
func (h *Host) warm(ctx context.Context, names []string, done map[slotKey]bool, last bool, report func(string, time.Duration, error)) (again bool) {
	p := h.current.Load()
	for _, one := range p.plugins {
		if len(names) > 0 && !slices.Contains(names, one.info.Name) {
			continue
		}
		for _, s := range one.slots {
			key := slotKey{s.plugin.Source, s.plugin.WasmSHA256, s.memory}
			if ctx.Err() != nil || done[key] {
				continue
			}
			began := time.Now()
			_, err := s.take(ctx)
			if err == nil {
				s.give()
			} else if !last && (errors.Is(err, registry.ErrChanged) || errors.Is(err, errRetired)) {
				again = true
				continue
			}
			done[key] = true
			report(one.info.Name, time.Since(began), err)
		}
	}
	return again
}
