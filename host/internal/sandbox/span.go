package sandbox

import (
	"context"
	"time"
)

// A span is the time in which a guest may run: a call, or the creation of an instance
// that no call waits for. It belongs to the goroutine that runs the guest.
type span interface {
	// over reports whether the guest must end now.
	over() bool
	// context is done when the span is over, for code that waits.
	context() context.Context
	// bounds returns what ends the span: the end of outer, the deadline if it is not
	// zero, and the end of life if it is not nil.
	bounds() (outer context.Context, deadline time.Time, life context.Context)
}

// spareSpan is the span of a spare instance that is being created.
type spareSpan struct{ ctx context.Context }

func (s spareSpan) over() bool               { return s.ctx.Err() != nil }
func (s spareSpan) context() context.Context { return s.ctx }
func (s spareSpan) bounds() (context.Context, time.Time, context.Context) {
	return s.ctx, time.Time{}, nil
}

// idleSpan is the span of an instance without a call: it is always over.
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

// call is one Invocation and its span. Most calls end without waiting for anything, so
// a context with a timer is created only when it is needed.
type call struct {
	module   *Module
	inv      Invocation
	outer    context.Context // the caller's: distinguishes its cancellation from our deadline
	began    time.Time
	deadline time.Time

	ctx    context.Context // nil until it is needed
	cancel context.CancelFunc
	unlink func() bool
}

// newCall returns the call of an Invocation, whose time begins now.
func (m *Module) newCall(ctx context.Context, inv Invocation) *call {
	now := time.Now()
	return &call{module: m, inv: inv, outer: ctx, began: now, deadline: now.Add(inv.Timeout)}
}

// over implements span.
func (c *call) over() bool { return c.outer.Err() != nil || c.closing() || c.expired() }

// closing reports whether the module is being closed.
func (c *call) closing() bool { return c.module.calls.Life().Err() != nil }

// expired reports whether the call's deadline has passed.
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

// end releases the call's context.
func (c *call) end() {
	if c.ctx != nil {
		c.unlink()
		c.cancel()
	}
}
