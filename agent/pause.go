package agent

import (
	"context"
	"sync"
	"time"
)

// Pause is for a Toolbox that waits for a person within a call: with the call's
// context, it stops the clock of the turn's time budget and gives the call's
// place in the round to another, until resume is called. Calling resume more
// than once does nothing; so does all of it with a context that no turn made.
func Pause(ctx context.Context) (resume func()) {
	p, ok := ctx.Value(pauseKey{}).(*pauser)
	if !ok {
		return func() {}
	}
	p.clock.stop()
	<-p.slots
	return sync.OnceFunc(func() {
		p.clock.start()
		p.slots <- struct{}{}
	})
}

type pauseKey struct{}

// A pauser is what a call can let go of while it waits.
type pauser struct {
	clock *clock
	slots chan struct{}
}

// A clock ends a context when a turn's time is used up. It stands still while
// anybody waits for a person.
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

// idled is how long nobody but a person was waited for, in all.
func (c *clock) idled() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle
}
