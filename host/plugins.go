package host

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/catalog"
	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// newCatalog returns the catalog, which decides which plugins may run.
func (h *Host) newCatalog() *catalog.Catalog {
	return catalog.New(catalog.Config{
		Store: h.lock, Resolver: h.resolver,
		Options: h.scanOptions,
		Limits: func(spec tool.Spec, pl *registry.Plugin) plugin.ToolInfo {
			set := h.settings.Load()
			own, _ := set.of(toolname.Names{Name: spec.Name})
			return set.limits.Effective(spec, pl.Manifest.Name, own.Limits, sandbox.DefaultMemoryOf(pl.IsGo))
		},
		Now: h.cfg.Now, Log: h.log,
	})
}

// Approve lets the version of a plugin run whose digest a person has reviewed. by is
// "cli", "page" or "api". It fails if the folder has other bytes by now. Calls that
// are running finish with the version that they began with. The error is a
// *plugin.Error, ErrClosed or that of ctx.
func (h *Host) Approve(ctx context.Context, name, digest, by string) error {
	return h.update(ctx, h.catalog.Approve(name, digest, by), nil)
}

// Rollback lets an earlier version run, and nothing else until the next approval. An
// empty digest means the previous version. A prefix of at least 6 digits suffices if
// it matches exactly one version.
func (h *Host) Rollback(ctx context.Context, name, digest string) error {
	return h.update(ctx, h.catalog.Rollback(name, digest), nil)
}

// Disable disables a plugin until Enable, across restarts.
func (h *Host) Disable(ctx context.Context, name, by string) error {
	return h.update(ctx, h.catalog.Disable(name, by), nil)
}

// Enable reverts Disable.
func (h *Host) Enable(ctx context.Context, name string) error {
	return h.update(ctx, h.catalog.Enable(name), nil)
}

// Remove deletes what the lock file has of a plugin, its copies and, if files is set,
// its files in the folder: the manifest, the module and what the manifest refers to.
// Of a folder that is a link, only the link is deleted. Without files, the plugin
// counts as new at once. If a file cannot be deleted, the plugin is forgotten all the
// same, and the Removal is valid together with the error.
func (h *Host) Remove(ctx context.Context, name string, files bool) (removed plugin.Removal, err error) {
	if !files {
		return removed, h.update(ctx, h.catalog.Remove(name, nil), nil)
	}
	var paths []string
	err = h.update(ctx, h.catalog.Remove(name, &paths), func() (err error) {
		removed, err = catalog.RemoveFiles(paths)
		return err
	})
	return removed, err
}

// Review scans the folders and returns everything about one plugin. The error is a
// *plugin.Error, ErrClosed or that of ctx.
func (h *Host) Review(ctx context.Context, name string) (plugin.Review, error) {
	if err := h.reload(ctx); err != nil {
		return plugin.Review{}, err
	}
	h.reloading.Lock() // the next scan may change the manifests
	defer h.reloading.Unlock()
	current := h.current.Load()
	infos := current.Infos()
	i := slices.IndexFunc(infos, func(info plugin.Info) bool { return info.Name == name })
	if i < 0 {
		return plugin.Review{}, h.catalog.Unknown(current.Scan, name)
	}
	return h.catalog.Review(infos[i], current.Plugins[i].Entry), nil
}

// update applies a change to the lock file, calls then, if it is not nil, and puts
// the result in force. What the scan found is in force even if the change fails.
func (h *Host) update(ctx context.Context, change catalog.Change, then func() error) error {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	found, err := h.scan(ctx, 0)
	if err != nil {
		return err
	}
	failed := h.catalog.Update(h.closing, found, change)
	if failed == nil {
		if then != nil {
			failed = then()
		}
		if found, err = h.scan(ctx, 0); err != nil { // files may be gone
			return err
		}
	}
	if _, err := h.install(ctx, found); err != nil {
		return err
	}
	return failed
}

// ErrNotQuarantined is the error of Retry for a plugin that is not in quarantine.
var ErrNotQuarantined = errors.New("the plugin is not in quarantine")

// Retry takes a plugin out of quarantine: its next call runs its module again. A
// third-party plugin that must be asked for its tools is asked at once, which may need
// as long as a Reload. The error is ErrNotQuarantined, or that of the quarantine's file.
func (h *Host) Retry(name string) error {
	engines := h.engines.Load()
	for _, one := range h.current.Load().Plugins {
		if one.Info.Name != name {
			continue
		}
		digest, unlisted := one.Info.SHA256, one.Info.State == plugin.Quarantined
		if e := one.Entry; e != nil && e.Refused != nil && e.Refused.ListFailed && engines.Quarantined(digest) == nil {
			digest, unlisted = e.Refused.WasmSHA256, true
		}
		if engines.Quarantined(digest) == nil {
			continue
		}
		if err := engines.Unquarantine(digest); err != nil || !unlisted {
			return err
		}
		return h.reload(context.Background())
	}
	return ErrNotQuarantined
}

// listerConfig connects the lister of third-party plugins' tools to the host.
func (h *Host) listerConfig() runner.ListerConfig {
	return runner.ListerConfig{
		CacheDir: h.cfg.CacheDir, Engines: h.engines.Load, Rescan: h.reload, Asking: h.cfg.Asking, Now: h.cfg.Now, Logger: h.log,
		Memory: func() tool.Bytes { return h.settings.Load().limits.Defaults.Memory },
		Admit:  func() (context.Context, func(), error) { return h.enter(context.Background()) },
	}
}

// indexFile, in Config.CacheDir, stores facts about the modules' files between runs.
const indexFile = "installed.json"

// openIndex loads the facts of earlier runs about the modules' files.
func (h *Host) openIndex() {
	file := ""
	if h.cfg.CacheDir != "" {
		file = filepath.Join(h.cfg.CacheDir, indexFile)
	}
	h.index = modindex.Open(file, h.cfg.Version)
}

// saveIndex stores the facts. Without them the next start reads the files again.
func (h *Host) saveIndex() {
	if err := h.index.Save(); err != nil {
		h.log.Warn("facts about the plugins' modules cannot be saved; the next start reads all modules again", "error", err)
	}
}

// Warm compiles the named plugins, or all if there are no names, and reports each when
// it is compiled. report may be nil. Warm stops when ctx ends.
func (h *Host) Warm(ctx context.Context, report func(name string, took time.Duration, err error), names ...string) {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return
	}
	defer leave()
	if report == nil {
		report = func(string, time.Duration, error) {}
	}
	done := map[runner.Key]bool{}
	last := false
	for h.warm(ctx, names, done, last, report) && h.reload(ctx) == nil {
		last = true
	}
}

// warm compiles the modules that are not in done. It returns true if files have changed
// since the scan; in the last pass it reports them instead.
func (h *Host) warm(ctx context.Context, names []string, done map[runner.Key]bool, last bool, report func(string, time.Duration, error)) (again bool) {
	for _, one := range h.current.Load().Plugins {
		if len(names) > 0 && !slices.Contains(names, one.Info.Name) {
			continue
		}
		for _, m := range one.Modules {
			if ctx.Err() != nil || done[m.Key()] {
				continue
			}
			took, changed, err := runner.Warm(ctx, m)
			if changed && !last {
				again = true
				continue
			}
			done[m.Key()] = true
			report(one.Info.Name, took, err)
		}
	}
	return again
}

// precompile compiles uncalled plugins in the background until the Host closes.
func (h *Host) precompile() {
	ctx, leave, err := h.enter(h.closing)
	if err != nil {
		return
	}
	defer leave()
	runner.Precompiler{Delay: h.cfg.PrecompileDelay, Changed: h.changed.Next, Logger: h.log, Modules: func() (all []*runner.Module) {
		for _, one := range h.current.Load().Plugins {
			all = append(all, one.Modules...)
		}
		return all
	}}.Run(ctx)
}
