package upstream

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// How long a call of a server may take, and how many run at the same time, where the settings
// say nothing.
const (
	DefaultTimeout  = 5 * time.Minute
	DefaultParallel = 64
)

// maxExtended is how many times its timeout a call may take that reports progress.
const maxExtended = 12

// maxReports bounds the reports of one call that its caller has not taken yet. Of one that
// takes them too slowly the newest are dropped: the others of the server do not wait for it.
const maxReports = 64

// Why a deadline has ended a call.
var (
	errSilent = errors.New("nothing was heard of the call for too long")
	errLong   = errors.New("the call took too long")
)

// A deadline ends a call of which nothing is heard for its timeout. Each report of progress
// begins the timeout anew, up to maxExtended of them in all.
type deadline struct {
	ctx           context.Context // that of the call
	cancel        context.CancelCauseFunc
	timeout       time.Duration
	silent, whole *time.Timer
	reports       chan report   // nil: nobody wants them
	passed        chan struct{} // closed when all reports were passed on
}

type report struct {
	done, total int
	msg         string
}

// newDeadline begins a deadline. pass receives the reports, one after another, and may block;
// if nil, they only extend the time. The caller must call stop.
func newDeadline(ctx context.Context, timeout time.Duration, pass func(done, total int, msg string)) *deadline {
	d := &deadline{timeout: timeout}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	d.silent = time.AfterFunc(timeout, func() { d.cancel(errSilent) })
	d.whole = time.AfterFunc(longest(timeout), func() { d.cancel(errLong) })
	if pass == nil {
		return d
	}
	d.reports, d.passed = make(chan report, maxReports), make(chan struct{})
	go func() {
		defer close(d.passed)
		for r := range d.reports {
			pass(r.done, r.total, r.msg)
		}
	}()
	return d
}

// longest returns how long a call may take that reports progress.
func longest(timeout time.Duration) time.Duration {
	return min(timeout, math.MaxInt64/maxExtended) * maxExtended
}

// report takes a report of progress. It does not block, and must not be called after stop.
func (d *deadline) report(done, total int, msg string) {
	d.silent.Reset(d.timeout)
	select {
	case d.reports <- report{done, total, msg}:
	default:
	}
}

// stop ends the deadline when all reports were passed on.
func (d *deadline) stop() {
	if d.reports != nil {
		close(d.reports)
		<-d.passed
	}
	d.silent.Stop()
	d.whole.Stop()
	d.cancel(nil)
}

// failure returns the failure of a call that the deadline has ended; nil: it has not.
func (d *deadline) failure(t Tool, inv sandbox.Invocation) *tool.Error {
	server, hint := t.Server.Settings.Name, tool.Textf("ask for less at once; if it needs more time, the operator can raise timeout below %s in tools.toml", t.setting())
	switch context.Cause(d.ctx) {
	case errSilent:
		return tool.NewError(tool.TimedOut, tool.Textf("the MCP server %s did not finish %s within %s, and reported no progress in that time", server, inv.Export, inv.Timeout), hint)
	case errLong:
		return tool.NewError(tool.TimedOut, tool.Textf("the MCP server %s did not finish %s within %s, although it reported progress", server, inv.Export, longest(inv.Timeout)), hint)
	}
	return nil
}
