package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// tools has the routes of tools, and of their calls without a model.
type tools struct {
	host      *host.Host
	store     *store.Store
	current   *setup.Current
	admission *turns.Admission
	turns     *turns.Service
	metrics   *telemetry.Metrics
	calls     *usage.CallLog
	known     func(tool string) bool
	log       hclog.Logger
	now       func() time.Time
}

func (t *tools) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/tools",
			Auth: openapi.Token, Handle: t.listTools,
			About: "List the tools with their limits; with a query, those that fit it, best first",
			Query: []openapi.Param{params.Query("query", "string", "what the tools should do, or their names"), params.Limit("20 that fit the query")},
			Gives: ToolList{},
		},
		{
			Method: "GET", Path: "/api/tools/{name}",
			Auth: openapi.Token, Handle: t.showTool,
			About: "Show a tool",
			Gives: plugin.ToolInfo{},
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/api/tools/{name}/call",
			Auth: openapi.Token, Handle: t.admission.Awaited(t.callTool),
			About: "Call a tool without a model. A tool that fails is a success of the call: its answer says so",
			Takes: CallBody{},
			Gives: api.ToolCallResult{},
			Fails: []int{429, 404, 422, 503},
		},
	}
}

func (t *tools) listTools(w http.ResponseWriter, r *http.Request) error {
	user := t.current.View(access.Principal(r)).User
	tools := []plugin.ToolInfo{}
	if query := r.URL.Query().Get("query"); query != "" {
		n, err := params.Int(r, "limit", 20)
		if err != nil {
			return err
		}
		found := t.host.FindTools(r.Context(), host.ToolQuery{Text: query, Count: n, Sees: user.Sees, Explain: true})
		for _, f := range found {
			if info, ok := t.host.Tool(f.Name); ok {
				tools = append(tools, info)
			}
		}
		return httpjson.Answer(w, ToolList{tools, found})
	}
	for _, info := range t.host.Tools() {
		if user.Sees(info.Spec.Name) {
			tools = append(tools, info)
		}
	}
	return httpjson.Answer(w, ToolList{Tools: tools})
}

// A ToolList is what GET /api/tools answers: with a query, Found says why each is there.
type ToolList struct {
	Tools []plugin.ToolInfo `json:"tools"`
	Found []host.FoundTool  `json:"found,omitempty"`
}

func (t *tools) showTool(w http.ResponseWriter, r *http.Request) error {
	info, err := t.toolFor(access.Principal(r), r.PathValue("name"))
	if err != nil {
		return err
	}
	info.Questions = t.host.ToolQuestions(info)
	v, estimator := t.current.View(access.Principal(r)), new(agent.Estimator)
	if m, ok := v.Models[v.Profiles[v.First].Model]; ok && m.Estimator != nil {
		estimator = m.Estimator
	}
	info.Tokens = estimator.Declaration(info.Spec, params.Language(r))
	return httpjson.Answer(w, info)
}

// toolFor returns a tool that a principal may see.
func (t *tools) toolFor(principal, name string) (plugin.ToolInfo, error) {
	user := t.current.View(principal).User
	if info, ok := t.host.Tool(name); ok && user.Sees(name) {
		return info, nil
	}
	return plugin.ToolInfo{}, t.host.NoTool(name, user == nil, user.Sees)
}

// A CallBody is the body of /api/tools/{name}/call.
type CallBody struct {
	Args json.RawMessage `json:"arguments"`
	// Conversation is where the whole result is kept; empty: one of the
	// principal's own, beside all that a model reads.
	Conversation string      `json:"conversation_id"`
	Locale       tool.Locale `json:"locale"`
}

// CallConversation and the principal's name make the id of the conversation
// that keeps results of calls made without a model.
const CallConversation = "call-"

// formatAPI is how a person's calls are written, in metrics and statistics.
const formatAPI = "api"

// callTool runs one tool. No model receives its result. The operator needs no approval
// for their own call; a call of a user that needs one is refused.
func (t *tools) callTool(w http.ResponseWriter, r *http.Request) error {
	var body CallBody
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	name := r.PathValue("name")
	if err := t.turns.CheckConversation(access.Principal(r), body.Conversation); err != nil {
		return err
	}
	if body.Conversation == "" {
		body.Conversation = CallConversation + access.Principal(r)
	}
	if len(bytes.TrimSpace(body.Args)) == 0 {
		body.Args = json.RawMessage("{}")
	}
	session := t.host.Session(host.Principal(access.Principal(r)), body.Conversation).In(body.Locale)
	if access.Principal(r) == t.current.Operator() {
		session = session.ByPerson()
	}
	if _, err := t.toolFor(access.Principal(r), name); err != nil {
		return err
	}
	end, err := t.turns.Begin(r.Context(), access.Principal(r), "")
	if err != nil {
		return err
	}
	defer end()
	if _, err := t.store.EnsureConversation(r.Context(), store.Conversation{
		ID: body.Conversation, Principal: access.Principal(r), Title: "weir call",
	}); err != nil && !errors.Is(err, archive.ErrFull) {
		return err
	}
	start := t.now()
	c := tool.Call{ID: uuid.NewString(), Tool: name, Args: body.Args}
	ctx, traced := t.startCall(r.Context(), c)
	res, err := session.Call(ctx, c)
	if err != nil {
		traced(res, api.ToolCallResult{}, err)
		return err
	}
	took := t.now().Sub(start)
	out := api.ResultOf(res, took.Milliseconds(), body.Locale)
	traced(res, out, nil)
	if len(res.Structured) <= mcpserver.MaxStructured {
		out.Structured = res.Structured
	}
	t.metrics.ToolCalled("", formatAPI, out, res.Stats, took)
	code := "ok"
	if res.Err != nil {
		code = string(res.Err.Code)
	}
	t.calls.Add(store.Call{
		Scope: archive.Scope{Principal: access.Principal(r), Conversation: body.Conversation}, CallID: c.ID, Tool: api.Clip(name, 80), Format: formatAPI, Code: code,
		Layer: string(out.Layer), Produced: out.Produced, Shown: out.Shown, UUID: out.KeptUUID, View: store.ViewOf(res.Shown), Extra: store.ExtraOf(res), Duration: took, Created: start,
	})
	t.log.Info("call completed", "tool", name, "by", access.Principal(r), "ok", out.OK, "produced", out.Produced, "shown", out.Shown)
	return httpjson.Answer(w, out)
}

// startCall starts the span of a call that does not belong to a turn.
func (t *tools) startCall(ctx context.Context, c tool.Call) (context.Context, func(tool.Result, api.ToolCallResult, error)) {
	return t.current.State().Tracing.StartCall(ctx, telemetry.Call{Call: c, Known: t.known(c.Tool)})
}
