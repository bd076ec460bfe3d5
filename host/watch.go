package host

import (
	"context"
	"path/filepath"
	"time"

	"github.com/weirhost/weir/host/internal/catalog"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/watch"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	// defaultPatience is how long the files of a plugin that works may be
	// unusable, and at rest, before it is refused: writers pause.
	defaultPatience = 3 * time.Second
)

// Watch reloads when something in the plugin folders has changed and has come
// to rest, until ctx ends or the Host is closed. A plugin that works goes on
// working while its files are being written. poll is how often the folders are
// looked at; 0 or negative: when the system tells of changes, and every two
// seconds where it does not. One Watch may run at a time.
func (h *Host) Watch(ctx context.Context, poll time.Duration) error {
	return h.watch(ctx, watch.Config{Poll: poll})
}

func (h *Host) watch(ctx context.Context, cfg watch.Config) error {
	inner, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer h.leave(inner)
	ctx = inner
	cfg.More, cfg.Logger = h.moduleFiles, h.log.Named("watch")
	for _, f := range h.live.Load().Folders {
		cfg.Folders = append(cfg.Folders, f.Path)
	}
	w := watch.New(cfg)
	h.watching.Store(w)
	defer h.watching.Store(nil)
	return w.Run(ctx, func(ctx context.Context) time.Duration {
		if err := h.Reload(ctx); err != nil {
			return 0 // ctx has ended, or the Host is closed
		}
		return h.unfinished(w.Quiet())
	})
}

// Rescan is a Reload that a person asks for: what is broken is refused at once,
// unless it is being written this very moment. It says what became different.
func (h *Host) Rescan(ctx context.Context) (Change, error) { return h.reload(ctx, nil, 0) }

// moduleFiles returns the files of the current modules, in whatever folder they are.
func (h *Host) moduleFiles() []string {
	var out []string
	for _, p := range h.current.Load().snap.Plugins {
		out = append(out, p.WasmPath)
	}
	return out
}

// holder says for a scan which files are to be given time; nil: none, for
// nobody would look at them again.
func (h *Host) holder(patience time.Duration) func(source string, broken bool) bool {
	w := h.watching.Load()
	if w == nil {
		return nil
	}
	return func(source string, broken bool) bool {
		if filepath.Base(source) == registry.ManifestName {
			source = filepath.Dir(source)
		}
		still := w.Still(source)
		return still < w.Quiet() || broken && still < patience
	}
}

// unfinished is after how long to scan again because of files that were given
// time; 0: there are none.
func (h *Host) unfinished(quiet time.Duration) time.Duration {
	again := time.Duration(0)
	for _, held := range h.current.Load().snap.Held {
		switch {
		case held.Asked: // whoever asks reloads when there is an answer
		case len(held.Problems) == 0:
			return quiet
		default:
			again = max(quiet, h.patience/3)
		}
	}
	return again
}

// addHeld lists plugins whose files are still being written.
func (p *plan) addHeld(list []registry.Held) {
	for _, held := range list {
		if !held.Serves {
			p.plugins = append(p.plugins, planned{info: plugin.Info{
				Name: held.Name, State: plugin.Pending, Source: held.Source, Trust: catalog.TrustOf(held.Folder),
				Why: tool.Textf("its files are still being written"), Fix: tool.Textf("no action needed: weir scans again when the files stop changing"),
			}})
			continue
		}
		for i := range p.plugins {
			if info := &p.plugins[i].info; info.Source == held.Source {
				why := tool.Textf("its files are being written; the earlier version runs until then")
				if held.Asked {
					why = tool.Textf("its new version is asked for its tools; the earlier version runs until then")
				}
				info.Problems = append(info.Problems, why)
			}
		}
	}
}

// preload loads the modules that replace loaded ones of the old plan.
func (h *Host) preload(ctx context.Context, old, next *plan) {
	if old == nil {
		return
	}
	var replaced []*runner.Module
	for key, m := range next.modules {
		if old.modules[key] != m && old.loaded(key.Source) {
			replaced = append(replaced, m)
		}
	}
	runner.Preload(ctx, replaced)
}

// loaded reports whether a module of the plugin is loaded.
func (p *plan) loaded(source string) bool {
	for key, m := range p.modules {
		if key.Source == source && m.Loaded() {
			return true
		}
	}
	return false
}

// awaitRest waits until what a call needs may have come to rest: for a reload
// that makes a difference, or a while. It reports whether to try again.
func (h *Host) awaitRest(ctx context.Context, changed <-chan struct{}, until time.Time) bool {
	w := h.watching.Load()
	if w == nil || time.Now().After(until) {
		return false
	}
	t := time.NewTimer(w.Quiet())
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
