package worker

import (
	"context"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/cpusched"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// A call is one Invocation in one worker, which has no other call meanwhile.
type call struct {
	module   *Module
	inv      sandbox.Invocation
	outer    context.Context // the caller's: distinguishes its cancellation from our deadline
	deadline time.Time
	w        *process

	mu    sync.Mutex
	timer *time.Timer
	short bool           // counted as a short call
	task  *cpusched.Task // else
	ended bool
	lost  bool // the worker is lost

	undone   bool // the guest has certainly not begun: another worker must run it
	lines    int
	reports  int
	requests int
}

// run passes the call to the worker and serves it until its result arrives.
func (c *call) run() (sandbox.Output, *tool.Error) {
	began := time.Now()
	c.deadline = began.Add(c.inv.Timeout)
	defer c.begin()()
	if err := c.w.send.Write(kindCall, c.meta(), c.inv.Input); err != nil {
		c.undone = true // a worker reads all of a call before it begins it
		return c.loss(err)
	}
	allowed := fromChild(c.inv.MaxOutput, c.inv.MCP)
	for {
		f, err := c.w.read.Read(&allowed, nil)
		if err != nil {
			return c.loss(err)
		}
		if f.Kind == kindResult {
			out, fail, err := c.result(f, time.Since(began))
			if err != nil {
				return c.loss(err)
			}
			return out, fail
		}
		if err := c.serve(f); err != nil {
			return c.loss(err)
		}
	}
}

// meta returns the small part of the call's frame.
func (c *call) meta() *callMeta {
	return &callMeta{
		Export: c.inv.Export, Tool: c.inv.Tool, MaxChars: c.inv.Limits.MaxChars, MaxLines: c.inv.Limits.MaxLines, Config: c.inv.Grant.Config,
		MaxOutput: c.inv.MaxOutput, HTTP: c.inv.Grant.HTTP != nil, Progress: c.inv.Progress != nil, Fresh: c.inv.Fresh, MCP: c.inv.MCP,
	}
}

// begin registers the call with the CPU scheduler and arranges for the worker's kill
// at the deadline, and when the caller's context or the module ends. The returned
// function ends all of it.
func (c *call) begin() (end func()) {
	t := c.module.pool.sched
	next := c.inv.Timeout
	if c.module.computes.Load() {
		c.task = t.Join(c.module.plugin.Name, c.w.sched, true)
	} else {
		c.short, next = true, min(next, c.module.pool.grace)
		t.BeginShort()
	}
	c.mu.Lock()
	c.timer = time.AfterFunc(next, c.wake)
	c.mu.Unlock()
	gone := context.AfterFunc(c.outer, c.kill)
	closing := context.AfterFunc(c.module.calls.Life(), c.kill)
	return func() {
		gone()
		closing()
		c.end()
	}
}

// wake runs when the call has lasted long, and at its deadline.
func (c *call) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := time.Until(c.deadline)
	switch {
	case c.ended:
	case left <= 0:
		c.stop()
	default:
		if c.short {
			c.short = false
			c.task = c.module.pool.sched.Promote(c.module.plugin.Name, c.w.sched)
		}
		c.timer.Reset(left)
	}
}

// kill kills the worker unless the call has ended: then the worker may have another one.
func (c *call) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.stop()
	}
}

// stop kills the worker; c.mu is held.
func (c *call) stop() {
	c.lost = true
	c.w.kill()
}

// end ends the call's timer and its share of the cores.
func (c *call) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.timer.Stop()
	proved := false
	if c.short {
		c.module.pool.sched.EndShort()
	} else {
		proved = c.module.pool.sched.End(c.task)
	}
	if c.module.computes.Load() != proved {
		c.module.computes.Store(proved)
	}
}

// over reports whether the call's time has ended for any reason.
func (c *call) over() bool {
	return c.outer.Err() != nil || c.expired() || c.module.calls.Life().Err() != nil
}

// interrupted returns the failure of a call that is over.
func (c *call) interrupted() *tool.Error {
	return sandbox.Interrupted(c.inv, c.outer.Err(), c.expired(), c.module.calls.Life().Err() != nil)
}

func (c *call) expired() bool { return !time.Now().Before(c.deadline) }

// loss returns the failure of a call whose worker is lost. If the worker had not begun
// the call, another worker gets it, while there is time.
func (c *call) loss(err error) (sandbox.Output, *tool.Error) {
	c.mu.Lock()
	c.lost = true
	c.mu.Unlock()
	if c.over() {
		c.undone = false
		return sandbox.Output{}, c.interrupted()
	}
	err = c.w.lossOf(err) // may take a second
	if c.undone && c.over() {
		c.undone = false
		return sandbox.Output{}, c.interrupted()
	}
	c.module.log.Warn("a worker was lost", "export", c.inv.Export, "error", err)
	return sandbox.Output{}, c.lossFailure(err)
}
