package turns

import (
	"context"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// An asker asks the person who reads one turn's stream.
type asker struct{ t *turn }

var _ approval.Approver = asker{}

// person returns what asks the person who reads the turn's stream; nil: none does.
func (t *turn) person() approval.Approver {
	if !t.ask.Approvals {
		return nil
	}
	return asker{t}
}

// Approve sends the request into the stream and waits for the answer. The turn's time
// limit does not include the wait.
func (a asker) Approve(ctx context.Context, r approval.Request) (approval.Answer, error) {
	s := a.t.s
	s.Metrics.ApprovalAsked(r.Tool)
	p, err := s.Approvals.Add(ctx, r, a.t.calls.Turn(), s.Now())
	if err != nil {
		s.Logger.Warn("a call waits for no person: too many requests are pending, or the daemon stops", "tool", r.Tool, "user", r.Principal, "error", err)
		return approval.Answer{}, err
	}
	defer agent.Pause(ctx)()
	a.t.emit(api.EventAsked, p.Approval)
	answer, err := s.Approvals.Wait(ctx, p, func() {
		a.t.emit(api.EventWaiting, api.ApprovalWaiting{ID: p.ID, CallID: p.CallID, SecondsLeft: int(p.Expires.Sub(s.Now()).Seconds())})
	})
	outcome := outcomeOf(ctx, answer, err)
	decided := &tool.Approval{By: outcome}
	if err == nil {
		decided = &tool.Approval{Allowed: answer.Verdict != approval.Refuse, By: "person", Always: answer.Verdict == approval.Always, Some: len(answer.Only) > 0}
	}
	a.t.decided.Store(r.CallID, decided)
	a.t.emit(api.EventAnswered, api.ApprovalAnswered{ID: p.ID, CallID: p.CallID, Answer: outcome, Only: answer.Only})
	if outcome == outcomeGone { // not all results tell it
		s.Metrics.ApprovalDecided(api.ToolCallResult{Tool: r.Tool, Approval: decided})
	}
	return answer, err
}

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
