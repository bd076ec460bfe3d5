package sandbox

import (
	"context"
	"sync"
)

// Calls are the calls that run in a module, wherever it runs: they end before
// it does. It is safe for concurrent use.
type Calls struct {
	life context.Context // ends the calls that outlast their module
	end  context.CancelFunc

	mu      sync.Mutex
	running int
	closed  bool
	idle    chan struct{} // closed when the last call of a closed module has ended
}

// NewCalls makes the Calls of a module that lives no longer than life.
func NewCalls(life context.Context) *Calls {
	c := &Calls{idle: make(chan struct{})}
	c.life, c.end = context.WithCancel(life)
	return c
}

// Life is done when calls that still run must end.
func (c *Calls) Life() context.Context { return c.life }

// Enter admits a call, unless the module closes; Leave must be called behind it.
func (c *Calls) Enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running++
	return true
}

// Leave ends a call.
func (c *Calls) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.closed {
		close(c.idle)
	}
}

// Close refuses new calls, waits for those that run until ctx is done, then ends
// Life and waits until they have noticed. It reports whether it was the first to
// close; of several, only that one waits.
func (c *Calls) Close(ctx context.Context) (first bool) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	c.closed = true
	if c.running == 0 {
		close(c.idle)
	}
	c.mu.Unlock()
	select {
	case <-c.idle:
	case <-ctx.Done():
		c.end()
		<-c.idle // soon: every call watches Life
	}
	c.end()
	return true
}
