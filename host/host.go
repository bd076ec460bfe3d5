package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/cancelscope"
	"github.com/weirhost/weir/host/internal/catalog"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/internal/upstream"
	"github.com/weirhost/weir/host/internal/watch"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// ErrClosed is what a call on a closed Host answers.
var ErrClosed = errors.New("the host is closed")

// A Host runs tools. It is safe for concurrent use.
type Host struct {
	cfg       Config
	log       hclog.Logger
	engines   atomic.Pointer[runner.Engines]
	archive   archive.Store
	callLog   CallLog       // nil: none
	builtin   history.Tools // load_tool_history and search_tool_history
	temp      string        // the archive's folder when nobody named one
	answers   *answer.Cache
	catalog   *catalog.Catalog // which plugins may run
	index     *modindex.Index
	memory    approval.Memory
	largeText sync.Mutex         // see withLargeText
	running   *sched.Limiter     // slots for the guests that run
	modules   *runner.Cache      // the loaded modules
	lister    *runner.ToolLister // asks plugins made for other hosts for their tools
	foreign   atomic.Int64       // numbers their calls
	servers   *upstream.Set

	reloading sync.Mutex
	current   atomic.Pointer[plan]
	live      atomic.Pointer[live]
	watching  atomic.Pointer[watch.Watcher] // nil: nobody watches
	patience  time.Duration                 // how long broken files may be at rest before they are refused
	changed   signal

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	ending context.Context // done when the Host closes
	end    context.CancelFunc
	inside *cancelscope.Group // the calls, which end with it
}

// Open scans the folders and opens the archive. A plugin that cannot be used is
// no error: Plugins tells about it. The error is about the Config, the archive
// or the cache folder.
func Open(ctx context.Context, cfg Config) (h *Host, err error) {
	settings, err := cfg.Live().ready()
	if err != nil {
		return nil, err
	}
	h = &Host{cfg: cfg, log: cfg.Logger, answers: answer.NewCache(answer.CacheBytes)}
	h.live.Store(settings)
	if h.log == nil {
		h.log = hclog.NewNullLogger()
	}
	if h.cfg.Now == nil {
		h.cfg.Now = time.Now
	}
	h.running = sched.New(h.slots(settings.Live))
	h.modules = runner.NewCache(cfg.Loaded)
	h.patience = defaultPatience
	h.ending, h.end = context.WithCancel(context.WithoutCancel(ctx))
	h.inside = cancelscope.NewGroup(h.ending)
	defer func() {
		if err != nil {
			h.release()
			h = nil
		}
	}()
	if err := h.openArchive(ctx); err != nil {
		return h, err
	}
	room, err := runner.Open(ctx, settings.Sandbox, h.enginesConfig())
	if err != nil {
		return h, err
	}
	h.engines.Store(room)
	h.openIndex()
	h.catalog = newCatalog(h)
	h.lister = runner.NewToolLister(h.listerConfig())
	h.openServers()
	if err := h.Reload(ctx); err != nil {
		return h, err
	}
	if cfg.Ahead > 0 && room.HasWorkers() {
		go h.precompile()
	}
	return h, nil
}

func (h *Host) openArchive(ctx context.Context) (err error) {
	cfg := h.cfg.Archive
	if cfg.Path == "" {
		if h.temp, err = os.MkdirTemp("", "weir-archive-"); err != nil {
			return fmt.Errorf("no place for whole results: %w", err)
		}
		cfg.Path = filepath.Join(h.temp, "archive.db")
	}
	if cfg.Logger == nil {
		cfg.Logger = h.log.Named("archive")
	}
	if cfg.Now == nil {
		cfg.Now = h.cfg.Now
	}
	results, err := archive.Open(ctx, cfg)
	if err != nil {
		return err
	}
	h.archive = results
	h.builtin = history.Tools{Store: results, Log: h.log}
	return nil
}

// Reload scans the folders again. Calls that run finish on what they began
// with. The error is ErrClosed or the end of ctx; the old plugins then stay.
func (h *Host) Reload(ctx context.Context) error {
	_, err := h.reload(ctx, nil, h.patience)
	return err
}

// reload is Reload, unless the plan in force is another than seen; nil: every
// one. Files that cannot be used and are at rest for less than patience leave
// their plugin as it was, if the folders are watched.
func (h *Host) reload(ctx context.Context, seen *plan, patience time.Duration) (Change, error) {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	old := h.current.Load()
	if seen != nil && seen != old {
		return Change{}, ctx.Err()
	}
	snap, err := h.scan(ctx, patience)
	if err != nil {
		return Change{}, err
	}
	return h.install(ctx, snap)
}

// kept are Config.Kept and the plugin folders.
func (h *Host) kept() []string {
	out := slices.Clone(h.cfg.Kept)
	for _, f := range h.live.Load().Folders {
		// Bare names would be kept everywhere.
		if abs, err := filepath.Abs(f.Path); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

// scan reads the folders; h.reloading must be held.
func (h *Host) scan(ctx context.Context, patience time.Duration) (*registry.Snapshot, error) {
	opt := registry.Options{Version: h.cfg.Version, Describe: h.lister.List, Hold: h.holder(patience), Known: h.catalog.KnownSources(), Index: h.index}
	if old := h.current.Load(); old != nil {
		opt.Previous = old.snap
	}
	var folders []registry.Folder
	for _, f := range h.live.Load().Folders {
		folders = append(folders, registry.Folder{Path: f.Path, Trust: registry.Trust(f.Trust)})
	}
	snap := registry.Scan(ctx, folders, opt)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, pl := range snap.Plugins {
		h.catalog.AddImpliedAsks(pl)
	}
	h.catalog.RenameInvalid(snap)
	h.tellQuarantine(snap)
	return snap, nil
}

// install puts what a scan found in force; h.reloading must be held.
func (h *Host) install(ctx context.Context, snap *registry.Snapshot) (Change, error) {
	old := h.current.Load()
	next := h.plan(h.catalog.Decide(h.ending, snap), old)
	h.preload(ctx, old, next)
	if err := ctx.Err(); err != nil {
		next.retire(old)
		return Change{}, err
	}
	if !h.swap(next) {
		next.retire(old)
		return Change{}, ErrClosed
	}
	h.saveIndex()
	change := compare(old, next)
	h.tell(old, next, change)
	old.retire(next)
	if old != nil && !change.Empty() {
		h.changed.send()
	}
	return change, nil
}

// swap puts a plan in force, unless the Host is closed.
func (h *Host) swap(next *plan) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.current.Store(next)
	return true
}

// retire lets go of the modules that the next plan does not use.
func (p *plan) retire(next *plan) {
	if p == nil {
		return
	}
	for key, m := range p.modules {
		if next == nil || next.modules[key] != m {
			m.Retire()
		}
	}
}

// Close ends the calls that run, and lets go of everything. A module that is
// being compiled is finished in the background and thrown away. Closing twice
// is allowed.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.calls.Wait()
	h.current.Load().retire(nil)
	h.saveIndex()
	return h.release()
}

// release frees what Open acquired.
func (h *Host) release() error {
	h.end()
	if h.servers != nil {
		h.servers.Close()
	}
	var errs []error
	if e := h.engines.Load(); e != nil { // what still holds them runs no more
		errs = append(errs, e.Close())
	}
	if h.archive != nil {
		errs = append(errs, h.archive.Close())
	}
	if h.temp != "" {
		errs = append(errs, os.RemoveAll(h.temp))
	}
	return errors.Join(errs...)
}

// enter admits a call, unless the Host is closed. The context it returns ends
// with the Host; leave must be called behind the call.
func (h *Host) enter(ctx context.Context) (*cancelscope.Context, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	h.calls.Add(1)
	return h.inside.Enter(ctx), nil
}

// leave ends a call that was admitted.
func (h *Host) leave(inner *cancelscope.Context) {
	inner.Leave()
	h.calls.Done()
}

// Plugins lists every plugin that was found, by name, with its state and what
// would change it.
func (h *Host) Plugins() []plugin.Info { return h.current.Load().infos() }

// Tools lists the tools that can be called, by name, the host's own last.
func (h *Host) Tools() []plugin.ToolInfo {
	var out []plugin.ToolInfo
	for _, b := range h.current.Load().usable() {
		out = append(out, b.info)
	}
	for _, spec := range history.Specs(tool.En) {
		out = append(out, ownInfo(spec))
	}
	return out
}

// Tool is one of Tools, by its name, at the same cost however many there are.
func (h *Host) Tool(name string) (plugin.ToolInfo, bool) {
	if b, ok := h.current.Load().tools[name]; ok && b.source.Refusal() == nil {
		return b.info, true
	}
	for _, spec := range history.Specs(tool.En) {
		if spec.Name == name {
			return ownInfo(spec), true
		}
	}
	return plugin.ToolInfo{}, false
}

// ownInfo tells about one of the host's own tools.
func ownInfo(spec tool.Spec) plugin.ToolInfo {
	return plugin.ToolInfo{Spec: spec, Declared: spec.Output, Effective: spec.Output}
}

// Archive returns the archive of the whole results.
func (h *Host) Archive() archive.Store { return h.archive }
