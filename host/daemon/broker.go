package daemon

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/limit"
)

// The bounds of what a broker holds: requests that wait, those of one principal,
// so that nobody takes all the room, and requests that are over, of which it
// knows that they have been.
const (
	maxPending   = 256
	maxPendingOf = 64
	maxOver      = 512
)

// A broker brings requests and people together. Every request is settled once:
// by the first answer, or by the end of whoever waits. It is safe for concurrent
// use.
type broker struct {
	mu      sync.Mutex
	pending []*pending
	over    []*pending // the oldest first
	shut    chan struct{}
	closed  bool
}

// pending is one request. Its fields but settled never change.
type pending struct {
	api.Approval
	principal string
	whole     string
	answer    chan approval.Answer // holds one
	settled   string               // what it came to, for those who answer too late
}

func newBroker() *broker { return &broker{shut: make(chan struct{})} }

// open registers a request; it must be waited for. false: too many wait, of all
// or of the principal's, or the daemon stops.
func (b *broker) open(r approval.Request, now time.Time) (*pending, bool) {
	p := &pending{principal: string(r.Principal), whole: display(r.Args), answer: make(chan approval.Answer, 1)}
	p.Approval = api.Approval{
		ID: uuid.NewString(), Conversation: limit.Visible(r.Conversation), CallID: limit.Visible(r.CallID), Tool: limit.Visible(r.Tool), Plugin: r.Plugin,
		Why: limit.Visible(r.Why), Always: limit.Visible(r.Always), Asked: now, Expires: r.Expires,
	}
	p.Args, p.LeftOut = middleOut(p.whole)
	b.mu.Lock()
	defer b.mu.Unlock()
	theirs := 0
	for _, x := range b.pending {
		if x.principal == p.principal {
			theirs++
		}
	}
	if b.closed || len(b.pending) >= maxPending || theirs >= maxPendingOf {
		return nil, false
	}
	b.pending = append(b.pending, p)
	return p, true
}

// stillWaiting is how often a stream hears that a request is still open: a
// proxy would end one that is silent, and a client that has gone is noticed.
const stillWaiting = 15 * time.Second

// wait returns the answer to a request, or why there is none. An answer that was
// taken always counts. still is called from time to time.
func (b *broker) wait(ctx context.Context, p *pending, still func()) (approval.Answer, error) {
	tick := time.NewTicker(stillWaiting)
	defer tick.Stop()
	var err error
	for err == nil {
		select {
		case a := <-p.answer:
			return a, nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-b.shut:
			err = approval.ErrNoPerson
		case <-tick.C:
			still()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.settled == "" {
		b.settle(p, "it is over: nobody answered in time, or whoever asked has gone")
		return approval.Answer{}, err
	}
	return <-p.answer, nil
}

// settle takes a request out; b.mu is held.
func (b *broker) settle(p *pending, how string) {
	p.settled = how
	b.pending = slices.DeleteFunc(b.pending, func(x *pending) bool { return x == p })
	if len(b.over) >= maxOver {
		b.over = b.over[1:]
	}
	b.over = append(b.over, p)
}

// give answers a request of a principal's. Those of others are not there.
func (b *broker) give(principal, id string, a approval.Answer) *api.Problem {
	b.mu.Lock()
	defer b.mu.Unlock()
	mine := func(p *pending) bool { return p.ID == id && p.principal == principal }
	if i := slices.IndexFunc(b.pending, mine); i >= 0 {
		p := b.pending[i]
		b.settle(p, "it has been answered already")
		p.answer <- a
		return nil
	}
	if i := slices.IndexFunc(b.over, mine); i >= 0 {
		return api.Problemf(http.StatusConflict, "settled", "ask the model to try again if it should", "the request cannot be answered any more: %s", b.over[i].settled)
	}
	return noApproval()
}

func noApproval() *api.Problem {
	return api.Problemf(http.StatusNotFound, "not_found", "`weir approvals list` lists what waits", "no request with that id waits here")
}

// list returns what waits for a principal, the oldest first.
func (b *broker) list(principal string) []api.Approval {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []api.Approval{}
	for _, p := range b.pending {
		if p.principal == principal {
			out = append(out, p.Approval)
		}
	}
	return out
}

// find returns a request that waits, with all of its arguments.
func (b *broker) find(principal, id string) (api.Approval, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.pending {
		if p.principal == principal && p.ID == id {
			a := p.Approval
			a.Args, a.LeftOut = p.whole, 0
			return a, true
		}
	}
	return api.Approval{}, false
}

// stop refuses everything that waits, and all that would.
func (b *broker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.shut)
	}
}

// display writes arguments for a person, without loss.
func display(args json.RawMessage) string {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return limit.Visible(string(args))
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return limit.Visible(string(args))
	}
	return limit.Visible(strings.TrimSuffix(out.String(), "\n"))
}

// shownArgs is how many characters of the arguments are shown at once: the
// beginning and the end, where what matters is hidden least.
const shownArgs = 8000

// middleOut leaves out the middle of a long text, and says how much.
func middleOut(s string) (string, int) {
	n := utf8.RuneCountInString(s)
	if n <= shownArgs {
		return s, 0
	}
	r := []rune(s)
	const head = shownArgs * 3 / 4
	out := n - shownArgs
	return string(r[:head]) + "\n[…]\n" + string(r[n-(shownArgs-head):]), out
}
