package turns

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/signal"
)

// lastWords is how long turns that are cut off have to be stored, and to tell
// their clients.
const lastWords = 5 * time.Second

// errStopped is the cause of a turn's end when the daemon stops before it.
var errStopped = errors.New("the daemon stops")

// An Admission admits turns and calls until it is closed: one turn for each
// conversation, and not more turns at once than there are slots. Create it with
// NewAdmission. It is safe for concurrent use.
type Admission struct {
	slots func() chan struct{}

	mu     sync.Mutex // guards busy and closed
	busy   map[archive.Scope]bool
	closed bool

	changed signal.Signal  // of busy and closed
	inside  sync.WaitGroup // turns and calls
	// ending is done when what is still inside is to end.
	ending context.Context
	end    context.CancelCauseFunc
}

// NewAdmission returns an open Admission. slots returns the slots in force; a nil
// channel sets no bound.
func NewAdmission(slots func() chan struct{}) *Admission {
	a := &Admission{slots: slots, busy: map[archive.Scope]bool{}}
	a.ending, a.end = context.WithCancelCause(context.Background())
	return a
}

// Enter takes a slot for one turn and the conversation's lock. The returned
// function gives both back.
func (a *Admission) Enter(conversation archive.Scope) (leave func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, closedProblem()
	case a.busy[conversation]:
		return nil, busyProblem()
	}
	free, err := a.slot()
	if err != nil {
		return nil, err
	}
	a.busy[conversation] = true
	a.changed.Send()
	a.inside.Add(1)
	return func() {
		a.mu.Lock()
		delete(a.busy, conversation)
		a.changed.Send()
		a.mu.Unlock()
		free()
		a.inside.Done()
	}, nil
}

// slot takes a slot; free gives it back. a.mu is held.
func (a *Admission) slot() (free func(), err error) {
	slots := a.slots() // given back there, whatever is in force by then
	if slots == nil {
		return func() {}, nil
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	default:
		p := api.Problemf(http.StatusServiceUnavailable, "overloaded", "ask again in a moment", "%d turns are running already", cap(slots))
		p.RetryAfter = time.Second
		return nil, p
	}
}

// RunOne runs f as a request that takes a slot and belongs to no conversation. Wait cuts it
// off as it does turns.
func (a *Admission) RunOne(ctx context.Context, f func(context.Context) error) error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return closedProblem()
	}
	free, err := a.slot()
	if err == nil {
		a.inside.Add(1)
	}
	a.mu.Unlock()
	if err != nil {
		return err
	}
	defer a.inside.Done()
	defer free()
	ctx, release := a.until(ctx)
	defer release()
	return cutOff(ctx, f(ctx))
}

// Attend admits a call that is no turn. Wait waits for it until done is called.
func (a *Admission) Attend() (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, closedProblem()
	}
	a.inside.Add(1)
	return a.inside.Done, nil
}

// Run runs f as a call that is no turn, which Wait cuts off as it does turns.
func (a *Admission) Run(ctx context.Context, f func(context.Context) error) error {
	done, err := a.Attend()
	if err != nil {
		return err
	}
	defer done()
	ctx, release := a.until(ctx)
	defer release()
	return cutOff(ctx, f(ctx))
}

// Close refuses all that comes from now on.
func (a *Admission) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.changed.Send()
}

// Changed returns a channel that is closed when a turn begins or ends, and by Close.
func (a *Admission) Changed() <-chan struct{} { return a.changed.Next() }

// Answering returns the conversations of a principal in which a turn runs, sorted. It is
// never nil.
func (a *Admission) Answering(principal string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := []string{}
	for c := range a.busy {
		if c.Principal == principal {
			out = append(out, c.Conversation)
		}
	}
	slices.Sort(out)
	return out
}

// Closed reports whether Close was called.
func (a *Admission) Closed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

// Wait waits for what is inside. When ctx ends before that, Wait cuts it off, gives it
// five seconds, and returns the error of ctx. Close must have been called.
func (a *Admission) Wait(ctx context.Context) error {
	empty := make(chan struct{})
	go func() {
		a.inside.Wait()
		close(empty)
	}()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
	}
	a.end(errStopped)
	last := time.NewTimer(lastWords)
	defer last.Stop()
	select {
	case <-empty:
	case <-last.C:
	}
	return ctx.Err()
}

// until returns a context that also ends when Wait cuts off what is inside.
func (a *Admission) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.ending, func() { cancel(errStopped) })
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
	return errGone()
}

func errGone() *api.Problem {
	return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "ask again in a moment", "the daemon stopped before the answer was complete")
}

func closedProblem() *api.Problem {
	return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "ask again in a moment", "the daemon is shutting down")
}

func busyProblem() *api.Problem {
	return api.Problemf(http.StatusConflict, api.CodeBusy, "wait for its answer or begin another conversation", "this conversation is still answering")
}

// A Handler answers a request, or says why not.
type Handler = func(http.ResponseWriter, *http.Request) error

// Awaited has Drain wait for what a handler does, and cut it off in the end, as it
// does with turns.
func (a *Admission) Awaited(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		return a.Run(r.Context(), func(ctx context.Context) error { return h(w, r.WithContext(ctx)) })
	}
}

// Whole is Awaited, for what would be half done if it ended with its client: some
// of a configuration in force, or a plugin that the lock file alone has disabled.
func (a *Admission) Whole(h Handler) Handler {
	h = a.Awaited(h)
	return func(w http.ResponseWriter, r *http.Request) error {
		return h(w, r.WithContext(context.WithoutCancel(r.Context())))
	}
}
