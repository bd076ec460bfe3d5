package runner

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/sdk/tool"
)

// Bounds of the call that asks a plugin for its tools.
const (
	listTimeout    = 10 * time.Second
	listBytes      = 1 << 20 // of the answer
	listConcurrent = 2       // plugins that are asked at the same time
	// listWait is how long a scan waits for answers. A plugin that is still being
	// compiled then comes with a later scan.
	listWait = 20 * time.Second
	// listRetry is how long a failure is remembered: a plugin that hangs would
	// otherwise delay every scan.
	listRetry = 10 * time.Minute
	// listsStored is how many answers are stored; the oldest are deleted first.
	listsStored = 500
)

// A ToolLister asks plugins of a third party's ABI for their tools, and scripts for what
// they export: once per module, and without permissions. It stores the answers next to the
// compiled modules. It is safe for concurrent use.
type ToolLister struct {
	cfg     ListerConfig
	dir     string // of the stored answers; empty: none
	wait    time.Duration
	timeout time.Duration

	mu       sync.Mutex
	listings map[string]*listing // by sha256
	queue    askQueue
}

// A ListerConfig connects a ToolLister to its host.
type ListerConfig struct {
	CacheDir string            // empty: answers are not stored between runs
	Engines  func() *Engines   // the current ones
	Memory   func() tool.Bytes // cap of a guest's memory; 0: the sandbox's default
	// Admit begins work that Close must wait for: ctx ends with the host, release
	// ends the work. An error refuses it.
	Admit func() (ctx context.Context, release func(), err error)
	// Rescan starts a new scan, which uses answers that came too late for one.
	Rescan func(ctx context.Context) error
	// Asking, if not nil, receives the name of each plugin that is asked.
	Asking func(plugin string)
	// Wait is how long List waits for answers, Timeout bounds each call; 0: 20 and
	// 10 seconds, negative: not at all.
	Wait, Timeout time.Duration
	Now           func() time.Time
	Logger        hclog.Logger
}

// A listing is the answer of one plugin, or the request that is running.
type listing struct {
	done   chan struct{}
	answer storedList // once done is closed
	late   bool       // a scan gave up waiting for it
	failed bool       // an earlier call failed
}

// NewToolLister returns a ToolLister. It deletes old stored answers.
func NewToolLister(cfg ListerConfig) *ToolLister {
	d := &ToolLister{cfg: cfg, wait: cmp.Or(cfg.Wait, listWait), timeout: cmp.Or(cfg.Timeout, listTimeout), listings: map[string]*listing{}}
	if cfg.CacheDir != "" {
		d.dir = filepath.Join(cfg.CacheDir, "described")
		prune(d.dir, listsStored)
	}
	return d
}

// List implements registry.Describer: it returns the plugins' answers, in order. One
// that does not come in time is Pending.
func (d *ToolLister) List(ctx context.Context, plugins []*registry.Plugin) []registry.Description {
	ctx, cancel := context.WithTimeout(ctx, d.wait)
	defer cancel()
	out := make([]registry.Description, len(plugins))
	listings := make([]*listing, len(plugins))
	for i, p := range plugins {
		started := false
		if listings[i], started = d.request(p); started && d.cfg.Asking != nil {
			d.cfg.Asking(p.Manifest.Name)
		}
	}
	for i, l := range listings {
		if d.await(ctx, l) {
			out[i] = l.answer.description()
		} else {
			out[i].Pending = true
		}
	}
	return out
}

// await waits for a listing and reports whether it is done. It does not wait for one that
// an earlier scan gave up: a plugin that hangs would delay each scan.
func (d *ToolLister) await(ctx context.Context, l *listing) bool {
	d.mu.Lock()
	late := l.late
	d.mu.Unlock()
	if late {
		return !d.abandon(l)
	}
	select {
	case <-l.done:
		return true
	case <-ctx.Done():
		return !d.abandon(l)
	}
}

// CheckScript runs the top level of a plugin's script, for its author: in engines of
// its own, which it closes. It returns nil for a plugin that is no script.
func CheckScript(ctx context.Context, p *registry.Plugin, cfg EnginesConfig) (problems []registry.Problem, err error) {
	if !p.IsScript() {
		return nil, nil
	}
	cfg.Logger = cmp.Or(cfg.Logger, hclog.NewNullLogger())
	engines, err := Open(ctx, Sandbox{}, cfg)
	if err != nil {
		return nil, err
	}
	defer engines.Release()
	d := NewToolLister(ListerConfig{
		CacheDir: cfg.CacheDir, Engines: func() *Engines { return engines }, Memory: func() tool.Bytes { return 0 }, Now: time.Now, Logger: cfg.Logger,
		Admit: func() (context.Context, func(), error) { return ctx, func() {}, nil }, Wait: time.Hour, // ctx ends it
	})
	return p.CheckScript(ctx, d.List), nil
}

// Forget deletes the answer of a plugin; the next scan asks again.
func (d *ToolLister) Forget(p *registry.Plugin) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := d.listings[p.WasmSHA256]; ok {
		select {
		case <-l.done:
			delete(d.listings, p.WasmSHA256)
		default:
			return
		}
	}
	d.deleteStored(p.WasmSHA256)
}

// abandon marks a listing that is not awaited: once done, it starts a scan of its own. It
// returns false for one that is done already.
func (d *ToolLister) abandon(l *listing) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-l.done:
		return false
	default:
		l.late = true
		return true
	}
}

// request returns the listing of a plugin, and starts a call if there is none.
func (d *ToolLister) request(p *registry.Plugin) (l *listing, started bool) {
	key, failed := p.WasmSHA256, false
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := d.listings[key]; ok {
		select {
		case <-l.done:
			if d.valid(l.answer) {
				return l, false
			}
			failed = l.answer.Failed != ""
		default:
			return l, false
		}
	}
	l = &listing{done: make(chan struct{})}
	d.listings[key] = l
	if r, ok := d.readStored(key); ok {
		if d.valid(r) {
			l.answer = r
			close(l.done)
			return l, false
		}
		failed = true
	}
	l.failed = failed
	ctx, release, err := d.cfg.Admit()
	if err != nil {
		l.answer = storedList{Failed: err.Error(), At: d.cfg.Now()}
		delete(d.listings, key)
		close(l.done)
		return l, false
	}
	go func() {
		defer release()
		d.run(ctx, p, l)
	}()
	return l, true
}

// valid reports whether an answer still counts: a failure does for a while.
func (d *ToolLister) valid(r storedList) bool {
	age := d.cfg.Now().Sub(r.At)
	return r.Failed == "" || age >= 0 && age < listRetry && r.Memory == d.cfg.Memory()
}

// run asks one plugin and stores its answer.
func (d *ToolLister) run(ctx context.Context, p *registry.Plugin, l *listing) {
	key := p.WasmSHA256
	answer, err := d.call(ctx, p, l.failed)
	r := storedList{Answer: answer, At: d.cfg.Now()}
	if err != nil {
		r = storedList{Failed: err.Error(), At: r.At, Memory: d.cfg.Memory()}
	}
	// These failures are not the plugin's: the next scan asks again.
	again := ctx.Err() != nil || errors.Is(err, worker.ErrAgain) || errors.Is(err, registry.ErrChanged) || isQuarantined(err)
	if !again {
		d.store(key, r)
	}
	d.mu.Lock()
	l.answer = r
	if again {
		delete(d.listings, key)
	}
	late := l.late
	close(l.done)
	d.mu.Unlock()
	if late && (!again || isQuarantined(err)) {
		if err := d.cfg.Rescan(ctx); err != nil {
			d.cfg.Logger.Debug("a plugin's tools were not added", "plugin", p.Manifest.Name, "error", err)
		}
	}
}

// call runs the plugin's listing export.
func (d *ToolLister) call(ctx context.Context, p *registry.Plugin, failed bool) ([]byte, error) {
	end, err := d.queue.wait(ctx, &ask{top: topFolder(p), failed: failed})
	if err != nil {
		return nil, err
	}
	defer end()
	began := time.Now()
	m := NewModule(d.cfg.Engines(), nil, p, d.cfg.Memory())
	defer m.Retire()
	r, err := m.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	o, fail := r.Call(ctx, sandbox.Invocation{Tool: p.Manifest.Name, Export: p.Asked(), Input: listInput(p.ABI), Timeout: d.timeout, MaxOutput: listBytes + 1})
	d.cfg.Logger.Info("a plugin was asked for its tools", "plugin", p.Manifest.Name, "abi", string(p.ABI), "took", time.Since(began), "bytes", len(o.Bytes))
	switch {
	case fail != nil && fail.Code == tool.TimedOut:
		return nil, msg.Errorf("it did not answer within %s", d.timeout)
	case fail != nil && fail.Code == tool.OutOfMemory:
		return nil, errors.New(text.OneLine(fail.Msg, 200) + ` (memory = "128MiB" below [limits] in tools.toml gives more to all)`)
	case fail != nil:
		return nil, errors.New(text.OneLine(fail.Msg, 200))
	case len(o.Bytes) == 0:
		return nil, msg.Errorf("it answered nothing")
	case len(o.Bytes) > listBytes:
		return nil, msg.Errorf("its list is longer than %s", tool.Bytes(listBytes))
	}
	return o.Bytes, nil
}
