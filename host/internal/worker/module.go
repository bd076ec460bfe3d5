package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// A Module is a plugin that runs in worker processes. Each process runs one call at a
// time, and as many are started as calls run at once. It is safe for concurrent use.
type Module struct {
	pool   *Pool
	log    hclog.Logger
	plugin sandbox.Plugin
	facts  sandbox.Facts
	calls  *sandbox.Calls

	starts sync.WaitGroup

	waiters  []*waiter      // in the order of their arrival; the pool's mu guards it
	starting map[string]int // starts that have not ended, by mountKey; the pool's mu guards it
}

// Load checks a plugin and compiles it in a child if the cache has no code of it; no
// code of it runs. The error is a sentence that names the plugin, or a *Quarantined.
// Compiling stops when ctx or the Pool ends.
func (p *Pool) Load(ctx context.Context, pl sandbox.Plugin) (*Module, error) {
	// The worker verifies the code when it loads it.
	facts, err := p.prepare(ctx, pl, compileMode{check: trustRecord})
	if err != nil {
		return nil, err
	}
	m := &Module{pool: p, log: p.log.Named("plugin." + pl.Name), plugin: pl, facts: facts, calls: sandbox.NewCalls(p.ending), starting: map[string]int{}}
	return m, nil
}

// Call runs an export in a worker, in a fresh state. Its failures are those of
// sandbox.Module, and the loss of the worker.
func (m *Module) Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error) {
	if !m.enter() {
		return sandbox.Output{}, sandbox.Replaced(m.plugin.Name)
	}
	defer m.leave()
	inv, fail := m.facts.Admit(inv)
	if fail != nil {
		return sandbox.Output{}, fail
	}
	if inv.Slot != nil {
		if !inv.Slot.Acquire(ctx, m.calls.Life().Done()) {
			return sandbox.Output{NoSlot: true}, m.notStarted(ctx, inv, errNoSlot)
		}
		defer inv.Slot.Release()
	}
	for try := 0; ; try++ {
		w, err := m.worker(ctx, inv.Grant.Mounts)
		if err != nil {
			return sandbox.Output{}, m.notStarted(ctx, inv, err)
		}
		c := &call{module: m, inv: inv, outer: ctx, w: w}
		out, fail := m.serve(c)
		if !c.undone || try >= retries {
			return out, fail
		}
	}
}

// serve runs a call and releases its worker. The worker is discarded if a callback of
// the call panics.
func (m *Module) serve(c *call) (sandbox.Output, *tool.Error) {
	ended := false
	defer func() {
		if ended && !c.lost {
			m.pool.release(m, c.w)
		} else {
			c.w.discard()
		}
	}()
	out, fail := c.run()
	ended = true
	return out, fail
}

// retries bounds how often a call that no worker began is given to another one.
const retries = 3

// errNoSlot says that a call ended before it had a slot.
var errNoSlot = errors.New("the call ended before it had a slot")

// startTime bounds the start of a worker, which is not part of a call's own time.
const startTime = 90 * time.Second

// make starts a worker; nil without an error: no call waits for one any more. It compiles
// the module again if the cache was emptied or damaged, or holds code that no engine of
// this version accepts.
func (m *Module) make(ctx context.Context, key string, mounts []jail.Mount) (*process, error) {
	w, err := m.start(ctx, key, mounts)
	for _, l := range []cacheCheck{verifyCode, recompile} {
		if !errors.Is(err, sandbox.ErrNotCompiled) {
			break
		}
		if err := m.pool.compile(ctx, m.plugin, compileMode{check: l}); err != nil {
			return nil, err
		}
		w, err = m.start(ctx, key, mounts)
	}
	return w, err
}

// turnTime is how long a start keeps its turn. One that takes longer waits for something
// else than a core, as for a folder on a network that has gone.
const turnTime = 5 * time.Second

// start starts a worker when its turn has come: as many start at the same time as there
// are cores, less one, since more would delay each other and short calls. It starts none
// if no call waits for it then.
func (m *Module) start(ctx context.Context, key string, mounts []jail.Mount) (*process, error) {
	select {
	case m.pool.turns <- struct{}{}:
		end := sync.OnceFunc(func() { <-m.pool.turns })
		defer end()
		defer time.AfterFunc(turnTime, end).Stop()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if m.endStart(key, false) {
		return nil, nil
	}
	m.pool.discardIdle(func(i *idleWorker) bool { return i.module == m && i.w.key != key }) // with folders that are no longer granted
	return m.spawn(ctx, mounts)
}

// spawn starts a worker with the module loaded.
func (m *Module) spawn(ctx context.Context, mounts []jail.Mount) (*process, error) {
	w, err := m.pool.spawn(m.plugin.Name, mounts)
	if err != nil {
		return nil, err
	}
	if err := m.load(ctx, w, mounts); err != nil {
		return nil, err
	}
	return w, nil
}

// load makes a new worker load the module, or discards it.
func (m *Module) load(ctx context.Context, w *process, mounts []jail.Mount) error {
	l := loadMeta{
		Plugin: m.plugin.Name, Engine: m.pool.cfg.Engine, Exports: m.plugin.Exports, Memory: int64(m.plugin.Memory), Image: m.image(), Cache: m.pool.cacheOf(),
		CacheVersion: m.pool.inspectors[false].CacheVersion(),
		Renewed:      m.pool.cfg.renewed(), Spares: m.pool.cfg.Spares, LogLevel: int(m.log.GetLevel()), Mounts: metaOf(mounts),
		Bounds: confine.Bounds{Data: m.data(), Files: maxFiles},
	}
	err := w.load(ctx, l, m.plugin.Wasm)
	if err != nil {
		w.discard()
	}
	return err
}

// What a worker needs beside its guest, as measured: the Go runtime and the
// program, the decoded module, and the memory through which input and output pass.
const (
	headroom  = tool.Bytes(192 << 20)
	perModule = 12 // bytes for each byte of the module
	perMemory = 3  // a growing memory is copied, and the old copies are garbage for a while
	kernel    = 64 << 20
)

// image returns the size of the largest memory of a worker that is renewed, in bytes; 0: none
// is.
func (m *Module) image() int64 {
	if m.pool.cfg.Renewed < 0 {
		return 0
	}
	return max(int64(m.facts.Memory), kernel)
}

// data returns the limit of a worker's memory, in bytes.
func (m *Module) data() int64 {
	room := m.pool.cfg.Headroom
	if room <= 0 {
		room = headroom + tool.Bytes(perModule*len(m.plugin.Wasm))
	}
	return int64(room) + perMemory*(int64(m.facts.Memory)+kernel)
}

func metaOf(mounts []jail.Mount) []mountMeta {
	var out []mountMeta
	for _, m := range mounts {
		out = append(out, mountMeta{m.Guest, m.Host, m.Write, m.Hide, m.Keep})
	}
	return out
}

// mountKey returns a string that is equal for equal granted folders.
func mountKey(mounts []jail.Mount) string {
	var b strings.Builder
	for _, m := range mounts {
		fmt.Fprintf(&b, "%q %q %t %q %q\n", m.Guest, m.Host, m.Write, m.Hide, m.Keep)
	}
	return b.String()
}

// notStarted returns the failure of a call whose worker could not be started.
func (m *Module) notStarted(ctx context.Context, inv sandbox.Invocation, err error) *tool.Error {
	var mount *mountError
	var lost *lossError
	var held *Quarantined
	switch {
	case ctx.Err() != nil || m.calls.Life().Err() != nil:
		return sandbox.Interrupted(inv, ctx.Err(), false, m.calls.Life().Err() != nil)
	case errors.As(err, &mount):
		return sandbox.BadFolders(inv, err)
	case errors.As(err, &lost) && lost.outOfMemory():
		return sandbox.OutOfMemory(inv, m.facts.Memory, "its process ran out of memory")
	case errors.As(err, &held):
		return tool.Errorf(tool.Failed, hintReport, "%s cannot start: %s", inv.Name(), held)
	}
	level := hclog.Error
	if lost != nil && lost.state.String() == "signal: terminated" { // with this process, as `pkill weir` does it
		level = hclog.Warn
	}
	m.log.Log(level, "a worker cannot be started", "error", err)
	return tool.Errorf(tool.Failed, "call it again; if the call fails again, use another tool: the operator must check this one", "%s cannot start: its process was not ready", inv.Name())
}

// Close refuses new calls, waits for running ones until ctx is done, and then kills
// them with their workers. Closing twice is not an error.
func (m *Module) Close(ctx context.Context) error {
	if !m.calls.Close(ctx) {
		return nil
	}
	m.starts.Wait() // soon: starts end with Life
	m.pool.discardIdle(func(i *idleWorker) bool { return i.module == m })
	return nil
}

// enter admits a call, which leave ends. It reports false after Close.
func (m *Module) enter() bool {
	if !m.pool.enter() {
		return false
	}
	if !m.calls.Enter() {
		m.pool.tasks.Done()
		return false
	}
	return true
}

func (m *Module) leave() {
	m.calls.Leave()
	m.pool.tasks.Done()
}
