package daemon

import (
	"context"
	"net/http"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

// The answers to a request.
const (
	answerOnce   = "once"
	answerAlways = "always"
	answerDeny   = "deny"
)

// An ApprovalWaiting tells a stream that a request is still open.
type ApprovalWaiting struct {
	ID          string `json:"id"`
	CallID      string `json:"call_id"`
	SecondsLeft int    `json:"seconds_left"`
}

// An ApprovalAnswered tells a stream what a request came to: an answer, or
// "expired", "gone" or "nobody".
type ApprovalAnswered struct {
	ID     string `json:"id"`
	CallID string `json:"call_id"`
	Answer string `json:"answer"`
}

// An ApprovalList is what GET /api/approvals answers, the oldest first.
type ApprovalList struct {
	Approvals []Approval `json:"approvals"`
}

// An Answer is what a person says to a request.
type Answer struct {
	// Answer is once, always or deny.
	Answer string `json:"answer"`
}

// Answered says which request was answered how.
type Answered struct {
	ID     string `json:"id"`
	Answer string `json:"answer"`
}

func (d *Daemon) listApprovals(w http.ResponseWriter, r *http.Request) error {
	writeJSON(w, http.StatusOK, ApprovalList{d.approvals.list(d.principal(r))})
	return nil
}

func (d *Daemon) showApproval(w http.ResponseWriter, r *http.Request) error {
	a, ok := d.approvals.find(d.principal(r), r.PathValue("id"))
	if !ok {
		return noApproval()
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}

// answerApproval takes a person's answer. A model cannot give it: what it
// writes is text, and no tool has the token.
func (d *Daemon) answerApproval(w http.ResponseWriter, r *http.Request) error {
	var body Answer
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	verdict, ok := map[string]host.Verdict{answerOnce: host.Once, answerAlways: host.Always, answerDeny: host.Refuse}[body.Answer]
	if !ok {
		return problem(http.StatusBadRequest, codeBadBody, `send {"answer": "once"}, "always" or "deny"`, "%q is no answer", clip(body.Answer, 40))
	}
	if p := d.approvals.give(d.principal(r), r.PathValue("id"), host.ApprovalAnswer{Verdict: verdict, By: d.principal(r)}); p != nil {
		return p
	}
	writeJSON(w, http.StatusOK, Answered{r.PathValue("id"), body.Answer})
	return nil
}

// asker asks the person behind one turn's stream.
type asker struct{ t *turn }

var _ host.Approver = asker{}

// Approve tells the stream of the request and waits for the answer, while the
// turn's clock stands still.
func (a asker) Approve(ctx context.Context, r host.ApprovalRequest) (host.ApprovalAnswer, error) {
	d := a.t.d
	d.metrics.asked(r.Tool)
	p, ok := d.approvals.open(r, d.now())
	if !ok {
		d.log.Warn("nobody is asked: too many requests wait, or the daemon stops", "tool", r.Tool, "user", r.Principal)
		return host.ApprovalAnswer{}, host.ErrNobody
	}
	defer agent.Pause(ctx)()
	a.t.emit(eventAsked, p.Approval)
	answer, err := d.approvals.wait(ctx, p, func() {
		a.t.emit(eventWaiting, ApprovalWaiting{p.ID, p.CallID, int(p.Expires.Sub(d.now()).Seconds())})
	})
	outcome := outcomeOf(ctx, answer, err)
	a.t.emit(eventAnswered, ApprovalAnswered{p.ID, p.CallID, outcome})
	if outcome == outcomeGone { // no result will tell it
		d.metrics.decided(ToolCallResult{Tool: r.Tool, Approval: &tool.Approval{By: outcome}})
	}
	return answer, err
}

// outcomeGone is what a request comes to whose client has gone.
const outcomeGone = "gone"

func outcomeOf(ctx context.Context, a host.ApprovalAnswer, err error) string {
	switch {
	case err == nil:
		return map[host.Verdict]string{host.Once: answerOnce, host.Always: answerAlways, host.Refuse: answerDeny}[a.Verdict]
	case context.Cause(ctx) == context.DeadlineExceeded:
		return "expired"
	case ctx.Err() != nil:
		return outcomeGone
	}
	return "nobody"
}

// oneAtATime makes emit safe for calls that run side by side.
func oneAtATime(emit func(string, any)) func(string, any) {
	var mu sync.Mutex
	return func(name string, data any) {
		mu.Lock()
		defer mu.Unlock()
		emit(name, data)
	}
}
