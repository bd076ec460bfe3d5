package daemon

import (
	"context"
	"net/http"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/sdk/tool"
)

func (d *Daemon) listApprovals(w http.ResponseWriter, r *http.Request) error {
	httpjson.Write(w, http.StatusOK, api.ApprovalList{Approvals: d.approvals.List(d.principal(r))})
	return nil
}

func (d *Daemon) showApproval(w http.ResponseWriter, r *http.Request) error {
	a, ok := d.approvals.Find(d.principal(r), r.PathValue("id"))
	if !ok {
		return approvals.NotFound()
	}
	httpjson.Write(w, http.StatusOK, a)
	return nil
}

// answerApproval takes a person's answer. A model cannot give it: what it
// writes is text, and no tool has the token.
func (d *Daemon) answerApproval(w http.ResponseWriter, r *http.Request) error {
	var body api.Answer
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	verdict, ok := map[string]approval.Verdict{api.AnswerOnce: approval.Once, api.AnswerAlways: approval.Always, api.AnswerDeny: approval.Refuse}[body.Answer]
	if !ok {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, `send {"answer": "once"}, "always" or "deny"`, "%q is no answer", api.Clip(body.Answer, 40))
	}
	if p := d.approvals.Answer(d.principal(r), r.PathValue("id"), approval.Answer{Verdict: verdict, By: d.principal(r)}); p != nil {
		return p
	}
	httpjson.Write(w, http.StatusOK, api.Answered{ID: r.PathValue("id"), Answer: body.Answer})
	return nil
}

// An asker asks the person who reads one turn's stream.
type asker struct{ t *turn }

var _ approval.Approver = asker{}

// Approve sends the request into the stream and waits for the answer. The turn's time
// limit does not include the wait.
func (a asker) Approve(ctx context.Context, r approval.Request) (approval.Answer, error) {
	d := a.t.d
	d.metrics.ApprovalAsked(r.Tool)
	p, ok := d.approvals.Add(r, d.now())
	if !ok {
		d.log.Warn("nobody is asked: too many requests wait, or the daemon stops", "tool", r.Tool, "user", r.Principal)
		return approval.Answer{}, approval.ErrNoPerson
	}
	defer agent.Pause(ctx)()
	a.t.emit(api.EventAsked, p.Approval)
	answer, err := d.approvals.Wait(ctx, p, func() {
		a.t.emit(api.EventWaiting, api.ApprovalWaiting{ID: p.ID, CallID: p.CallID, SecondsLeft: int(p.Expires.Sub(d.now()).Seconds())})
	})
	outcome := outcomeOf(ctx, answer, err)
	a.t.emit(api.EventAnswered, api.ApprovalAnswered{ID: p.ID, CallID: p.CallID, Answer: outcome})
	if outcome == outcomeGone { // no result will tell it
		d.metrics.ApprovalDecided(api.ToolCallResult{Tool: r.Tool, Approval: &tool.Approval{By: outcome}})
	}
	return answer, err
}

// outcomeGone is what a request comes to whose client has gone.
const outcomeGone = "gone"

func outcomeOf(ctx context.Context, a approval.Answer, err error) string {
	switch {
	case err == nil:
		return map[approval.Verdict]string{approval.Once: api.AnswerOnce, approval.Always: api.AnswerAlways, approval.Refuse: api.AnswerDeny}[a.Verdict]
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
