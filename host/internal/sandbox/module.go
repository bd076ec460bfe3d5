package sandbox

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/weirhost/weir/sdk/tool"
)

// A Module is a loaded plugin. It is safe for concurrent use: calls share
// compiled code and nothing else.
type Module struct {
	name    string
	engine  *Engine
	log     hclog.Logger
	program program
	supply  supply
	shape   *structure
	memory  tool.Bytes
	life    context.Context // ends the calls that outlast their module
	end     context.CancelFunc

	mu      sync.Mutex
	running int
	closed  bool
	idle    chan struct{} // closed when the last call of a closed module has ended
}

// Call runs an export in a fresh state and throws the state away. The error is
// for a model: timed_out, cancelled, out_of_memory, trapped, too_large, or
// failed with the guest's own text if it gave one.
func (m *Module) Call(ctx context.Context, inv Invocation) (Output, *tool.Error) {
	if !m.enter() {
		return Output{}, tool.Errorf(tool.Failed, "try again", "the plugin %s is being replaced", m.name)
	}
	defer m.leave()
	inv = inv.withDefaults()
	c := &call{module: m, inv: inv, outer: ctx}
	if fail := m.facts().admit(inv); fail != nil {
		return Output{}, fail
	}
	ctx, cancel := context.WithTimeout(ctx, inv.Timeout)
	defer cancel()
	defer context.AfterFunc(m.life, cancel)()
	return c.run(ctx)
}

func (inv Invocation) withDefaults() Invocation {
	if inv.Timeout <= 0 {
		inv.Timeout = DefaultTimeout
	}
	if inv.MaxOutput <= 0 {
		inv.MaxOutput = tool.MaxWhole
	}
	return inv
}

// call is one Invocation on its way.
type call struct {
	module *Module
	inv    Invocation
	outer  context.Context // the caller's: tells its cancelling from our deadline
}

func (c *call) run(ctx context.Context) (Output, *tool.Error) {
	var out Output
	began := time.Now()
	i, err := c.module.supply.take(ctx, setup{grant: c.inv.Grant, limits: c.inv.Limits})
	out.Instance = time.Since(began)
	if err != nil {
		return out, c.unstarted(ctx, err)
	}
	defer discard(c.module.log, i)
	e := i.environment()
	e.bind(ctx, c.inv)
	r, err := i.call(ctx, c.inv.Export, c.inv.Input)
	out.Memory = tool.Bytes(e.memory.guest())
	e.note(func() { out.Relist = e.relist })
	if fail := c.judge(ctx, e, r, err); fail != nil {
		return out, fail
	}
	out.Bytes = r.output
	return out, nil
}

// Close refuses new calls, waits for those that run until ctx is done, and
// then cancels them. Closing twice is no error.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	if m.running == 0 {
		close(m.idle)
	}
	m.mu.Unlock()
	select {
	case <-m.idle:
	case <-ctx.Done():
		m.end()
		<-m.idle // soon: every call watches its context
	}
	m.end()
	m.supply.close()
	m.engine.mu.Lock()
	delete(m.engine.modules, m)
	m.engine.mu.Unlock()
	return m.program.close(context.WithoutCancel(ctx))
}

func (m *Module) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.running++
	return true
}

func (m *Module) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running--; m.running == 0 && m.closed {
		close(m.idle)
	}
}
