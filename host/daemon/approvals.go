package daemon

import (
	"net/http"
	"slices"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
)

// pending has the routes of calls that wait for a person.
type pending struct{ queue *approvals.Queue }

func (p *pending) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/approvals",
			Auth: openapi.Token, Handle: p.listApprovals,
			About: "List the calls that wait for a person",
			Gives: api.ApprovalList{},
		},
		{
			Method: "GET", Path: "/api/approvals/{id}",
			Auth: openapi.Token, Handle: p.showApproval,
			About: "Show such a call with all of its arguments",
			Gives: api.Approval{},
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/api/approvals/{id}",
			Auth: openapi.Token, Handle: p.answerApproval,
			About: "Answer it",
			Takes: api.Answer{},
			Needs: []string{"answer"},
			Gives: api.Answered{},
			Fails: []int{404, 409},
		},
	}
}

func (p *pending) listApprovals(w http.ResponseWriter, r *http.Request) error {
	list, err := p.queue.List(r.Context(), access.Principal(r))
	return httpjson.AnswerOr(w, api.ApprovalList{Approvals: list}, err)
}

func (p *pending) showApproval(w http.ResponseWriter, r *http.Request) error {
	a, err := p.queue.Find(r.Context(), access.Principal(r), r.PathValue("id"))
	return httpjson.AnswerOr(w, a, err)
}

// answerApproval takes a person's answer. A model cannot give it: what it
// writes is text, and no tool has the token.
func (p *pending) answerApproval(w http.ResponseWriter, r *http.Request) error {
	var body api.Answer
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	verdict, ok := map[string]approval.Verdict{api.AnswerOnce: approval.Once, api.AnswerAlways: approval.Always, api.AnswerDeny: approval.Refuse}[body.Answer]
	if !ok {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, `send {"answer": "once"}, "always" or "deny"`, "%q is no answer", api.Clip(body.Answer, 40))
	}
	if body.Only != nil && (len(body.Only) == 0 || verdict != approval.Once) {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, `send {"answer": "once", "only": [1, 3]}, or {"answer": "deny"}`, `"only" has the numbers of the calls that "once" allows`)
	}
	slices.Sort(body.Only)
	answer := approval.Answer{Verdict: verdict, Only: body.Only, By: access.Principal(r)}
	if err := p.queue.Answer(r.Context(), access.Principal(r), r.PathValue("id"), answer); err != nil {
		return err
	}
	return httpjson.Answer(w, api.Answered{ID: r.PathValue("id"), Answer: body.Answer, Only: body.Only})
}
