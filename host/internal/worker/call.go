package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// A call is one Invocation in one worker.
type call struct {
	module *Module
	inv    sandbox.Invocation
	outer  context.Context
	w      *process

	lost     bool // the worker cannot be used any more
	started  bool // the guest may have done something
	lines    int
	reports  int
	requests int
}

// What a parent takes from the worker in one call. An honest sandbox stays far
// below; a worker that does not is ended.
const (
	maxLines    = 2000    // log lines
	maxReports  = 1000    // progress reports, as many as the sandbox passes on
	maxRequests = 100_000 // HTTP requests
	maxWords    = 500     // bytes of a report's text
	maxMsg      = 12 << 10
)

// run passes the call to the worker and serves it until its result is there.
func (c *call) run() (sandbox.Output, *tool.Error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(c.outer, c.inv.Timeout)
	defer cancel()
	defer context.AfterFunc(c.module.calls.Life(), cancel)()
	stop := context.AfterFunc(ctx, c.w.kill)
	defer func() {
		if !stop() {
			c.lost = true // the kill may come after the result
		}
	}()
	meta := callMeta{
		Export: c.inv.Export, MaxChars: c.inv.Limits.MaxChars, MaxLines: c.inv.Limits.MaxLines, Config: c.inv.Grant.Config,
		MaxOutput: c.inv.MaxOutput, HTTP: c.inv.Grant.HTTP != nil, Progress: c.inv.Progress != nil,
	}
	if err := c.w.send.write(kindCall, meta, c.inv.Input); err != nil {
		return c.loss(ctx, err)
	}
	allowed := fromChild(c.inv.MaxOutput)
	for {
		f, err := read(c.w.read, allowed)
		if err != nil {
			return c.loss(ctx, err)
		}
		if f.kind == kindResult {
			out, fail, err := c.result(f, time.Since(began))
			if err != nil {
				return c.loss(ctx, err)
			}
			return out, fail
		}
		if err := c.serve(ctx, f); err != nil {
			return c.loss(ctx, err)
		}
	}
}

// serve answers a frame that comes while the guest runs.
func (c *call) serve(ctx context.Context, f frame) error {
	switch f.kind {
	case kindStarted:
		if c.started {
			return errFrame
		}
		c.started = true
		return nil
	case kindLog:
		if c.lines++; c.lines > maxLines {
			return errFrame
		}
		return c.log(f)
	case kindProgress:
		if c.reports++; c.reports > maxReports || !c.started || c.inv.Progress == nil {
			return errFrame
		}
		m, err := open[progressMeta](f)
		if err == nil {
			c.inv.Progress(max(m.Done, 0), max(m.Total, 0), sandbox.Printable(m.Message, maxWords))
		}
		return err
	case kindRequest:
		if c.requests++; c.requests > maxRequests || !c.started {
			return errFrame
		}
		m, err := open[requestMeta](f)
		if err != nil {
			return err
		}
		return c.request(ctx, egress.Request{Method: m.Method, URL: m.URL, Headers: m.Headers, Body: f.data})
	}
	return errFrame
}

// request sends through the call's own policy, whatever the worker was told.
func (c *call) request(ctx context.Context, r egress.Request) error {
	if c.inv.Grant.HTTP == nil {
		return errFrame
	}
	resp, fail := c.inv.Grant.HTTP.Do(ctx, r)
	if fail == nil && len(resp.Body) > maxBody {
		fail = tool.Errorf(tool.TooLarge, "ask for less", "the answer is larger than %s", tool.Bytes(maxBody))
	}
	if fail != nil {
		return c.w.send.write(kindResponse, responseMeta{Error: fail}, nil)
	}
	return c.w.send.write(kindResponse, responseMeta{Status: resp.Status, URL: resp.URL, Headers: resp.Headers}, resp.Body)
}

// log passes a line on under the plugin's name.
func (c *call) log(f frame) error {
	m, err := open[logMeta](f)
	if err != nil {
		return err
	}
	level := min(max(hclog.Level(m.Level), hclog.Trace), hclog.Error)
	args := make([]any, 0, 8)
	for _, a := range m.Args[:min(len(m.Args), 8)&^1] {
		args = append(args, sandbox.Printable(a, maxArg))
	}
	c.module.log.Log(level, sandbox.Printable(m.Message, maxArg), args...)
	return nil
}

// known are the codes that a sandbox gives to a call.
var known = []tool.Code{tool.Failed, tool.TimedOut, tool.OutOfMemory, tool.Trapped, tool.TooLarge, tool.Cancelled}

// result takes the worker's answer, within what can be true.
func (c *call) result(f frame, took time.Duration) (sandbox.Output, *tool.Error, error) {
	m, err := open[resultMeta](f)
	if err != nil {
		return sandbox.Output{}, nil, err
	}
	out := sandbox.Output{
		Bytes: f.data, Memory: tool.Bytes(min(max(m.Memory, 0), 1<<32)),
		Instance: min(max(time.Duration(m.Instance), 0), took), Relist: m.Relist,
	}
	if m.Error == nil {
		if out.Bytes == nil {
			out.Bytes = []byte{}
		}
		return out, nil, nil
	}
	if !slices.Contains(known, m.Error.Code) || len(f.data) > 0 {
		return sandbox.Output{}, nil, errFrame
	}
	fail := &tool.Error{Code: m.Error.Code, Msg: sandbox.Printable(m.Error.Msg, maxMsg), Hint: sandbox.Printable(m.Error.Hint, maxMsg)}
	return out, fail, nil
}

// loss is the failure of a call whose worker is no more.
func (c *call) loss(ctx context.Context, err error) (sandbox.Output, *tool.Error) {
	c.lost = true
	if ctx.Err() != nil {
		return sandbox.Output{}, sandbox.Interrupted(c.inv, c.outer, ctx, c.module.calls.Life().Err() != nil)
	}
	err = c.w.why(err)
	c.module.log.Warn("a worker was lost", "export", c.inv.Export, "error", err)
	var lost *lossError
	name := c.inv.Export
	switch {
	case errors.Is(err, errFrame):
		return sandbox.Output{}, tool.Errorf(tool.Failed, hintReport, "%s was ended: its process broke the rules of talking to its host", name)
	case errors.As(err, &lost) && lost.outOfMemory():
		return sandbox.Output{}, sandbox.OutOfMemory(name, c.module.facts.Memory, "its process ran out of memory and was ended")
	case errors.As(err, &lost) && killed(lost.state):
		return sandbox.Output{}, tool.Errorf(tool.Failed, "try again; ask for less at once if it happens again", "%s was ended from outside while it ran", name)
	}
	return sandbox.Output{}, tool.Errorf(tool.Trapped, hintOther, "%s crashed, and its process with it", name)
}

// Hints say what a model can do next.
const (
	hintOther  = "try other arguments; if it happens again, use another tool"
	hintReport = "use another tool; the plugin's author has to fix this"
)
