// Package approvals holds the tool calls that wait for a person's answer.
//
// A turn, or a call through MCP, adds a request to the Queue and waits. A client lists
// the pending requests of its principal, shows one with its arguments in full, and
// answers it; the answer goes to the caller that waits. FormatArgs writes arguments for
// people: nothing in them stays invisible, and the middle of a long text is left out.
package approvals

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	// maxPending bounds the pending requests of all principals.
	maxPending = 256
	// maxPendingPerPrincipal bounds those of one principal, to leave room for others.
	maxPendingPerPrincipal = 64
	// maxClosed bounds the closed requests of which the queue remembers the outcome.
	maxClosed = 512
)

// waitingInterval is the time between two calls of waiting in Queue.Wait. Proxies end
// a silent connection, and only a write shows that a client has disconnected.
const waitingInterval = 15 * time.Second

// A Queue holds the requests that wait for a person's answer. The first answer closes a
// request, or the end of the caller that waits, or Close. Every method sees only the
// requests of the given principal. It is safe for concurrent use.
type Queue struct {
	mu      sync.Mutex
	pending []*Request
	closed  []*Request // the oldest first
	stop    chan struct{}
	stopped bool
	changed signal.Signal // of pending
}

// A Request is one call that waits for an answer. Its exported fields never change.
type Request struct {
	api.Approval
	principal string
	whole     api.Approval         // with nothing left out
	answer    chan approval.Answer // has room for one
	outcome   tool.Text            // for answers that arrive too late; zero: pending
}

// NewQueue returns an empty Queue.
func NewQueue() *Queue { return &Queue{stop: make(chan struct{})} }

// Add adds a request that asks for r. The caller must call Wait with it. Add returns
// false if too many requests are pending, or after Close.
func (q *Queue) Add(r approval.Request, now time.Time) (*Request, bool) {
	p := &Request{principal: string(r.Principal), answer: make(chan approval.Answer, 1)}
	p.whole = api.Approval{
		ID: uuid.NewString(), Conversation: limit.Visible(r.Conversation), CallID: limit.Visible(r.CallID), Tool: limit.Visible(r.Tool), Plugin: r.Plugin,
		Why: limit.Visible(r.Why), Always: limit.Visible(r.Always), Asked: now, Expires: r.Expires,
		Args: indent(r.Args), Calls: callsOf(r.Calls), Script: limit.Visible(r.Script),
	}
	p.Approval = shortened(p.whole)
	q.mu.Lock()
	defer q.mu.Unlock()
	count := 0
	for _, x := range q.pending {
		if x.principal == p.principal {
			count++
		}
	}
	if q.stopped || len(q.pending) >= maxPending || count >= maxPendingPerPrincipal {
		return nil, false
	}
	q.pending = append(q.pending, p)
	q.changed.Send()
	return p, true
}

// Wait returns the answer to a request of Add. It calls waiting every 15 seconds. The
// error is that of ctx, or approval.ErrNoPerson after Close. If Answer accepted an
// answer at the same moment, Wait returns that answer and no error.
func (q *Queue) Wait(ctx context.Context, p *Request, waiting func()) (approval.Answer, error) {
	tick := time.NewTicker(waitingInterval)
	defer tick.Stop()
	var err error
	for err == nil {
		select {
		case a := <-p.answer:
			return a, nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-q.stop:
			err = approval.ErrNoPerson
		case <-tick.C:
			waiting()
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.outcome.IsZero() {
		q.remove(p, tool.Textf("it expired, or the client that asked has disconnected"))
		return approval.Answer{}, err
	}
	return <-p.answer, nil
}

// remove closes a pending request. The caller holds q.mu.
func (q *Queue) remove(p *Request, outcome tool.Text) {
	p.outcome = outcome
	q.changed.Send()
	q.pending = slices.DeleteFunc(q.pending, func(x *Request) bool { return x == p })
	if len(q.closed) >= maxClosed {
		q.closed = q.closed[1:]
	}
	q.closed = append(q.closed, p)
}

// Answer answers a request. It returns a problem with status 409 if the request is
// closed, one with status 400 if the answer names calls that the request does not have,
// and NotFound if the principal has no such request.
func (q *Queue) Answer(principal, id string, a approval.Answer) *api.Problem {
	q.mu.Lock()
	defer q.mu.Unlock()
	match := func(p *Request) bool { return p.ID == id && p.principal == principal }
	if i := slices.IndexFunc(q.pending, match); i >= 0 {
		p := q.pending[i]
		for _, n := range a.Only {
			if !slices.ContainsFunc(p.Calls, func(c api.ApprovalCall) bool { return c.Number == n }) {
				return api.Problemf(http.StatusBadRequest, api.CodeBadBody, "name numbers of the request's calls", "the request has no call %d", n)
			}
		}
		q.remove(p, tool.Textf("it has an answer already"))
		p.answer <- a
		return nil
	}
	if i := slices.IndexFunc(q.closed, match); i >= 0 {
		return api.Problemf(http.StatusConflict, "settled", "ask the model to try again if it should", "the request cannot be answered any more: %s", q.closed[i].outcome)
	}
	return NotFound()
}

// NotFound returns the problem of a request that is unknown or another principal's.
func NotFound() *api.Problem {
	return api.Problemf(http.StatusNotFound, "not_found", "`weir approvals list` lists what waits", "no request with that id waits here")
}

// List returns the pending requests of a principal, the oldest first. It is never nil.
func (q *Queue) List(principal string) []api.Approval {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := []api.Approval{}
	for _, p := range q.pending {
		if p.principal == principal {
			out = append(out, p.Approval)
		}
	}
	return out
}

// Find returns a pending request, with nothing left out.
func (q *Queue) Find(principal, id string) (api.Approval, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range q.pending {
		if p.principal == principal && p.ID == id {
			return p.whole, true
		}
	}
	return api.Approval{}, false
}

// Changed returns a channel that is closed at the next change of the pending requests.
func (q *Queue) Changed() <-chan struct{} { return q.changed.Next() }

// Close refuses all pending and all later requests. Later calls do nothing.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopped {
		q.stopped = true
		close(q.stop)
	}
}
