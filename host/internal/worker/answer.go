package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// What a parent accepts from a worker during one call. A sandbox that follows the rules stays far
// below; a worker that exceeds them is killed.
const (
	maxLines    = 2000    // log lines
	maxReports  = 1000    // progress reports, as many as the sandbox passes on
	maxRequests = 100_000 // HTTP requests
	maxThreads  = 2       // threads that run the guest: the first, and another one in its place
	maxWords    = 500     // bytes of a report's text
	maxMsg      = 12 << 10
)

// serve handles a frame that comes while the guest runs.
func (c *call) serve(f frames.Frame) error {
	switch f.Kind {
	case kindLog:
		if c.lines++; c.lines > maxLines {
			return frames.ErrProtocol
		}
		return c.log(f)
	case kindThread:
		m, err := frames.Decode[threadMeta](f)
		if c.threads++; err != nil || c.threads > maxThreads || !c.w.hasThread(m.ID) {
			return frames.ErrProtocol
		}
		c.w.thread.Store(int64(m.ID))
		return nil
	case kindProgress:
		if c.reports++; c.reports > maxReports || c.inv.Progress == nil {
			return frames.ErrProtocol
		}
		m, err := frames.Decode[progressMeta](f)
		if err != nil {
			return err
		}
		c.inv.Progress(max(m.Done, 0), max(m.Total, 0), sandbox.Printable(m.Message, maxWords))
		return nil
	case kindRequest:
		if c.requests++; c.requests > maxRequests {
			return frames.ErrProtocol
		}
		m, err := frames.Decode[requestMeta](f)
		if err != nil {
			return err
		}
		return c.request(egress.Request{Method: m.Method, URL: m.URL, Headers: m.Headers, Body: f.Data, TimeoutSeconds: m.TimeoutSeconds})
	}
	return frames.ErrProtocol
}

// request sends an HTTP request under the call's own policy.
func (c *call) request(r egress.Request) error {
	if c.inv.Grant.HTTP == nil {
		return frames.ErrProtocol
	}
	ctx, cancel := context.WithDeadline(c.outer, c.deadline)
	defer cancel()
	defer context.AfterFunc(c.module.calls.Life(), cancel)()
	resp, fail := c.inv.Grant.HTTP.Do(ctx, r)
	if fail == nil && len(resp.Body) > maxBody {
		fail = &tool.Error{Code: tool.TooLarge, Msg: "the response is larger than " + tool.Bytes(maxBody).String(), Hint: "ask for less"}
	}
	if fail != nil {
		return c.w.send.Write(kindResponse, responseMeta{Error: fail}, nil)
	}
	return c.w.send.Write(kindResponse, responseMeta{Status: resp.Status, URL: resp.URL, Headers: resp.Headers}, resp.Body)
}

// log writes a log line under the plugin's name.
func (c *call) log(f frames.Frame) error {
	m, err := frames.Decode[logMeta](f)
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

// known are the codes that a sandbox may give to a failure.
var known = []tool.Code{tool.Failed, tool.TimedOut, tool.OutOfMemory, tool.Trapped, tool.TooLarge, tool.Cancelled}

// result decodes the worker's result, and bounds its figures to what is possible.
func (c *call) result(f frames.Frame, took time.Duration) (sandbox.Output, *tool.Error, error) {
	var m resultMeta
	if err := m.unpack(f.Meta); err != nil {
		return sandbox.Output{}, nil, err
	}
	out := sandbox.Output{
		Bytes: f.Data, Text: m.Text, Flat: m.Flat, Memory: tool.Bytes(min(max(m.Memory, 0), 1<<32)),
		Instance: min(max(time.Duration(m.Instance), 0), took), Relist: m.Relist,
	}
	if m.Error == nil {
		if m.Flat && (m.Text || !c.inv.MCP || !answer.IsFlat(f.Data)) || c.inv.MCP && !m.Text && !m.Flat {
			return sandbox.Output{}, nil, frames.ErrProtocol
		}
		if out.Bytes == nil {
			out.Bytes = []byte{}
		}
		return out, nil, nil
	}
	if !slices.Contains(known, m.Error.Code) || len(f.Data) > 0 {
		return sandbox.Output{}, nil, frames.ErrProtocol
	}
	fail, err := m.Error.failure()
	return out, fail, err
}

// lossFailure returns the failure of a call whose worker ended with that error.
func (c *call) lossFailure(err error) *tool.Error {
	var lost *lossError
	name := c.inv.Name()
	switch {
	case errors.Is(err, frames.ErrProtocol):
		return tool.Errorf(tool.Failed, hintReport, "%s was stopped: its process violated the protocol with its host", name)
	case errors.As(err, &lost) && lost.outOfMemory():
		return sandbox.OutOfMemory(c.inv, c.module.facts.Memory, "its process ran out of memory")
	case errors.As(err, &lost) && killed(lost.state):
		return tool.Errorf(tool.Failed, "call it again; if the call fails again, ask for less at once", "%s was stopped by another program while it ran", name)
	}
	return tool.Errorf(tool.Trapped, hintOther, "%s crashed together with its process", name)
}

// Hints tell a model what to do next.
const (
	hintOther  = "try other arguments; if the call fails again, use another tool"
	hintReport = "use another tool; only the plugin's author can fix this one"
)
