// Package scripts has the route that runs a script: JavaScript that calls tools.
package scripts

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// maxBody bounds the body of a request, in bytes: a script of the greatest length as JSON,
// and its arguments.
const maxBody = 4 << 20

// Scripts has the route.
type Scripts struct {
	Host      *host.Host
	Store     *store.Store
	Current   *setup.Current
	Admission *turns.Admission
	Turns     *turns.Service
	Metrics   *telemetry.Metrics
	Calls     *usage.CallLog
	// Runner returns what runs scripts. It opens the engine at the first use.
	Runner func(context.Context) (*script.Runner, error)
	Log    hclog.Logger
	Now    func() time.Time
	// Conversation returns the id of the conversation that keeps the results of a
	// principal's calls without a model.
	Conversation func(principal string) string
}

// Routes returns the route.
func (s *Scripts) Routes() []openapi.Route {
	return []openapi.Route{{
		Method: "POST", Path: "/api/scripts",
		Auth: openapi.Token, Handle: s.Admission.Awaited(s.run),
		About: "Run a script in JavaScript that calls tools. A script that fails is a success of the request: its answer says so",
		Takes: api.ScriptBody{},
		Needs: []string{"source"},
		Gives: api.ScriptResult{},
		Fails: []int{429, 404, 422, 503},
	}}
}

func (s *Scripts) run(w http.ResponseWriter, r *http.Request) error {
	var body api.ScriptBody
	if err := httpjson.ReadUpTo(w, r, &body, maxBody); err != nil {
		return err
	}
	principal := access.Principal(r)
	if strings.TrimSpace(body.Source) == "" {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, `send {"source": "return 1"}`, "the script is empty")
	}
	if args := bytes.TrimSpace(body.Args); len(args) > 0 && args[0] != '{' && string(args) != "null" {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, `write {"name": value}`, "the arguments of a script must be a JSON object")
	} else if string(args) == "null" {
		body.Args = nil
	}
	if err := s.Turns.CheckConversation(principal, body.Conversation); err != nil {
		return err
	}
	if body.Conversation == "" {
		body.Conversation = s.Conversation(principal)
	}
	if s.Runner == nil {
		return api.Problemf(http.StatusServiceUnavailable, "no_scripts", "start the daemon with `weir serve`", "this daemon runs no scripts")
	}
	runner, err := s.Runner(r.Context())
	if err != nil {
		return err
	}
	end, err := s.Turns.Begin(r.Context(), principal, "")
	if err != nil {
		return err
	}
	defer end()
	if _, err := s.Store.EnsureConversation(r.Context(), store.Conversation{ID: body.Conversation, Principal: principal, Title: "weir script"}); err != nil && !errors.Is(err, archive.ErrFull) {
		return err
	}
	out, err := s.play(r.Context(), principal, body, runner)
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

// play runs the script as the principal.
func (s *Scripts) play(ctx context.Context, principal string, body api.ScriptBody, runner *script.Runner) (api.ScriptResult, error) {
	session := s.Host.Session(host.Principal(principal), body.Conversation).In(body.Locale).Asking(nil).KeepingAll()
	if body.Allow && principal == s.Current.Operator() {
		session = session.ByPerson()
	}
	user := s.Current.View(principal).User
	began, scope := s.Now(), archive.Scope{Principal: principal, Conversation: body.Conversation}
	out, err := runner.Run(ctx, session, script.Script{
		Source: body.Source, Args: body.Args, Scope: scope, CallID: uuid.NewString(), Locale: body.Locale,
		Tools:  slices.DeleteFunc(session.Tools(), func(t tool.Spec) bool { return !user.Sees(t.Name) }),
		Called: func(c tool.Call, r tool.Result, took time.Duration) { s.called(scope, c, r, took, body.Locale) },
	})
	if err != nil {
		return api.ScriptResult{}, err
	}
	took := s.Now().Sub(began)
	s.called(scope, tool.Call{ID: out.Result.CallID, Tool: script.Name}, out.Result, took, body.Locale)
	answer := api.ScriptResult{ToolCallResult: api.ResultOf(out.Result, took.Milliseconds(), body.Locale), Logged: append([]string{}, out.Logged...)}
	s.Log.Info("script completed", "by", principal, "ok", answer.OK, "calls", len(out.Calls), "produced", answer.Produced, "shown", answer.Shown)
	return answer, nil
}

// called counts and logs a call.
func (s *Scripts) called(scope archive.Scope, c tool.Call, r tool.Result, took time.Duration, l tool.Locale) {
	out, code := api.ResultOf(r, took.Milliseconds(), l), "ok"
	if r.Err != nil {
		code = string(r.Err.Code)
	}
	s.Metrics.ToolCalled("", turns.FormatScript, out, r.Stats, took)
	s.Calls.Add(store.Call{
		Scope: scope, CallID: c.ID, Tool: api.Clip(c.Tool, 80), Format: turns.FormatScript, Code: code,
		Layer: string(out.Layer), Produced: out.Produced, Shown: out.Shown, UUID: out.KeptUUID, View: store.ViewOf(r.Shown), Duration: took, Created: s.Now().Add(-took),
	})
}
