package turns

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
)

// lastWords is how long turns that are cut off have to be stored, and to tell
// their clients.
const lastWords = 5 * time.Second

// errStopped is the cause of a turn's end when the daemon stops before it.
var errStopped = errors.New("the daemon stops")

// A Gate admits turns and calls until it is closed: one turn for each conversation, and
// not more turns at once than there are slots. Create it with NewGate. It is safe for
// concurrent use.
type Gate struct {
	slots func() chan struct{}

	mu     sync.Mutex // guards busy and closed
	busy   map[archive.Scope]bool
	closed bool

	inside sync.WaitGroup // turns and calls
	// ending is done when what is still inside is to end.
	ending context.Context
	end    context.CancelCauseFunc
}

// NewGate returns an open Gate. slots returns the slots in force; a nil channel sets no
// bound.
func NewGate(slots func() chan struct{}) *Gate {
	g := &Gate{slots: slots, busy: map[archive.Scope]bool{}}
	g.ending, g.end = context.WithCancelCause(context.Background())
	return g
}

// Enter takes a slot for one turn and the conversation's lock. The returned
// function gives both back.
func (g *Gate) Enter(conversation archive.Scope) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, closedProblem()
	case g.busy[conversation]:
		return nil, busyProblem()
	}
	slots := g.slots() // given back there, whatever is in force by then
	if slots != nil {
		select {
		case slots <- struct{}{}:
		default:
			return nil, api.Problemf(http.StatusServiceUnavailable, "overloaded", "ask again in a moment", "%d turns are running already", cap(slots))
		}
	}
	g.busy[conversation] = true
	g.inside.Add(1)
	return func() {
		g.mu.Lock()
		delete(g.busy, conversation)
		g.mu.Unlock()
		if slots != nil {
			<-slots
		}
		g.inside.Done()
	}, nil
}

// Attend admits a call that is no turn. Wait waits for it until done is called.
func (g *Gate) Attend() (done func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, closedProblem()
	}
	g.inside.Add(1)
	return g.inside.Done, nil
}

// Run runs f as a call that is no turn, which Wait cuts off as it does turns.
func (g *Gate) Run(ctx context.Context, f func(context.Context) error) error {
	done, err := g.Attend()
	if err != nil {
		return err
	}
	defer done()
	ctx, release := g.until(ctx)
	defer release()
	return cutOff(ctx, f(ctx))
}

// Close refuses all that comes from now on.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// Closed reports whether Close was called.
func (g *Gate) Closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Wait waits for what is inside. When ctx ends before that, Wait cuts it off, gives it
// five seconds, and returns the error of ctx. Close must have been called.
func (g *Gate) Wait(ctx context.Context) error {
	empty := make(chan struct{})
	go func() {
		g.inside.Wait()
		close(empty)
	}()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
	}
	g.end(errStopped)
	last := time.NewTimer(lastWords)
	defer last.Stop()
	select {
	case <-empty:
	case <-last.C:
	}
	return ctx.Err()
}

// until returns a context that also ends when Wait cuts off what is inside.
func (g *Gate) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(g.ending, func() { cancel(errStopped) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// cutOff words the error of what Wait has cut off.
func cutOff(ctx context.Context, err error) error {
	if err == nil || context.Cause(ctx) != errStopped {
		return err
	}
	return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "ask again in a moment", "the daemon stopped before the answer was complete")
}

func closedProblem() *api.Problem {
	return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "ask again in a moment", "the daemon is shutting down")
}

func busyProblem() *api.Problem {
	return api.Problemf(http.StatusConflict, api.CodeBusy, "wait for its answer or begin another conversation", "this conversation is still answering")
}
