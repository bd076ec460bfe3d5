package host

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/snapshot"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/watch"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// defaultGrace is how long the files of a working plugin may be unusable and unchanged
// before the plugin is refused: a program may pause while it writes them.
const defaultGrace = 3 * time.Second

// ReloadOptions are options of Reload. The zero value scans the folders again.
type ReloadOptions struct {
	// Force refuses broken plugins at once, except those whose files change at this
	// moment. Otherwise a plugin whose files break under a Watch runs its earlier
	// version for a few seconds.
	Force bool
	// Grants returns new Settings.Grants. If it fails, Reload changes nothing and
	// returns its error. If nil, the grants stay.
	Grants func() (map[string]plugin.Grant, error)
}

// Reload scans the folders again and returns what changed. Running calls finish with
// the version with which they began. The error is ErrClosed, that of ctx or that of
// Grants; the plugins then stay, and new grants apply from the next reload on.
func (h *Host) Reload(ctx context.Context, opt ReloadOptions) (Change, error) {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	if opt.Grants != nil {
		grants, err := opt.Grants()
		if err != nil {
			return Change{}, err
		}
		next := *h.settings.Load()
		next.Grants = grants
		h.settings.Store(&next)
	}
	grace := h.grace
	if opt.Force {
		grace = 0
	}
	return h.rescan(ctx, grace)
}

// reload is Reload without options and Change.
func (h *Host) reload(ctx context.Context) error {
	_, err := h.Reload(ctx, ReloadOptions{})
	return err
}

// reloadFrom reloads unless another goroutine has replaced seen already.
func (h *Host) reloadFrom(ctx context.Context, seen *snapshot.Snapshot) error {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	if h.current.Load() != seen {
		return ctx.Err()
	}
	_, err := h.rescan(ctx, h.grace)
	return err
}

// rescan scans the folders and installs the result; h.reloading must be held.
func (h *Host) rescan(ctx context.Context, grace time.Duration) (Change, error) {
	found, err := h.scan(ctx, grace)
	if err != nil {
		return Change{}, err
	}
	return h.install(ctx, found)
}

// scan reads the folders; h.reloading must be held. If the folders are watched, broken
// files that changed less than grace ago leave their plugin unchanged.
func (h *Host) scan(ctx context.Context, grace time.Duration) (*registry.Snapshot, error) {
	opt := h.scanOptions()
	opt.InFlux, opt.Known, opt.Previous = h.unsettled(grace), h.catalog.KnownSources(), h.current.Load().Scan
	found := registry.Scan(ctx, h.settings.Load().Folders, opt)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, pl := range found.Plugins {
		h.catalog.AddImpliedAsks(pl)
	}
	h.catalog.RenameInvalid(found)
	h.engines.Load().ExplainUnlisted(found)
	return found, nil
}

// scanOptions returns how a plugin's files are read.
func (h *Host) scanOptions() registry.Options {
	return registry.Options{Version: h.cfg.Version, Describe: h.lister.List, Index: h.index, Judges: h.engines.Load().Judges}
}

// install replaces the current snapshot by one of what a scan found; h.reloading must
// be held.
func (h *Host) install(ctx context.Context, found *registry.Snapshot) (Change, error) {
	old := h.current.Load()
	decision := h.catalog.Decide(h.closing, found)
	next := snapshot.New(h.snapshotConfig(), decision, old)
	next.Preload(ctx, old)
	if err := ctx.Err(); err != nil {
		next.Retire(old)
		return Change{}, err
	}
	if !h.swap(next) {
		next.Retire(old)
		return Change{}, ErrClosed
	}
	h.saveIndex()
	h.finder.Update(h.Tools())
	change := next.Changes(old)
	h.logChange(old, next, change)
	old.Retire(next)
	if old.Scan != nil && !change.Empty() {
		h.changed.Send()
	}
	return change, nil
}

// swap makes next the current snapshot, unless the Host is closed.
func (h *Host) swap(next *snapshot.Snapshot) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.current.Store(next)
	return true
}

// Watch reloads when files in the plugin folders have changed and no longer change.
// It returns when ctx ends or the Host closes. A working plugin keeps working while its
// files are written. poll is the interval between scans of the folders; 0 or negative:
// when the system reports changes, and every two seconds where it does not. Only one
// Watch may run at a time.
func (h *Host) Watch(ctx context.Context, poll time.Duration) error {
	return h.watch(ctx, watch.Config{Poll: poll})
}

func (h *Host) watch(ctx context.Context, cfg watch.Config) error {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	cfg.More, cfg.Logger = h.pluginFiles, h.log.Named("watch")
	for _, f := range h.settings.Load().Folders {
		cfg.Folders = append(cfg.Folders, f.Path)
	}
	w := watch.New(cfg)
	h.watching.Store(w)
	defer h.watching.Store(nil)
	return w.Run(ctx, func(ctx context.Context) time.Duration {
		if err := h.reload(ctx); err != nil {
			return 0 // ctx has ended, or the Host is closed
		}
		return h.nextScan(w.Quiet())
	})
}

// pluginFiles returns the files of the current plugins, in whatever folder they are.
func (h *Host) pluginFiles() []string {
	var out []string
	for _, p := range h.current.Load().Scan.Plugins {
		out = append(out, p.Paths()...)
	}
	return out
}

// unsettled returns a function that reports whether a scan skips a plugin because its
// files may still change. It returns nil if the folders are not watched: no later scan
// would find the plugin.
func (h *Host) unsettled(grace time.Duration) func(source string, broken bool) bool {
	w := h.watching.Load()
	if w == nil {
		return nil
	}
	return func(source string, broken bool) bool {
		if filepath.Base(source) == registry.ManifestName {
			source = filepath.Dir(source)
		}
		still := w.Still(source)
		return still < w.Quiet() || broken && still < grace
	}
}

// nextScan returns the delay until the next scan of plugins that the last one skipped;
// 0: it skipped none.
func (h *Host) nextScan(quiet time.Duration) time.Duration {
	delay := time.Duration(0)
	for _, skipped := range h.current.Load().Scan.InFlux {
		switch {
		case skipped.Asked: // the answer triggers a reload
		case len(skipped.Problems) == 0:
			return quiet
		default:
			delay = max(quiet, h.grace/3)
		}
	}
	return delay
}

// awaitSettled waits for a reload that changes a plugin, or for a short time. It
// reports whether to try the call again.
func (h *Host) awaitSettled(ctx context.Context, changed <-chan struct{}, deadline time.Time) bool {
	w := h.watching.Load()
	if w == nil || time.Now().After(deadline) {
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

// protectedPaths returns Config.ReadOnly and the plugin folders.
func (h *Host) protectedPaths() []string {
	out := slices.Clone(h.cfg.ReadOnly)
	for _, f := range h.settings.Load().Folders {
		// A bare name would be protected in every folder.
		if abs, err := filepath.Abs(f.Path); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

// followServers reloads when the tools of an MCP server have changed.
func (h *Host) followServers() {
	defer h.calls.Done()
	for {
		select {
		case <-h.servers.Changed():
			if h.reload(h.closing) != nil {
				return
			}
		case <-h.closing.Done():
			return
		}
	}
}

// WaitServers waits until every MCP server has answered or failed for the first time,
// or ctx ends. Before that, its tools are unknown.
func (h *Host) WaitServers(ctx context.Context) error {
	h.servers.Wait(ctx)
	if len(h.servers.Servers()) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	return h.reload(ctx)
}

// RestartServer starts an MCP server again, waits until it has answered or failed, and returns
// its state. Its running calls fail. The error is that of ctx, or a *plugin.Error if there is
// no server of that name.
func (h *Host) RestartServer(ctx context.Context, name string) (plugin.Info, error) {
	ok, err := h.servers.Restart(ctx, name)
	if !ok {
		return plugin.Info{}, h.noServer(name)
	}
	if err != nil && ctx.Err() != nil { // one that is down has its reason in its state
		return plugin.Info{}, ctx.Err()
	}
	if err := h.reload(ctx); err != nil {
		return plugin.Info{}, err
	}
	for _, p := range h.Plugins() {
		if p.Kind == plugin.KindServer && p.Name == name {
			return p, nil
		}
	}
	return plugin.Info{}, h.noServer(name) // it was removed meanwhile
}

// noServer returns the error of a request for a server that is none.
func (h *Host) noServer(name string) error {
	var names []string
	for _, server := range h.servers.Servers() {
		names = append(names, server.Settings.Name)
	}
	hint := tool.Textf("there are none: `weir mcp add` writes one into tools.toml")
	if near := text.Nearest(name, names); len(near) > 0 {
		hint = tool.Textf("did you mean one of these: %s", strings.Join(near, ", "))
	} else if len(names) > 0 {
		hint = tool.Textf("use one of: %s", strings.Join(names, ", "))
	}
	return &plugin.Error{Code: plugin.CodeUnknown, Msg: tool.Textf("there is no MCP server named %q", text.OneLine(name, 80)), Hint: hint}
}

// MissingServers returns the names of the MCP servers whose tools are missing, and of those
// among them that have neither answered nor failed yet.
func (h *Host) MissingServers() (missing, starting []string) {
	infos := h.Plugins()
	for _, server := range h.servers.Servers() {
		name := server.Settings.Name
		if slices.ContainsFunc(infos, func(p plugin.Info) bool {
			return p.Kind == plugin.KindServer && p.Name == name && p.State != plugin.Pending
		}) {
			continue
		}
		missing = append(missing, name)
		if !server.Failed() {
			starting = append(starting, name)
		}
	}
	return missing, starting
}
