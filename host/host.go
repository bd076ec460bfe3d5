package host

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/catalog"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/judge"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/memory"
	"github.com/weirhost/weir/host/internal/memsnap"
	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/internal/scriptproc"
	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/host/internal/snapshot"
	"github.com/weirhost/weir/host/internal/toolfind"
	"github.com/weirhost/weir/host/internal/upstream"
	"github.com/weirhost/weir/host/internal/watch"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// ErrClosed is the error of every method of a closed Host.
var ErrClosed = msg.Errorf("the host is closed")

// A Host runs tools. It is safe for concurrent use.
type Host struct {
	cfg     Config // of Open; the current Settings are in settings
	log     hclog.Logger
	engines atomic.Pointer[runner.Engines]
	// openMemories opens the memories of plugins in this process, which hides itself when
	// it has worker processes.
	openMemories func() (*memsnap.Space, error)
	archive      archive.Store
	callLog      CallLog                                      // nil: none
	quota        func(context.Context, Principal) *tool.Error // nil: none
	builtin      history.Tools                                // load_tool_history and search_tool_history
	meaning      *memory.Memory                               // vectors and summaries of results
	temp         string                                       // folder of a temporary archive; empty: none
	answers      *answer.Cache
	lock         *sharedlock.Lock // weir.lock; nil: none
	catalog      *catalog.Catalog // which plugins may run
	index        *modindex.Index
	memory       approval.Memory
	largeText    largeTexts
	running      *sched.Limiter     // slots for the guests that run
	modules      *runner.Cache      // the loaded modules
	lister       *runner.ToolLister // asks third-party plugins for their tools
	remote       atomic.Int64       // numbers the calls of third-party plugins
	servers      *upstream.Set
	offline      *egress.Client // of plugins without a network: it refuses every host

	reloading sync.Mutex // held by everything that replaces current or settings
	current   atomic.Pointer[snapshot.Snapshot]
	settings  atomic.Pointer[activeSettings]
	watching  atomic.Pointer[watch.Watcher] // nil: no Watch runs
	grace     time.Duration                 // see defaultGrace
	changed   signal.Signal
	finder    toolfind.Finder

	mu      sync.Mutex // guards closed, and calls against Close
	closed  bool
	calls   sync.WaitGroup
	closing context.Context // done when the Host closes
	cancel  context.CancelFunc
}

// Open scans the folders and opens the archive. A plugin that cannot be used is no
// error: Plugins lists it with the reason. The error is about the Config, the archive
// or the cache folder.
func Open(ctx context.Context, cfg Config) (h *Host, err error) {
	settings, err := cfg.Settings.compile()
	if err != nil {
		return nil, err
	}
	h = &Host{cfg: cfg, log: cmp.Or(cfg.Logger, hclog.NewNullLogger()), answers: answer.NewCache(answer.CacheBytes), grace: defaultGrace}
	h.settings.Store(settings)
	h.current.Store(&snapshot.Snapshot{})
	if h.cfg.Now == nil {
		h.cfg.Now = time.Now
	}
	h.running = sched.New(h.slots(settings.Settings))
	h.modules = runner.NewCache(cfg.Loaded)
	if h.offline, err = egress.New(egress.Policy{}); err != nil {
		return nil, err
	}
	h.closing, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			h.release()
			h = nil
		}
	}()
	if err := h.openArchive(ctx); err != nil {
		return h, err
	}
	h.openMemories = memsnap.Opener()
	engines, err := runner.Open(ctx, settings.Sandbox, h.enginesConfig())
	if err != nil {
		return h, err
	}
	h.engines.Store(engines)
	h.openIndex()
	h.catalog = h.newCatalog()
	h.lister = runner.NewToolLister(h.listerConfig())
	h.servers = upstream.NewSet(cfg.Version, h.log.Named("mcp"))
	h.servers.Replace(settings.Servers)
	h.calls.Add(1)
	go h.followServers()
	if err := h.reload(ctx); err != nil {
		return h, err
	}
	h.calls.Go(func() {
		h.lock.Follow(h.closing, func() string { return h.current.Load().Revision }, func() { _ = h.reload(h.closing) })
	})
	if cfg.PrecompileDelay > 0 && engines.HasWorkers() {
		go h.precompile()
	}
	return h, nil
}

func (h *Host) openArchive(ctx context.Context) (err error) {
	cfg := h.cfg.Archive
	if cfg.Path == "" {
		if h.temp, err = os.MkdirTemp("", "weir-archive-"); err != nil {
			return msg.Errorf("the folder for whole results cannot be created: %w", err)
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
	h.meaning = memory.New(results, h.log, h.memoryConfig)
	h.builtin = history.Tools{Store: results, Near: h.meaning.Near, Log: h.log}
	if err = h.finder.Open(ctx, results.DB(), h.log, h.cfg.Now); err == nil && h.cfg.LockURL != "" {
		h.lock, err = sharedlock.Read(ctx, h.cfg.LockURL, h.cfg.Lock, h.cfg.Approved, h.log)
	} else if err == nil {
		h.lock, err = sharedlock.Open(ctx, results.DB(), h.cfg.Lock, h.cfg.Approved, h.log)
	}
	if err != nil {
		return err
	}
	h.finder.Configure(h.settings.Load().ToolSearch)
	h.calls.Go(func() { h.meaning.Run(h.closing) })
	h.calls.Go(func() { h.finder.Run(h.closing) })
	return nil
}

// Close cancels the running calls, waits for them and releases everything. A
// compilation finishes in the background; its result is discarded. Further calls of
// Close return nil.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.calls.Wait()
	h.finder.Rest()
	h.current.Load().Retire(&snapshot.Snapshot{})
	h.saveIndex()
	return h.release()
}

// release frees what Open acquired.
func (h *Host) release() error {
	h.cancel()
	if h.servers != nil {
		h.servers.Close()
	}
	errs := []error{h.lock.Close()}
	if e := h.engines.Load(); e != nil { // no call uses them
		errs = append(errs, e.Close())
	}
	if h.archive != nil {
		errs = append(errs, h.archive.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(h.temp))...) // of an empty name: nothing
}

// enter starts a call, unless the Host is closed. The returned context ends with the
// Host. The caller must call leave after the call.
func (h *Host) enter(ctx context.Context) (inner context.Context, leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, ErrClosed
	}
	h.calls.Add(1)
	inner, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.closing, cancel)
	return inner, func() {
		stop()
		cancel()
		h.calls.Done()
	}, nil
}

// Plugins returns all plugins by name, with their states and how to change them.
func (h *Host) Plugins() []plugin.Info { return h.current.Load().Infos() }

// Tools returns the callable tools: those of plugins by name, then the host's own.
func (h *Host) Tools() []plugin.ToolInfo {
	var out []plugin.ToolInfo
	for _, t := range h.current.Load().Usable() {
		out = append(out, t.Info)
	}
	for _, spec := range h.ownTools() {
		out = append(out, builtinInfo(spec))
	}
	return out
}

// Tool returns one of Tools by its name. Its cost does not depend on their number.
func (h *Host) Tool(name string) (plugin.ToolInfo, bool) {
	if t, ok := h.current.Load().Tools[name]; ok && t.Source.Refusal() == nil {
		return t.Info, true
	}
	for _, spec := range h.ownTools() {
		if spec.Name == name {
			return builtinInfo(spec), true
		}
	}
	return plugin.ToolInfo{}, false
}

// LimitsIf returns the limits of a call of the named tool, by which layer, if the operator
// set l for it, for an agent with a limit of chars; 0: no agent calls. A tool that does not
// exist declares nothing.
func (h *Host) LimitsIf(name string, l tool.Limits, chars int) (tool.Limits, limit.By) {
	set, spec := h.settings.Load(), tool.Spec{Name: name}
	if t := h.current.Load().Tools[name]; t != nil {
		spec.Output = t.Info.Declared
	}
	info := set.limits.Effective(spec, "", l.Or(h.limitsOf(name)), 0)
	return set.limits.Within(&info, chars)
}

// DecideIf returns how much of the results of the named tool is shown, and who decides it,
// for an agent with a limit of chars (0: no agent calls), if the operator set maxChars for
// the tool and the ceiling. Of both nil is what they are, and 0 of maxChars that the
// operator says nothing.
func (h *Host) DecideIf(name string, maxChars, ceiling *int, chars int) plugin.Decision {
	set := h.settings.Load()
	layers := *set.limits
	if ceiling != nil && *ceiling > 0 {
		layers.Ceiling = *ceiling
	}
	l := h.limitsOf(name)
	if maxChars != nil {
		l.MaxChars = max(*maxChars, 0)
	}
	spec := tool.Spec{Name: name}
	if t := h.current.Load().Tools[name]; t != nil {
		spec.Output = t.Info.Declared
	}
	info := layers.Effective(spec, "", l, 0)
	return layers.Decide(&info, chars)
}

// Ceiling returns the most characters that are shown of any result but a load.
func (h *Host) Ceiling() int { return h.settings.Load().limits.Ceiling }

// ownTools returns the host's own tools.
func (h *Host) ownTools() []tool.Spec {
	return history.Specs(tool.En, h.settings.Load().Archive.UserScope)
}

func builtinInfo(spec tool.Spec) plugin.ToolInfo {
	return plugin.ToolInfo{Spec: spec, Declared: spec.Output, Effective: spec.Output}
}

// WorkerMain runs a worker process, which runs one plugin for a Host. A program that
// names itself in Config.WorkerCommand calls it first:
//
//	if code, ok := host.WorkerMain(); ok {
//		os.Exit(code)
//	}
//
// ok is false, and nothing has happened, unless the process was started as a worker.
func WorkerMain() (code int, ok bool) {
	return worker.Main(worker.Tasks{worker.Manifests: judge.Serve, worker.Scripts: scriptproc.Serve})
}

// CanIsolate reports whether this system can run plugins in worker processes.
func CanIsolate() bool { return worker.Supported() }

// Archive returns the archive of the whole results.
func (h *Host) Archive() archive.Store { return h.archive }
