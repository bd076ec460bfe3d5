package sandbox

import (
	"context"
	"sync"
	"sync/atomic"
)

// Calls counts the calls that run in a module, in whichever process, so the module can
// wait for them. It is safe for concurrent use.
type Calls struct {
	life context.Context // its end cancels the calls that outlast their module
	end  context.CancelFunc

	running atomic.Int64 // number of calls, plus closed
	once    sync.Once
	idle    chan struct{} // closed when the last call of a closed module has ended
}

// closed is added to the number of calls when no more are admitted.
const closed = 1 << 62

// NewCalls returns the Calls of a module that lives no longer than life.
func NewCalls(life context.Context) *Calls {
	c := &Calls{idle: make(chan struct{})}
	c.life, c.end = context.WithCancel(life)
	return c
}

// Life returns a context that is done when running calls must end.
func (c *Calls) Life() context.Context { return c.life }

// Enter admits a call, unless the module closes. Leave must follow.
func (c *Calls) Enter() bool {
	if c.running.Add(1) < closed {
		return true
	}
	c.Leave()
	return false
}

// Leave ends a call.
func (c *Calls) Leave() {
	if c.running.Add(-1) == closed {
		c.once.Do(func() { close(c.idle) }) // also after a call that came too late
	}
}

// Close refuses new calls, waits for running ones until ctx is done, then ends Life
// and waits until they have ended. It reports whether it was the first to close; only
// that one waits.
func (c *Calls) Close(ctx context.Context) (first bool) {
	switch before := c.running.Or(closed); {
	case before >= closed:
		return false
	case before == 0:
		c.once.Do(func() { close(c.idle) })
	}
	select {
	case <-c.idle:
	case <-ctx.Done():
		c.end()
		<-c.idle // soon: every call watches Life
	}
	c.end()
	return true
}
