package host

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Live is what of a Config can change while the Host runs. Its fields mean what
// they do there.
type Live struct {
	Defaults      tool.Limits
	CeilingChars  int
	Tools         map[string]ToolConfig
	Grants        map[string]plugin.Grant
	Approvals     approval.Policy
	Summarise     func(ctx context.Context, r SummaryRequest) (Summary, error)
	SummariseOver int
	Folders       []plugin.Folder
	Servers       []plugin.Server
	// Archive says how long results are kept and who sees them; its Path, Logger
	// and Now are those of the start.
	Archive  archive.Config
	Sandbox  Sandbox
	Parallel int
	Loaded   tool.Bytes
}

// Live returns that part of c.
func (c Config) Live() Live {
	return Live{
		Defaults: c.Defaults, CeilingChars: c.CeilingChars, Tools: c.Tools, Grants: c.Grants, Approvals: c.Approvals, Summarise: c.Summarise, SummariseOver: c.SummariseOver,
		Folders: c.Folders, Servers: c.Servers, Archive: c.Archive, Parallel: c.Parallel, Loaded: c.Loaded,
		Sandbox: Sandbox{Engine: c.Engine, Renewed: c.Renewed, Spares: c.Spares, Workers: c.Workers},
	}
}

// live is a Live made ready. It never changes; Apply puts another in its place.
type live struct {
	Live
	rules *approval.Rules
	keep  *limit.Highlights // Defaults.Keep
}

// Check reports what of l cannot be meant.
func (l Live) Check() error {
	_, err := l.ready()
	return err
}

func (l Live) ready() (*live, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if e := l.Sandbox.Engine; e != "" && e != EngineWazero && e != EngineExtism {
		return nil, fmt.Errorf("there is no engine %q; it can be %s or %s", e, EngineWazero, EngineExtism)
	}
	p, err := l.Approvals.Compile()
	if err != nil {
		return nil, err
	}
	if l.SummariseOver <= 0 {
		l.SummariseOver = DefaultSummariseOver
	}
	return &live{l, p, limit.CompileHighlights(l.Defaults.Keep)}, nil
}

// Apply puts l in force in one step, reads the plugin folders again and says
// what became different of the plugins. Calls that run finish under what they
// began with, in the sandbox and with the server that they began in. Where approvals have changed, what people allowed for good is
// forgotten: they are asked again. An error means that l cannot be meant, and
// nothing has changed, or it is the end of ctx or ErrClosed; then l holds from
// the next reload on.
func (h *Host) Apply(ctx context.Context, l Live) (Change, error) {
	next, err := l.ready()
	if err != nil {
		return Change{}, err
	}
	h.reloading.Lock()
	defer h.reloading.Unlock()
	room, err := h.exchange(ctx, next.Live)
	if err != nil {
		return Change{}, err
	}
	before := h.live.Swap(next)
	if room != nil {
		defer h.engines.Swap(room).Release()
	}
	h.running.Resize(h.slots(next.Live))
	h.modules.Resize(next.Loaded)
	h.archive.Configure(next.Archive)
	defer h.servers.Replace(next.Servers)()
	if !reflect.DeepEqual(before.Approvals, next.Approvals) {
		h.memory.ForgetAnswers()
	}
	change, err := h.rescan(ctx)
	if err == nil {
		h.tellUnknown(before)
	}
	return change, err
}

// exchange opens engines for another way to run plugins; nil: it is the same.
func (h *Host) exchange(ctx context.Context, l Live) (*runner.Engines, error) {
	if h.engines.Load().Settings().Equal(l.Sandbox) {
		return nil, nil
	}
	return runner.Open(context.WithoutCancel(ctx), l.Sandbox, h.enginesConfig())
}

// Regrant replaces what the plugins are granted, as the operator says now.
func (h *Host) Regrant(ctx context.Context, grants map[string]plugin.Grant) error {
	h.reloading.Lock()
	h.grant(grants)
	h.reloading.Unlock()
	return h.Reload(ctx)
}

// Refresh is Rescan under what the operator grants now, in one step. When it
// fails the grants hold from the next reload on.
func (h *Host) Refresh(ctx context.Context, grants map[string]plugin.Grant) (Change, error) {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	h.grant(grants)
	return h.rescan(ctx)
}

// grant puts grants in force; h.reloading must be held.
func (h *Host) grant(grants map[string]plugin.Grant) {
	next := *h.live.Load()
	next.Grants = grants
	h.live.Store(&next)
}

// rescan is Rescan; h.reloading must be held.
func (h *Host) rescan(ctx context.Context) (Change, error) {
	snap, err := h.scan(ctx, 0)
	if err != nil {
		return Change{}, err
	}
	return h.install(ctx, snap)
}

// grants are what the operator grants by now.
func (h *Host) grants() map[string]plugin.Grant { return h.live.Load().Grants }

// tellUnknown warns of names that no plugin has and that were not there before;
// before may be nil.
func (h *Host) tellUnknown(before *live) {
	p := h.current.Load()
	var old []string
	if before != nil {
		old = p.unknown(before.Live)
	}
	for _, name := range p.unknown(h.live.Load().Live) {
		if !slices.Contains(old, name) {
			h.log.Warn("the configuration speaks of something that no plugin has", "name", name)
		}
	}
}
