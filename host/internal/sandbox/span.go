package sandbox

import (
	"context"
	"time"
)

// A span is how long a guest may run: a call, or the making of an instance that
// no call waits for. It belongs to the goroutine that runs the guest.
type span interface {
	// over reports whether the guest is to end now.
	over() bool
	// context is done when over, for what waits and cannot ask.
	context() context.Context
	// bounds are what makes it over: the end of outer, the deadline if it is not
	// zero, and the end of life if it is not nil.
	bounds() (outer context.Context, deadline time.Time, life context.Context)
}

// spareSpan is the span of an instance that is made ahead.
type spareSpan struct{ ctx context.Context }

func (s spareSpan) over() bool               { return s.ctx.Err() != nil }
func (s spareSpan) context() context.Context { return s.ctx }
func (s spareSpan) bounds() (context.Context, time.Time, context.Context) {
	return s.ctx, time.Time{}, nil
}

// idleSpan is the span of an instance that nobody uses: whatever would run in it
// is to end.
type idleSpan struct{}

func (idleSpan) over() bool { return true }

func (idleSpan) context() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (s idleSpan) bounds() (context.Context, time.Time, context.Context) {
	return s.context(), time.Time{}, nil
}

// call is one Invocation on its way, and its span. Most calls end without having
// waited for anything, so a context with a timer and the goroutine behind it is
// made when it is first asked for.
type call struct {
	module   *Module
	inv      Invocation
	outer    context.Context // the caller's: tells its cancelling from our deadline
	began    time.Time
	deadline time.Time

	ctx    context.Context // nil until somebody needs it
	cancel context.CancelFunc
	unlink func() bool
}

// newCall begins the time of an Invocation.
func (m *Module) newCall(ctx context.Context, inv Invocation) *call {
	now := time.Now()
	return &call{module: m, inv: inv, outer: ctx, began: now, deadline: now.Add(inv.Timeout)}
}

// over implements span.
func (c *call) over() bool { return c.outer.Err() != nil || c.closing() || c.expired() }

// closing reports whether the module ends under the call.
func (c *call) closing() bool { return c.module.calls.Life().Err() != nil }

// expired reports whether the call's own time is up.
func (c *call) expired() bool { return !time.Now().Before(c.deadline) }

// bounds implements span.
func (c *call) bounds() (context.Context, time.Time, context.Context) {
	return c.outer, c.deadline, c.module.calls.Life()
}

// context implements span.
func (c *call) context() context.Context {
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithDeadline(c.outer, c.deadline)
		c.unlink = context.AfterFunc(c.module.calls.Life(), c.cancel)
	}
	return c.ctx
}

// end lets go of what the call held.
func (c *call) end() {
	if c.ctx != nil {
		c.unlink()
		c.cancel()
	}
}
