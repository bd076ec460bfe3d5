package host

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/runner"
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
	done := map[runner.Key]bool{}
	for try := 0; h.warm(ctx, names, done, try > 0, report) && h.Reload(ctx) == nil; try++ {
	}
}

// warm compiles what is not done yet. again says that files are not those that
// were scanned; last reports them instead.
func (h *Host) warm(ctx context.Context, names []string, done map[runner.Key]bool, last bool, report func(string, time.Duration, error)) (again bool) {
	p := h.current.Load()
	for _, one := range p.plugins {
		if len(names) > 0 && !slices.Contains(names, one.info.Name) {
			continue
		}
		for _, m := range one.modules {
			if ctx.Err() != nil || done[m.Key()] {
				continue
			}
			took, changed, err := runner.Warm(ctx, m)
			if changed && !last {
				again = true
				continue
			}
			done[m.Key()] = true
			report(one.info.Name, took, err)
		}
	}
	return again
}
