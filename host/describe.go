package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/sdk/tool"
)

// Bounds of the one call that asks a plugin made for another host for its tools.
const (
	describeTimeout = 10 * time.Second
	describeBytes   = 1 << 20 // of its answer
	describeAtOnce  = 2       // plugins that are asked at the same time
	// describeWait is how long a scan waits for answers; a plugin that is still
	// being compiled comes in later by itself.
	describeWait = 20 * time.Second
	// describeAgain is how long a failure is remembered: a plugin that hangs
	// would otherwise hold up every scan.
	describeAgain = 10 * time.Minute
	// describedMost is how many answers are kept; the oldest go first.
	describedMost = 500
)

// A describer asks plugins of a foreign ABI for their tools: without powers,
// once for each sha256. Its answers are kept beside the compiled modules.
type describer struct {
	h       *Host
	dir     string        // empty: nothing is kept between runs
	wait    time.Duration // how long a scan waits
	timeout time.Duration // of the one call

	mu    sync.Mutex
	asked map[string]*asking // by ABI and sha256
	slots chan struct{}      // one for each that is asked right now
}

// asking is one plugin's answer, or the way to it.
type asking struct {
	done   chan struct{}
	answer remembered // once done is closed
	late   bool       // a scan has not waited for it
}

// remembered is an answer as it is kept on disk.
type remembered struct {
	Answer []byte    `json:"answer,omitempty"`
	Failed string    `json:"failed,omitempty"`
	At     time.Time `json:"at"`
	// Memory is the cap under which it failed; with another one it may not.
	Memory tool.Bytes `json:"memory,omitempty"`
}

func newDescriber(h *Host) *describer {
	d := &describer{h: h, wait: describeWait, timeout: describeTimeout, asked: map[string]*asking{}, slots: make(chan struct{}, describeAtOnce)}
	if h.cfg.CacheDir != "" {
		d.dir = filepath.Join(h.cfg.CacheDir, "described")
		prune(d.dir, describedMost)
	}
	return d
}

func (r remembered) description() registry.Description {
	if r.Failed != "" {
		return registry.Description{Err: errors.New(r.Failed)}
	}
	return registry.Description{Answer: r.Answer}
}

// describe implements registry.Describer.
func (d *describer) describe(ctx context.Context, plugins []*registry.Plugin) []registry.Description {
	ctx, cancel := context.WithTimeout(ctx, d.wait)
	defer cancel()
	out := make([]registry.Description, len(plugins))
	waiting := make([]*asking, len(plugins))
	for i, p := range plugins {
		asked := false
		if waiting[i], asked = d.ask(p); asked && d.h.cfg.Asking != nil {
			d.h.cfg.Asking(p.Manifest.Name)
		}
	}
	for i, a := range waiting {
		select {
		case <-a.done:
			out[i] = a.answer.description()
			continue
		default:
		}
		select {
		case <-a.done:
			out[i] = a.answer.description()
		case <-ctx.Done():
			out[i] = registry.Description{Pending: d.leave(a)}
			if !out[i].Pending {
				out[i] = a.answer.description()
			}
		}
	}
	return out
}

// leave goes on without an answer, unless it has just come. The plugin's tools
// are taken in by a scan of its own when it is there.
func (d *describer) leave(a *asking) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-a.done:
		return false
	default:
		a.late = true
		return true
	}
}

func describeKey(p *registry.Plugin) string { return p.WasmSHA256 }

// ask returns the way to a plugin's answer, and begins to ask where there is
// none; begun says so.
func (d *describer) ask(p *registry.Plugin) (a *asking, begun bool) {
	key := describeKey(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if a, ok := d.asked[key]; ok {
		select {
		case <-a.done:
			if d.fresh(a.answer) {
				return a, false
			}
		default:
			return a, false
		}
	}
	a = &asking{done: make(chan struct{})}
	d.asked[key] = a
	if r, ok := d.recall(key); ok && d.fresh(r) {
		a.answer = r
		close(a.done)
		return a, false
	}
	ctx, err := d.h.enter(context.Background())
	if err != nil {
		a.answer = remembered{Failed: err.Error(), At: d.h.cfg.Now()}
		delete(d.asked, key)
		close(a.done)
		return a, false
	}
	go func() {
		defer d.h.leave(ctx)
		d.run(ctx, p, a)
	}()
	return a, true
}

// fresh reports whether an answer still holds: failures do for a while.
func (d *describer) fresh(r remembered) bool {
	age := d.h.cfg.Now().Sub(r.At)
	return r.Failed == "" || age >= 0 && age < describeAgain && r.Memory == d.memory()
}

// run asks one plugin, and keeps what it says.
func (d *describer) run(ctx context.Context, p *registry.Plugin, a *asking) {
	key := describeKey(p)
	answer, err := d.call(ctx, p)
	r := remembered{Answer: answer, At: d.h.cfg.Now()}
	if err != nil {
		r = remembered{Failed: err.Error(), At: r.At, Memory: d.memory()}
	}
	// The next scan asks again.
	gone := ctx.Err() != nil || errors.Is(err, worker.ErrAgain) || errors.Is(err, registry.ErrChanged) || isQuarantined(err)
	if !gone {
		d.keep(key, r)
	}
	d.mu.Lock()
	a.answer = r
	if gone {
		delete(d.asked, key) // it was not the plugin's failure
	}
	late := a.late
	close(a.done)
	d.mu.Unlock()
	if late && (!gone || isQuarantined(err)) {
		if err := d.h.Reload(ctx); err != nil {
			d.h.log.Debug("a plugin's tools were not taken in", "plugin", p.Manifest.Name, "error", err)
		}
	}
}

// call runs the listing export with no powers at all.
func (d *describer) call(ctx context.Context, p *registry.Plugin) ([]byte, error) {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	began := time.Now()
	home := d.h.engines.Load().hold()
	defer home.release()
	s := &slot{load: home.runnerOf, plugin: p, memory: d.memory()}
	m, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer s.retire()
	defer s.give()
	list, _ := p.ABI.Exports()
	o, fail := m.Call(ctx, sandbox.Invocation{Export: list, Input: listInput(p.ABI), Timeout: d.timeout, MaxOutput: describeBytes})
	d.h.log.Info("a plugin was asked for its tools", "plugin", p.Manifest.Name, "abi", string(p.ABI), "took", time.Since(began), "bytes", len(o.Bytes))
	switch {
	case fail != nil && fail.Code == tool.TimedOut:
		return nil, fmt.Errorf("it did not answer within %s", d.timeout)
	case fail != nil && fail.Code == tool.OutOfMemory:
		return nil, errors.New(text.OneLine(fail.Msg, 200) + ` (memory = "128MiB" below [limits] in tools.toml gives more to all)`)
	case fail != nil:
		return nil, errors.New(text.OneLine(fail.Msg, 200))
	case len(o.Bytes) == 0:
		return nil, errors.New("it answered nothing")
	}
	return o.Bytes, nil
}

// memory is the cap of the guest's memory; 0: the sandbox's own.
func (d *describer) memory() tool.Bytes { return d.h.live.Load().defaults().Memory }

// forget drops an answer, so that the next scan asks again.
func (d *describer) forget(p *registry.Plugin) {
	key := describeKey(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if a, ok := d.asked[key]; ok {
		select {
		case <-a.done:
			delete(d.asked, key)
		default:
			return
		}
	}
	if d.dir != "" {
		_ = os.Remove(d.file(key)) // at worst the old list stays
	}
}
