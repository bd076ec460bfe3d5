package daemon

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
)

// lastWords is how long turns that are cut off have to be stored, and to tell
// their clients.
const lastWords = 5 * time.Second

// errStopped is the cause of a turn's end when the daemon stops before it.
var errStopped = errors.New("the daemon stops")

// Drain refuses new turns and calls, and what waits for a person, ends turns
// whose client has gone, and waits for the others. When ctx ends before they
// have, they are cut off: each is stored as far as it came and tells its client
// so. Then Drain returns the error of ctx, at most five seconds later. At the end,
// Drain disconnects the MCP clients.
func (d *Daemon) Drain(ctx context.Context) error {
	defer d.calls.Flush()
	defer d.meter.Flush()
	defer d.mcp.Close()
	d.mu.Lock()
	d.drain = true
	d.mu.Unlock()
	d.approvals.Close()
	d.resumable.Stop(false)
	done := make(chan struct{})
	go func() {
		d.turns.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	d.end(errStopped)
	defer d.resumable.Stop(true)
	last := time.NewTimer(lastWords)
	defer last.Stop()
	select {
	case <-done:
	case <-last.C:
	}
	return ctx.Err()
}

// until returns a context that also ends when the daemon cuts its turns off.
func (d *Daemon) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(d.ending, func() { cancel(errStopped) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// A handler answers a request, or says why not.
type handler = func(http.ResponseWriter, *http.Request) error

// awaited has Drain wait for what a handler does, and cut it off in the end, as it
// does with turns.
func (d *Daemon) awaited(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := d.attend(); err != nil {
			return err
		}
		defer d.turns.Done()
		ctx, release := d.until(r.Context())
		defer release()
		return cutOff(ctx, h(w, r.WithContext(ctx)))
	}
}

// whole is awaited, for what would be half done if it ended with its client: some
// of a configuration in force, or a plugin that the lock file alone has disabled.
func (d *Daemon) whole(h handler) handler {
	h = d.awaited(h)
	return func(w http.ResponseWriter, r *http.Request) error {
		return h(w, r.WithContext(context.WithoutCancel(r.Context())))
	}
}

// cutOff words the error of a turn that the daemon's stop has ended.
func cutOff(ctx context.Context, err error) error {
	if err == nil || context.Cause(ctx) != errStopped {
		return err
	}
	return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "ask again in a moment", "the daemon stopped before the answer was complete")
}
