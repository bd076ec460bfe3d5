package worker

import (
	"context"
	"sync"
	"time"

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
	ended bool
	lost  bool // the worker must not have another call

	undone   bool // the guest has certainly not begun: another worker must run it
	threads  int
	lines    int
	reports  int
	requests int
}

// run passes the call to the worker and serves it until its result arrives.
func (c *call) run() (sandbox.Output, *tool.Error) {
	began := time.Now()
	c.deadline = began.Add(c.inv.Timeout)
	meta := c.meta()
	c.w.low = false
	defer c.begin()()
	if err := c.w.send.Write(kindCall, meta, c.inv.Input); err != nil {
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
		MaxOutput: c.inv.MaxOutput, HTTP: c.inv.Grant.HTTP != nil, Progress: c.inv.Progress != nil, Fresh: c.inv.Fresh, MCP: c.inv.MCP, NewThread: c.w.low,
	}
}

// begin arranges for the worker's kill at the deadline, and when the caller's context or the
// module ends. The returned function ends that.
func (c *call) begin() (end func()) {
	timer := time.AfterFunc(c.inv.Timeout, c.kill)
	gone := context.AfterFunc(c.outer, c.kill)
	closing := context.AfterFunc(c.module.calls.Life(), c.kill)
	work := c.w.beginShift()
	return func() {
		timer.Stop()
		gone()
		closing()
		work.end()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
	}
}

// kill kills the worker unless the call has ended: then the worker may have another one.
func (c *call) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.lost = true
		c.w.kill()
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
