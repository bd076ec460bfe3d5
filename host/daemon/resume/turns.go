// Package resume runs turns that continue when their client disconnects.
//
// Turns starts such a turn and keeps it: while it runs, and for five minutes after its
// end. A Turn writes its events into a log, from which Serve sends them to the client. A
// client that reconnects names the last event that it has read and receives the events
// after it. If the log has dropped some of them, the client receives one event with the
// text of the answer so far. If no connection reads a turn for its grace period, the turn
// is cancelled.
//
// # Files
//
//   - turns, turn: turns that go on without a client
//   - log: their last events
//   - shared: events for clients of other daemons
package resume

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// DefaultGrace is how long a turn runs without a connection that reads it.
const DefaultGrace = time.Minute

// The bounds of ended turns, whose clients may still read the last events.
const (
	keepFor             = 5 * time.Minute
	maxEnded            = 256
	maxEndedByPrincipal = 64 // leaves room for the turns of others
	maxEndedBytes       = 32 << 20
)

// Config is what turns need of the daemon.
type Config struct {
	// Heartbeat returns the longest silence of a stream.
	Heartbeat func() time.Duration
	// Problem returns an error as clients receive it, in their language.
	Problem func(tool.Locale, error) *api.Problem
	// Table keeps the events where daemons share a database; nil: memory does. Left is the
	// error of a turn that goes on in another process, and what ends a turn so that it does.
	Table *store.Store
	Left  error
}

// Turns are the turns that clients can resume. Create it with New. It is safe for
// concurrent use.
type Turns struct {
	config  Config
	stopped context.Context // of those who read turns of other daemons here
	stop    context.CancelFunc

	mu      sync.Mutex
	byID    map[string]*Turn
	running map[conversation]*Turn // those that have begun and not ended
	ended   []*Turn                // the oldest first
}

// A conversation of a principal. No two turns of one run at once.
type conversation struct{ principal, id string }

// New returns an empty Turns.
func New(c Config) *Turns {
	ts := &Turns{config: c, byID: map[string]*Turn{}, running: map[conversation]*Turn{}}
	ts.stopped, ts.stop = context.WithCancel(context.Background())
	return ts
}

// A Start describes a turn to start.
type Start struct {
	Principal string
	// Locale is the language of an error in the stream.
	Locale tool.Locale
	// Grace is how long the turn runs without a reader.
	Grace time.Duration
	// Run runs the turn. It must not panic, and must return soon after its context ends.
	Run func(ctx context.Context, t *Turn, emit func(name string, data any)) (api.ChatEnd, error)
}

// Start starts a turn. It has the values of ctx, but does not end with it.
func (ts *Turns) Start(ctx context.Context, s Start) *Turn {
	return ts.start(ctx, s, uuid.NewString(), 0, 1)
}

func (ts *Turns) start(ctx context.Context, s Start, id string, last int, fence int64) *Turn {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	cancel := func() { end(nil) }
	t := &Turn{id: id, principal: s.Principal, locale: s.Locale, grace: s.Grace, cancel: cancel, leave: func() { end(ts.config.Left) }, config: ts.config, stopped: ts.stopped, log: newLog(logBytes), ended: make(chan struct{})}
	t.log.last = last
	if ts.config.Table != nil {
		t.batch = newBatcher(ctx, ts.config.Table, id, fence, t.log)
	}
	ts.add(t)
	go func() {
		defer cancel()
		defer close(t.ended)
		end, err := s.Run(ctx, t, func(name string, data any) {
			t.emit(name, data)
			if start, ok := data.(api.ChatStart); ok { // after its event: who joins reads that
				ts.begin(t, start.Conversation)
			}
		})
		ts.end(t)
		t.finish(end, err)
		ts.retire(t)
	}()
	return t
}

// Find returns the turn of an event and the event's number in the turn. It returns the
// same problem, with status 404, for an unknown event and for another principal's.
func (ts *Turns) Find(ctx context.Context, principal, event string) (*Turn, int, error) {
	if event == "" {
		return nil, 0, api.Problemf(http.StatusBadRequest, "no_event", "send the header Last-Event-ID with the id of the last event that was read, or POST a question", "the request names no stream")
	}
	at := max(strings.LastIndexByte(event, '-'), 0)
	n, err := strconv.Atoi(strings.TrimPrefix(event[at:], "-"))
	t, ok := ts.find(principal, event[:at])
	if (!ok || t.log.isLost()) && err == nil {
		switch other, err := ts.elsewhere(ctx, principal, event[:at], n); {
		case err == nil:
			return other, n, nil
		case !errors.Is(err, store.ErrNotFound):
			return nil, 0, err
		}
	}
	if !ok || err != nil || n < 0 || n > t.log.number() { // the client cannot have read a later event
		return nil, 0, api.Problemf(http.StatusNotFound, "no_stream", "read the conversation instead; a stream can be resumed when the question said \"resume\": true, for five minutes after its end, and after a restart of the daemon only where PostgreSQL has it",
			"there is no stream with the event %q", api.Clip(event, 80))
	}
	return t, n, nil
}

// Running returns the turn that runs in a conversation, for a client that has not read
// its events. It returns the same problem, with status 404, if none runs and for another
// principal's conversation.
func (ts *Turns) Running(ctx context.Context, principal, id string) (*Turn, error) {
	if t := ts.runs(principal, id); t != nil {
		return t, nil
	}
	if ts.config.Table != nil {
		turn, err := ts.config.Table.RunOf(ctx, archive.Scope{Principal: principal, Conversation: id})
		if err == nil {
			return ts.elsewhere(ctx, principal, turn, 0)
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	return nil, api.Problemf(http.StatusNotFound, "no_turn", "read the conversation: the answer is there if it has ended; only a question that was sent with \"resume\": true can be joined",
		"no answer to join is running in the conversation %q", api.Clip(id, 80))
}

// runs returns the turn that runs here in a conversation; nil: none does.
func (ts *Turns) runs(principal, id string) *Turn {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.running[conversation{principal, id}]; t != nil && !t.log.isLost() {
		return t
	}
	return nil
}

// begin records the conversation of a turn that has begun.
func (ts *Turns) begin(t *Turn, id string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.running[conversation{t.principal, id}] = t
}

// end forgets the conversation of a turn.
func (ts *Turns) end(t *Turn) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	maps.DeleteFunc(ts.running, func(_ conversation, other *Turn) bool { return other == t })
}

// Stop cancels the turns that no connection reads, or all, also for those who read turns of
// other daemons: they find these there.
func (ts *Turns) Stop(all bool) {
	if all {
		ts.stop()
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.byID {
		t.stop(all)
	}
}

// Len returns the number of turns that clients can resume.
func (ts *Turns) Len() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.byID)
}

func (ts *Turns) add(t *Turn) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.byID[t.id] = t
}

// find returns a turn of the principal.
func (ts *Turns) find(principal, id string) (*Turn, bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t, ok := ts.byID[id]
	return t, ok && t.principal == principal
}

// retire keeps an ended turn for five minutes, and drops the oldest ones above the
// bounds.
func (ts *Turns) retire(t *Turn) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.failed != nil { // its client receives the error, and no client has read an event
		ts.forget(t)
		return
	}
	ts.ended = append(ts.ended, t)
	ts.limitPrincipal(t.principal)
	sum := 0
	for _, x := range ts.ended {
		sum += x.log.size()
	}
	for len(ts.ended) > maxEnded || sum > maxEndedBytes && len(ts.ended) > 1 {
		sum -= ts.ended[0].log.size()
		ts.forget(ts.ended[0])
		ts.ended = ts.ended[1:]
	}
	time.AfterFunc(keepFor, func() { ts.drop(t) })
}

// limitPrincipal drops a principal's oldest ended turns above the bound. The caller holds
// ts.mu.
func (ts *Turns) limitPrincipal(principal string) {
	count := 0
	for _, x := range ts.ended {
		if x.principal == principal {
			count++
		}
	}
	ts.ended = slices.DeleteFunc(ts.ended, func(x *Turn) bool {
		if x.principal != principal || count <= maxEndedByPrincipal {
			return false
		}
		count--
		ts.forget(x)
		return true
	})
}

func (ts *Turns) drop(t *Turn) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.forget(t)
	ts.ended = slices.DeleteFunc(ts.ended, func(x *Turn) bool { return x == t })
}

// forget removes a turn that clients cannot read any more. It may have been taken over again.
// The caller holds ts.mu.
func (ts *Turns) forget(t *Turn) {
	if ts.byID[t.id] == t {
		delete(ts.byID, t.id)
	}
}
