// Package scripts has the routes of scripts: JavaScript that calls tools.
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
	"github.com/weirhost/weir/host/approval"
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
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// maxBody bounds the body of a request, in bytes: a script of the greatest length as JSON,
// and its arguments.
const maxBody = 4 << 20

// Config is what Scripts need.
type Config struct {
	Host      *host.Host
	Store     *store.Store
	Current   *setup.Current
	Admission *turns.Admission
	Turns     *turns.Service
	Metrics   *telemetry.Metrics
	Calls     *usage.CallLog
	// Runner returns what runs scripts. It opens the engine at the first use. Nil: no
	// scripts are run.
	Runner func(context.Context) (*script.Runner, error)
	// Token is the operator's: stored states are sealed by a key that it opens. Empty: they
	// are not sealed.
	Token string
	Log   hclog.Logger
	Now   func() time.Time
	// Conversation returns the id of the conversation that keeps the results of a
	// principal's calls without a model.
	Conversation func(principal string) string
}

// Scripts are the scripts of all principals, and their routes.
type Scripts struct {
	Config
	*script.Runs
}

// New returns Scripts. It starts nothing.
func New(ctx context.Context, c Config) (*Scripts, error) {
	j, err := c.Store.Scripts(ctx, c.Now)
	if err != nil {
		return nil, err
	}
	s := &Scripts{Config: c}
	s.Runs = script.NewRuns(s.runner, j, callers{s}, c.Log)
	if c.Token == "" {
		return s, nil
	}
	key, err := c.Store.Key(ctx, c.Token)
	if err != nil {
		return nil, err
	}
	s.SealWith(key)
	return s, nil
}

func (s *Scripts) runner(ctx context.Context) (*script.Runner, error) {
	if s.Runner == nil {
		return nil, api.Problemf(http.StatusServiceUnavailable, "no_scripts", "start the daemon with `weir serve`", "this daemon runs no scripts")
	}
	return s.Runner(ctx)
}

// Routes returns the routes.
func (s *Scripts) Routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "POST", Path: "/api/scripts",
			Auth: openapi.Token, Handle: s.Admission.Awaited(s.run),
			About: "Run a script in JavaScript that calls tools. A script that fails or waits is a success of the request: its answer says so",
			Takes: api.ScriptBody{},
			Needs: []string{"source"},
			Gives: api.ScriptResult{},
			Fails: []int{429, 404, 422, 503},
		},
		{
			Method: "GET", Path: "/api/scripts",
			Auth: openapi.Token, Handle: s.list,
			About: "List the scripts under way, and the last that have ended",
			Gives: api.ScriptList{},
		},
		{
			Method: "GET", Path: "/api/scripts/{id}",
			Auth: openapi.Token, Handle: s.show,
			About: "Show a script with its calls, and those that wait for a person",
			Gives: api.ScriptRun{},
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/api/scripts/{id}/resume",
			Auth: openapi.Token, Handle: s.Admission.Awaited(s.resume),
			About: "Answer the calls of a script that wait for a person, and wait until it has ended or waits again",
			Takes: api.ScriptAnswer{},
			Gives: api.ScriptResult{},
			Fails: []int{404, 409, 422, 503},
		},
		{
			Method: "POST", Path: "/api/scripts/{id}/cancel",
			Auth: openapi.Token, Handle: s.cancel,
			About: "End a script",
			Gives: api.ScriptRun{},
			Fails: []int{404, 409},
		},
	}
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
	if _, err := s.runner(r.Context()); err != nil {
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
	sc := script.Script{
		Source: body.Source, Args: body.Args, Scope: archive.Scope{Principal: principal, Conversation: body.Conversation}, CallID: uuid.NewString(),
		Locale: body.Locale, Allow: body.Allow && principal == s.Current.Operator(),
	}
	ctx, ended := s.startCall(r.Context(), tool.Call{ID: sc.CallID, Tool: script.Name})
	id, release, err := s.StartFor(ctx, sc, s.opener(sc))
	if err != nil {
		ended(tool.Result{}, err)
		return known(err)
	}
	defer release()
	return s.answer(w, r, id, true, ended)
}

// opener returns what makes the caller of a script whose client waits for it.
func (s *Scripts) opener(sc script.Script) script.Opener {
	return func(a approval.Approver, begin func(context.Context, tool.Call) error) script.Caller {
		return s.caller(sc, a, begin)
	}
}

// answer writes what became of a script when it has ended or waits. A script whose client
// goes away meanwhile is cancelled, if the client has started it. ended ends its span.
func (s *Scripts) answer(w http.ResponseWriter, r *http.Request, id string, started bool, ended func(tool.Result, error)) error {
	principal := access.Principal(r)
	status, err := s.Wait(r.Context(), principal, id, 0)
	var result tool.Result
	if status.Outcome != nil {
		result = status.Outcome.Result
	}
	ended(result, err)
	if started && r.Context().Err() != nil && !s.Admission.Closed() {
		if err := s.Cancel(context.WithoutCancel(r.Context()), principal, id); err != nil && !errors.Is(err, script.ErrNotFound) {
			s.Log.Error("a script could not be cancelled", "id", id, "error", err)
		}
	}
	if err != nil {
		return known(err)
	}
	return httpjson.Answer(w, resultOf(status))
}

// known returns the problem of an error of script.Runs.
func known(err error) error {
	if errors.Is(err, journal.ErrTooMany) {
		return api.Problemf(http.StatusTooManyRequests, "too_many_scripts", "tell the person to answer or cancel those that `weir scripts list` lists", "too many scripts wait")
	}
	if errors.Is(err, script.ErrNotFound) {
		return api.Problemf(http.StatusNotFound, "not_found", "`weir scripts list` lists them", "there is no script with that id")
	}
	return err
}

func (s *Scripts) list(w http.ResponseWriter, r *http.Request) error {
	list, err := s.List(r.Context(), access.Principal(r))
	if err != nil {
		return err
	}
	out := api.ScriptList{Scripts: []api.ScriptSummary{}}
	for _, one := range list {
		out.Scripts = append(out.Scripts, summaryOf(one))
	}
	return httpjson.Answer(w, out)
}

func (s *Scripts) show(w http.ResponseWriter, r *http.Request) error {
	one, err := s.Get(r.Context(), access.Principal(r), r.PathValue("id"))
	if err != nil {
		return known(err)
	}
	return httpjson.Answer(w, runOf(one))
}

// resume takes a person's answers. A model cannot give them: what it writes is text, and no
// tool has the token.
func (s *Scripts) resume(w http.ResponseWriter, r *http.Request) error {
	var body api.ScriptAnswer
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	principal, id := access.Principal(r), r.PathValue("id")
	one, err := s.Get(r.Context(), principal, id)
	if err != nil {
		return known(err)
	}
	if _, err := s.runner(r.Context()); err != nil {
		return err
	}
	verdicts, err := verdictsOf(body, one.Card, principal)
	if err != nil {
		return err
	}
	switch {
	case one.State.Ended():
		return ended()
	case len(one.Card) > 0 && len(verdicts) == 0:
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, answers, "the script waits for answers to %d calls", len(one.Card))
	}
	if err := s.Decide(r.Context(), principal, id, verdicts); errors.Is(err, script.ErrNotFound) {
		return ended()
	} else if err != nil {
		return err
	}
	return s.answer(w, r, id, false, func(tool.Result, error) {})
}

// ended is the problem of an answer that comes too late.
func ended() error {
	return api.Problemf(http.StatusConflict, "settled", "`weir scripts show` shows the script", "the script does not wait for that answer any more")
}

// answers is how answers are sent.
const answers = `send {"answers": {"KEY": "allow"}}, "always" or "deny"`

// verdictsOf returns the answers to calls of a card. One to a call that is not on it, or not
// as the person has seen it, is for none of them.
func verdictsOf(body api.ScriptAnswer, card []script.Question, by string) (map[int]script.Verdict, error) {
	out := map[int]script.Verdict{}
	for key, given := range body.Answers {
		i := slices.IndexFunc(card, func(q script.Question) bool { return q.Key() == key })
		switch {
		case !slices.Contains([]string{api.ScriptAllow, api.ScriptAlways, api.ScriptDeny}, given):
			return nil, api.Problemf(http.StatusBadRequest, api.CodeBadBody, answers, "%q is no answer", api.Clip(given, 40))
		case i < 0:
			return nil, ended()
		}
		out[card[i].Number] = script.Verdict{Allow: given != api.ScriptDeny, Later: given == api.ScriptAlways, By: by, Digest: card[i].Digest}
	}
	return out, nil
}

func (s *Scripts) cancel(w http.ResponseWriter, r *http.Request) error {
	principal, id := access.Principal(r), r.PathValue("id")
	one, err := s.Get(r.Context(), principal, id)
	if err != nil {
		return known(err)
	}
	if one.State.Ended() {
		return tooLate(one)
	}
	if err := s.Cancel(r.Context(), principal, id); errors.Is(err, script.ErrNotFound) {
		if one, err = s.Get(r.Context(), principal, id); err != nil {
			return known(err)
		}
		return tooLate(one)
	} else if err != nil {
		return err
	}
	return s.show(w, r)
}

// tooLate is the problem of cancelling a script that has ended.
func tooLate(s script.Status) error {
	return api.Problemf(http.StatusConflict, "settled", "`weir scripts show` shows the script", "the script has ended already (%s)", string(s.State))
}
