// Package approvals holds the tool calls that wait for a person's answer.
//
// A turn, or a call through MCP, adds a request to the Queue and waits. A client lists
// the pending requests of its principal, shows one with its arguments in full, and
// answers it; the answer goes to the caller that waits. FormatArgs writes arguments for
// people: nothing in them stays invisible, and the middle of a long text is left out.
package approvals

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	// maxPending bounds the pending requests of all principals.
	maxPending = 256
	// maxPendingPerPrincipal bounds those of one principal, to leave room for others.
	maxPendingPerPrincipal = 64
)

// waitingInterval is the time between two calls of waiting in Queue.Wait. Proxies end
// a silent connection, and only a write shows that a client has disconnected.
const waitingInterval = 15 * time.Second

// A Store holds the requests of one daemon, or of several. Every method sees only those of
// the given principal.
type Store interface {
	// Add adds a request, unless too many are pending: most of all principals. Of the same
	// call that another process asked about, Add returns that request instead.
	Add(ctx context.Context, r store.ApprovalRow, most, mostOfPrincipal int) (out store.ApprovalRow, added bool, err error)
	// Settle settles a request that is pending, and reports whether it was.
	Settle(ctx context.Context, principal, id, outcome string, answer []byte) (bool, error)
	// Get returns a request, settled or not, and List all that are pending, the oldest first.
	Get(ctx context.Context, principal, id string) (r store.ApprovalRow, found bool, err error)
	List(ctx context.Context, principal string) ([]store.ApprovalRow, error)
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
}

// A Queue holds the requests that wait for a person's answer. The first answer closes a
// request, or the end of the caller that waits, or Close. Every method sees only the
// requests of the given principal. It is safe for concurrent use.
type Queue struct {
	store Store
	self  string        // names this process
	poll  time.Duration // how often Wait asks the store; 0: it tells every change
	stop  chan struct{}
	once  sync.Once // of Close
}

// A Request is one call that waits for an answer. Its exported fields never change.
type Request struct {
	api.Approval
	principal string
}

// NewQueue returns a Queue whose requests are in memory.
func NewQueue() *Queue { return &Queue{store: &memory{}, stop: make(chan struct{})} }

// NewSharedQueue returns one whose requests other daemons see and answer, too.
func NewSharedQueue(s Store) *Queue {
	return &Queue{store: s, self: uuid.NewString(), poll: time.Second, stop: make(chan struct{})}
}

// Add adds a request that asks for r. The caller must call Wait with it. turn is the number
// of the conversation's turn, which another daemon may have begun. The error is
// approval.ErrNoPerson if too many requests are pending, and after Close.
func (q *Queue) Add(ctx context.Context, r approval.Request, turn int, now time.Time) (*Request, error) {
	select {
	case <-q.stop:
		return nil, approval.ErrNoPerson
	default:
	}
	whole := api.Approval{
		ID: uuid.NewString(), Conversation: limit.Visible(r.Conversation), CallID: limit.Visible(r.CallID), Tool: limit.Visible(r.Tool), Plugin: r.Plugin,
		Why: limit.Visible(r.Why), Always: limit.Visible(r.Always), Asked: now, Expires: r.Expires,
		Args: indent(r.Args), Calls: callsOf(r.Calls), Script: limit.Visible(r.Script),
	}
	row := store.ApprovalRow{ID: whole.ID, Principal: r.Principal, Asker: q.self, Asked: now, Expires: r.Expires}
	var err error
	if row.Body, err = json.Marshal(whole); err != nil {
		return nil, err
	}
	row.Same = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %d %q %q %q %q %q", r.Conversation, turn, r.CallID, r.Tool, r.Identity, r.Args, whole.Script)))
	row, added, err := q.store.Add(ctx, row, maxPending, maxPendingPerPrincipal)
	if err != nil {
		return nil, err
	}
	if !added {
		return nil, approval.ErrNoPerson
	}
	whole.ID, whole.Asked, whole.Expires = row.ID, row.Asked, row.Expires
	return &Request{shortened(whole), row.Principal}, nil
}

// Wait returns the answer to a request of Add. It calls waiting every 15 seconds. The
// error is that of ctx, or approval.ErrNoPerson after Close. If Answer accepted an
// answer at the same moment, Wait returns that answer and no error.
func (q *Queue) Wait(ctx context.Context, p *Request, waiting func()) (a approval.Answer, err error) {
	tick := time.NewTicker(waitingInterval)
	defer tick.Stop()
	var poll <-chan time.Time
	if q.poll > 0 {
		t := time.NewTicker(q.poll)
		defer t.Stop()
		poll = t.C
	}
	for err == nil {
		changed := q.store.Changed()                            // before the row, so that no change is missed
		r, found, failed := q.store.Get(ctx, p.principal, p.ID) // an error may pass
		if len(r.Answer) > 0 {
			return a, json.Unmarshal(r.Answer, &a)
		}
		if q.poll > 0 && !found && failed == nil { // it was deleted, with its conversation
			return a, approval.ErrNoPerson
		}
		select {
		case <-changed:
		case <-poll:
		case <-ctx.Done():
			err = ctx.Err()
		case <-q.stop:
			err = approval.ErrNoPerson
		case <-tick.C:
			waiting()
		}
	}
	ctx = context.WithoutCancel(ctx)
	if settled, failed := q.store.Settle(ctx, p.principal, p.ID, expired, nil); !settled && failed == nil {
		if r, _, _ := q.store.Get(ctx, p.principal, p.ID); len(r.Answer) > 0 {
			return a, json.Unmarshal(r.Answer, &a)
		}
	}
	return a, err
}

const expired = "it expired, or the client that asked has disconnected"

// Answer answers a request. It returns a problem with status 409 if the request is
// closed, one with status 400 if the answer names calls that the request does not have,
// and NotFound if the principal has no such request.
func (q *Queue) Answer(ctx context.Context, principal, id string, a approval.Answer) error {
	p, found, err := q.find(ctx, principal, id)
	if err != nil {
		return err
	}
	for _, n := range a.Only {
		if found && !slices.ContainsFunc(p.Calls, func(c api.ApprovalCall) bool { return c.Number == n }) {
			return api.Problemf(http.StatusBadRequest, api.CodeBadBody, "name numbers of the request's calls", "the request has no call %d", n)
		}
	}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if settled, err := q.store.Settle(ctx, principal, id, "it has an answer already", body); settled || err != nil {
		return err
	}
	r, found, err := q.store.Get(ctx, principal, id)
	switch {
	case err != nil:
		return err
	case !found:
		return NotFound()
	}
	return api.Problemf(http.StatusConflict, "settled", "ask the model to try again if it should", "the request cannot be answered any more: %s", tool.Text{Format: cmp.Or(r.Outcome, expired)})
}

// NotFound returns the problem of a request that is unknown or another principal's.
func NotFound() *api.Problem {
	return api.Problemf(http.StatusNotFound, "not_found", "`weir approvals list` lists what waits", "no request with that id waits here")
}

// List returns the pending requests of a principal, the oldest first. It is never nil.
func (q *Queue) List(ctx context.Context, principal string) ([]api.Approval, error) {
	rows, err := q.store.List(ctx, principal)
	out := []api.Approval{}
	for _, r := range rows {
		if a, ok := whole(r); ok {
			out = append(out, shortened(a))
		}
	}
	return out, err
}

// Find returns a pending request, with nothing left out.
func (q *Queue) Find(ctx context.Context, principal, id string) (api.Approval, error) {
	a, found, err := q.find(ctx, principal, id)
	if err == nil && !found {
		return a, NotFound()
	}
	return a, err
}

func (q *Queue) find(ctx context.Context, principal, id string) (a api.Approval, found bool, err error) {
	r, found, err := q.store.Get(ctx, principal, id)
	if err != nil || !found || r.Outcome != "" {
		return a, false, err
	}
	a, found = whole(r)
	return a, found, nil
}

// whole returns the request of a row, with nothing left out.
func whole(r store.ApprovalRow) (a api.Approval, ok bool) {
	ok = json.Unmarshal(r.Body, &a) == nil
	a.ID, a.Asked, a.Expires = r.ID, r.Asked, r.Expires
	return a, ok
}

// Changed returns a channel that is closed at the next change of the pending requests.
func (q *Queue) Changed() <-chan struct{} { return q.store.Changed() }

// Close refuses all pending and all later requests. Later calls do nothing.
func (q *Queue) Close() { q.once.Do(func() { close(q.stop) }) }
