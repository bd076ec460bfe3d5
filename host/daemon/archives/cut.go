package archives

import (
	"net/http"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/internal/bounds"
	"github.com/weirhost/weir/host/internal/exprcost"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// The bounds of a request to cut: bytes of its body, in which a text may take a multiple
// of its own length, expressions and their characters.
const (
	mostCutBody   = 3 * tool.MaxWhole
	mostKeep      = 64
	mostKeepChars = 1_000
)

// sampleUUID is in the notice of a text in place of the id of an archived result.
const sampleUUID = "00000000-0000-4000-8000-000000000000"

// cut answers what a model would read of a text under other limits.
func (a *Archives) cut(w http.ResponseWriter, r *http.Request) error {
	var body api.CutBody
	if err := httpjson.ReadUpTo(w, r, &body, mostCutBody); err != nil {
		return err
	}
	if err := checkCut(body); err != nil {
		return err
	}
	res, done, err := a.cutResult(r, body)
	if err != nil {
		return err
	}
	defer done()
	if exprcost.Steps(body.Keep...)*len(res.Whole()) > exprcost.Most {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, "write shorter ones, or fewer", "the expressions of keep are too large for a text of %d bytes", len(res.Whole()))
	}
	chars := 0
	if body.Agent != nil {
		chars, _ = limit.Agent(body.Agent, 0)
	}
	l, by := a.Host.LimitsIf(res.Tool, body.Limits(), chars)
	res.Shown = limit.Fit(res, l, by)
	text := limit.Render(res, body.Locale)
	return httpjson.Answer(w, api.CutTextOf(res, text, new(agent.Estimator).Tokens(text), l, by))
}

// cutResult returns the result that a body is about, before its cut, when it may be worked
// on. The caller must call done, unless there is an error.
func (a *Archives) cutResult(r *http.Request, body api.CutBody) (res tool.Result, done func(), err error) {
	who := access.Principal(r)
	sees := func(name string) bool { return a.Sees(who, name) }
	if _, ok := a.Host.Tool(body.Tool); body.Tool != "" && (!ok || !sees(body.Tool)) {
		return res, nil, a.Host.NoTool(body.Tool, false, sees)
	}
	if body.Text != nil {
		done, err = a.alone(r.Context(), len(*body.Text), len(*body.Text)*exprcost.Steps(body.Keep...))
		res = tool.Result{Tool: body.Tool, Ref: &tool.Ref{UUID: sampleUUID}}
		return res.WithWhole(limit.Normalise([]byte(*body.Text))), done, err
	}
	page, done, err := a.whole(r, body.UUID, exprcost.Steps(body.Keep...))
	if err != nil {
		return res, nil, err
	}
	res = tool.Result{Tool: page.Entry.Tool, Ref: page.Entry.Ref()}
	switch {
	case body.Tool != "":
		res.Tool = body.Tool
	case !sees(res.Tool):
		res.Tool = ""
	}
	return res.WithWhole(page.Text), done, nil
}

// checkCut refuses a body that cannot be meant.
func checkCut(b api.CutBody) error {
	bad := func(hint, format string, args ...any) error {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, format, args...)
	}
	switch {
	case (b.Text == nil) == (b.UUID == ""):
		return bad(`send "text", or "uuid" with the id of an archived result`, "the body needs one of text and uuid")
	case b.Text != nil && len(*b.Text) > tool.MaxWhole:
		return bad("send less", "the text has %d bytes; %d are the most", len(*b.Text), tool.MaxWhole)
	case b.Locale != "" && b.Locale != tool.En && b.Locale != tool.Zh:
		return bad("use en or zh", "there is no locale %q", api.Clip(string(b.Locale), 40))
	case len(b.Keep) > mostKeep:
		return bad("join some with |", "keep has %d expressions; %d are the most", len(b.Keep), mostKeep)
	}
	for _, e := range b.Keep {
		if e == "" || len(e) > mostKeepChars {
			return bad("write RE2 expressions of 1 to 1000 characters", "an expression of keep has %d characters", len(e))
		}
	}
	if err := bounds.Check(b.Limits()); err != nil {
		return bad("correct the value", "%s", err)
	}
	return nil
}
