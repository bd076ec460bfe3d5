package agent

import (
	"context"
	"sync"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// Pause stops the clock of the turn's time budget until resume is called. A Toolbox
// calls it with a call's context while it waits for a person; another call of the
// round can run meanwhile. Calling resume again does nothing. With a context of no
// turn, Pause and resume do nothing.
func Pause(ctx context.Context) (resume func()) {
	p, ok := ctx.Value(pauseKey{}).(*pauser)
	if !ok {
		return func() {}
	}
	p.clock.stop()
	if p.slots != nil {
		<-p.slots
	}
	return sync.OnceFunc(func() {
		p.clock.start()
		if p.slots != nil {
			p.slots <- struct{}{}
		}
	})
}

type pauseKey struct{}

// A pauser is what a call releases while it waits for a person, and what holds calls
// against the turn that a call of its makes.
type pauser struct {
	clock *clock
	slots chan struct{} // nil: the calls have no slots of their own
	vet   func(tool.Call) *tool.Error
}

// Inner returns the context of the calls that a call of a turn makes in its turn, such as
// those of a script. vet returns why one of them may not run, as the turn decides for the
// calls of its model; nil: it may. vet is safe for concurrent use. With a context of no
// turn, every call may.
func Inner(ctx context.Context) (_ context.Context, vet func(tool.Call) *tool.Error) {
	p, ok := ctx.Value(pauseKey{}).(*pauser)
	if !ok {
		return ctx, func(tool.Call) *tool.Error { return nil }
	}
	return context.WithValue(ctx, pauseKey{}, &pauser{clock: p.clock, vet: p.vet}), p.vet
}

// A clock cancels a context when a turn's time is used up. It stops while a call
// waits for a person.
type clock struct {
	mu      sync.Mutex
	timer   *time.Timer   // nil: there is no bound
	left    time.Duration // when it was started last
	started time.Time
	waiting int           // pauses in force
	idle    time.Duration // all that is over
	over    bool
}

// newClock starts a clock; budget 0 or less: it never ends ctx. end must be
// called.
func newClock(ctx context.Context, budget time.Duration) (_ context.Context, c *clock, end func()) {
	c = &clock{left: budget, started: time.Now()}
	if budget <= 0 {
		return ctx, c, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(budget, func() { cancel(errTimeBudget) })
	return ctx, c, func() {
		c.mu.Lock()
		c.over = true
		c.timer.Stop()
		c.mu.Unlock()
		cancel(nil)
	}
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting > 1 {
		return
	}
	now := time.Now()
	c.left -= now.Sub(c.started)
	c.started = now
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *clock) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting > 0 {
		return
	}
	now := time.Now()
	c.idle += now.Sub(c.started)
	c.started = now
	if c.timer != nil && !c.over {
		c.timer.Reset(max(c.left, 0))
	}
}

// waited returns how long all calls together waited for a person only.
func (c *clock) waited() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle
}
