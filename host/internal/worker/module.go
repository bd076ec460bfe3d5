package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/cpusched"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/shmring"
	"github.com/weirhost/weir/sdk/tool"
)

// A Module is a plugin that runs in worker processes. Each process runs one call at a
// time, and as many are started as calls run at once. It is safe for concurrent use.
type Module struct {
	pool     *Pool
	log      hclog.Logger
	plugin   sandbox.Plugin
	facts    sandbox.Facts
	calls    *sandbox.Calls
	computes atomic.Bool // its last call computed for long

	costs   sync.Map     // *atomic.Int64 by export: duration of a call, in nanoseconds
	quietIn atomic.Int32 // counts down from quietCalls after a call that used its caller; 0: quiet
	busy    []*process   // workers with calls; the pool's mu guards it

	waiters  []*waiter    // the pool's mu guards it
	waiting  atomic.Int32 // len(waiters)
	starting []*start     // that have not ended; the pool's mu guards it
	starts   sync.WaitGroup
	turns    chan struct{} // holds one for each process that is being started
}

// cost returns the measured duration of a call of an export, in nanoseconds; 0:
// unknown.
func (m *Module) cost(export string) *atomic.Int64 {
	if c, ok := m.costs.Load(export); ok {
		return c.(*atomic.Int64)
	}
	c, _ := m.costs.LoadOrStore(export, new(atomic.Int64))
	return c.(*atomic.Int64)
}

// took records the duration of a call in its worker. A call that had to wait for a
// core looks long, so a longer duration counts less than a shorter one.
func (m *Module) took(export string, d time.Duration) {
	cost := m.cost(export)
	switch was, is := cost.Load(), int64(d)+1; {
	case was == 0:
		cost.Store(is)
	case is < was:
		cost.Store((was + is) / 2)
	default:
		cost.Store(was + min(is-was, was)/8)
	}
	if n := m.quietIn.Load(); n > 0 {
		m.quietIn.CompareAndSwap(n, n-1)
	}
}

// quietCalls is after how many calls without a request or report a plugin counts as
// quiet again.
const quietCalls = 32

// queueLimit returns after how many other calls this one may wait in a queue; 0: it gets a
// worker of its own.
func (m *Module) queueLimit(key string, inv sandbox.Invocation) int {
	cost := m.cost(inv.Export).Load()
	if key != "" || len(inv.Input) > shmring.SmallData || m.computes.Load() || m.quietIn.Load() > 0 || cost == 0 {
		return 0
	}
	return int(min(int64(queueTime)/cost, queueMost))
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
	m := &Module{pool: p, log: p.log.Named("plugin." + pl.Name), plugin: pl, facts: facts, calls: sandbox.NewCalls(p.ending), turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
	context.AfterFunc(m.calls.Life(), m.endAll)
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
	key := mountKey(inv.Grant.Mounts)
	patient := true
	for try := 0; ; try++ {
		c := &call{module: m, inv: inv, outer: ctx}
		if err := m.worker(ctx, key, c, patient); err != nil {
			return sandbox.Output{NoSlot: errors.Is(err, errNoSlot)}, m.notStarted(ctx, inv, err)
		}
		out, fail := m.serve(c)
		if !c.undone || c.lost && try >= retries {
			return out, fail
		}
		patient = false // the second attempt does not wait in a queue
	}
}

// serve runs a call and releases its worker. The worker is discarded if a callback of
// the call panics.
func (m *Module) serve(c *call) (sandbox.Output, *tool.Error) {
	ended := false
	defer func() {
		if !ended {
			m.pool.discardLost(m, c)
		}
	}()
	out, fail := c.run()
	ended = true
	m.release(c)
	return out, fail
}

// release releases a call's worker, and then passes on the reports for which no other
// call was to wait.
func (m *Module) release(c *call) {
	if c.lost {
		m.pool.discardLost(m, c)
	} else {
		m.pool.release(m, c)
	}
	for _, r := range c.held {
		c.report(r)
	}
}

// retries bounds how often a call that no worker began is given to another one.
const retries = 3

// worker finds a worker for the call, which is in its queue afterwards. With patient
// it may wait after other calls. If the worker had to be started, the call has a
// scheduler task.
func (m *Module) worker(ctx context.Context, key string, c *call, patient bool) error {
	if err := ctx.Err(); err != nil { // a worker would be killed with it
		return err
	}
	limit := m.queueLimitOf(key, c, patient)
	if m.pool.enqueue(m, key, c, limit) {
		return nil
	}
	if c.inv.Slot != nil && !c.inv.Slot.Acquire(ctx, m.calls.Life().Done()) {
		return errNoSlot
	}
	if s := m.pool.acquire(m, key, c, limit, patient); s != nil {
		return m.startWorker(ctx, s)
	}
	return nil
}

// queueLimitOf is queueLimit for a call, and sets whether the call is exclusive. Without patient
// the call waits for no other, but others may wait for it.
func (m *Module) queueLimitOf(key string, c *call, patient bool) int {
	limit := m.queueLimit(key, c.inv)
	c.exclusive = limit == 0
	if !patient {
		return 0
	}
	return limit
}

// errNoSlot says that a call ended before it had a slot.
var errNoSlot = errors.New("the call ended before it had a slot")

// startTime bounds the start of a worker, which is not part of a call's own time.
const startTime = 90 * time.Second

// firstCallTime is how long the first short call of a worker takes at most: its memory is
// touched for the first time, which takes 5 to 10 ms where later calls take 15 µs.
const firstCallTime = 20 * time.Millisecond

// make starts a worker. It compiles the module again if the cache was emptied or
// damaged, or holds code that no engine of this version accepts.
func (m *Module) make(ctx context.Context, k *start, mounts []jail.Mount) (*process, *cpusched.Task, error) {
	w, turn, err := m.start(ctx, k, mounts)
	for _, l := range []cacheCheck{verifyCode, recompile} {
		if !errors.Is(err, sandbox.ErrNotCompiled) {
			break
		}
		if err := m.pool.compile(ctx, m.plugin, compileMode{check: l}); err != nil {
			return nil, nil, err
		}
		w, turn, err = m.start(ctx, k, mounts)
	}
	return w, turn, err
}

// start starts a worker with the module loaded, when its turn has come: as many start at
// the same time as there are cores, since more would only delay each other. If no call
// waits for it then, it starts none. The next turn begins when the first call has had its
// time: if it is short, all others wait in this worker's queue, and no more processes take
// the cores from them.
func (m *Module) start(ctx context.Context, k *start, mounts []jail.Mount) (w *process, turn *cpusched.Task, err error) {
	select {
	case m.turns <- struct{}{}:
		defer func() { m.endTurn(err) }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if !m.beginTurn(k) {
		return nil, nil, errNoWaiter
	}
	turn, err = m.pool.sched.Wait(ctx, m.plugin.Name, nil)
	if err != nil {
		return nil, nil, err
	}
	w, err = m.pool.spawn(m.plugin.Name, mounts)
	if err == nil {
		m.pool.sched.Bind(turn, w.sched)
		err = m.load(ctx, w, mounts)
	}
	if err != nil {
		m.pool.sched.End(turn)
		return nil, nil, err
	}
	return w, turn, nil
}

// endTurn lets the next start have its turn: at once if this one failed.
func (m *Module) endTurn(err error) {
	if err != nil {
		<-m.turns
	} else {
		time.AfterFunc(firstCallTime, func() { <-m.turns })
	}
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

// endAll kills the workers of calls that outlast the module.
func (m *Module) endAll() {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	for _, w := range m.busy {
		w.kill()
	}
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
