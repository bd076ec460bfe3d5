package daemon

import (
	"net/http"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/httpjson"
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
