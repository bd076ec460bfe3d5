package sandbox

import (
	"cmp"
	"context"
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
	weight  tool.Bytes
	calls   *Calls
}

// Call runs an export in a fresh state and discards the state. The error is for a
// model: timed_out, cancelled, out_of_memory, trapped, too_large, or failed with the
// guest's own text if it set one.
func (m *Module) Call(ctx context.Context, inv Invocation) (Output, *tool.Error) {
	if !m.calls.Enter() {
		return Output{}, Replaced(m.name)
	}
	defer m.calls.Leave()
	inv = inv.withDefaults()
	if fail := m.facts().admit(inv); fail != nil {
		return Output{}, fail
	}
	if p := inv.Slot; p != nil {
		if !p.Acquire(ctx, m.calls.Life().Done()) {
			return Output{NoSlot: true}, Interrupted(inv, ctx.Err(), false, m.calls.Life().Err() != nil)
		}
		defer p.Release()
	}
	c := m.newCall(ctx, inv)
	defer c.end()
	return c.run()
}

// Name returns the name that failures show: Tool, or Export if that is empty.
func (inv Invocation) Name() string { return cmp.Or(inv.Tool, inv.Export) }

func (inv Invocation) withDefaults() Invocation {
	if inv.Timeout <= 0 {
		inv.Timeout = DefaultTimeout
	}
	if inv.MaxOutput <= 0 {
		inv.MaxOutput = tool.MaxWhole
	}
	return inv
}

func (c *call) run() (Output, *tool.Error) {
	var out Output
	i, err := c.module.supply.acquire(c, setup{grant: c.inv.Grant, limits: c.inv.Limits, fresh: c.inv.Fresh})
	out.Instance = time.Since(c.began)
	if err != nil {
		return out, c.notStarted(err)
	}
	defer c.module.supply.release(i)
	e := i.environment()
	e.bind(c)
	r, err := i.call(c.inv.Export, c.inv.Input)
	out.Memory = tool.Bytes(e.memory.guest())
	e.note(func() { out.Relist = e.relist })
	if fail := c.failure(e, r, err); fail != nil {
		return out, fail
	}
	out.Bytes, out.Text = r.output, r.text
	return out, nil
}

// Close refuses new calls, waits for running ones until ctx is done, and then cancels
// them. Closing twice is not an error.
func (m *Module) Close(ctx context.Context) error {
	if !m.calls.Close(ctx) {
		return nil
	}
	m.supply.close()
	m.engine.mu.Lock()
	delete(m.engine.modules, m)
	m.engine.mu.Unlock()
	return m.program.close(context.WithoutCancel(ctx))
}
