package host

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/weirhost/weir/host/internal/catalog"
	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// newCatalog returns the catalog of a host; it decides which plugins may run.
func newCatalog(h *Host) *catalog.Catalog {
	return catalog.New(catalog.Config{
		Store: storeOf(h.cfg), Grants: h.grants, Resolver: grant.Resolver{Secret: h.cfg.Secret, Transport: h.cfg.Transport},
		Options: func() registry.Options {
			return registry.Options{Version: h.cfg.Version, Describe: h.lister.List, Index: h.index}
		},
		Limits: func(spec tool.Spec, owner string) plugin.ToolInfo { return h.live.Load().ladder(spec, owner) },
		Now:    h.cfg.Now, Log: h.log,
	})
}

// storeOf returns the lock file that a Config names, nil if it names none.
func storeOf(cfg Config) *lockfile.Store {
	if cfg.Lock == "" {
		return nil
	}
	return &lockfile.Store{File: cfg.Lock, Copies: cmp.Or(cfg.Approved, filepath.Join(filepath.Dir(cfg.Lock), "approved"))}
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
	if err := h.Reload(ctx); err != nil {
		return plugin.Review{}, err
	}
	h.reloading.Lock() // the next scan may change the manifests of the plan
	defer h.reloading.Unlock()
	p := h.current.Load()
	infos := p.infos()
	i := slices.IndexFunc(infos, func(info plugin.Info) bool { return info.Name == name })
	if i < 0 {
		return plugin.Review{}, h.catalog.Unknown(p.snap, name)
	}
	return h.catalog.Review(infos[i], p.plugins[i].entry), nil
}

// update applies a change to the lock file, calls then, if it is not nil, and puts
// the result in force. What the scan found is in force even if the change fails.
func (h *Host) update(ctx context.Context, change catalog.Change, then func() error) error {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	snap, err := h.scan(ctx, 0)
	if err != nil {
		return err
	}
	failed := h.catalog.Update(h.ending, snap, change)
	if failed == nil {
		if then != nil {
			failed = then()
		}
		if snap, err = h.scan(ctx, 0); err != nil { // files may be gone
			return err
		}
	}
	if _, err := h.install(ctx, snap); err != nil {
		return err
	}
	return failed
}
