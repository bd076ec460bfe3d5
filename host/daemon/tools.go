package daemon

import (
	"bytes"
	"cmp"
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
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
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
			Method: "GET", Path: "/api/tools/{name}/limits",
			Auth: openapi.Token, Handle: t.decideLimits,
			About: "Show how much of a tool's results an agent reads and which limit decides, as it is or if one of the limits were another",
			Query: []openapi.Param{
				params.Query("profile", "string", "the agent; left out: the one of questions that name none"), params.Query("max_chars", "integer", "of [tools.NAME]; 0: the operator says nothing"),
				params.Query("max_tool_result_length", "integer", "of the agent; empty: by the model's window"), params.Query("ceiling_chars", "integer", "of [limits]"),
			},
			Gives: plugin.Decision{},
			Fails: []int{400, 404},
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
		t.decide(r, tools)
		return httpjson.Answer(w, ToolList{tools, found})
	}
	for _, info := range t.host.Tools() {
		if user.Sees(info.Spec.Name) {
			tools = append(tools, info)
		}
	}
	t.decide(r, tools)
	return httpjson.Answer(w, ToolList{Tools: tools})
}

// decide notes in each tool how much of its results the first agent reads.
func (t *tools) decide(r *http.Request, tools []plugin.ToolInfo) {
	a, err := t.agent(r, "", nil)
	if err != nil {
		return
	}
	for i := range tools {
		if tools[i].Plugin != "" { // weir's own tools are bound by the room in the window
			tools[i].InForce = t.decided(tools[i].Spec.Name, a, nil, nil)
		}
	}
}

// An agentLimit is the limit of one agent.
type agentLimit struct {
	profile string
	chars   int
	why     tool.Text
}

// agent returns the limit of a profile, the first if name is empty. With a configured
// limit it is the one that the profile would have with it; 0 of it is the default, and one
// that points to nil is by the model's window.
func (t *tools) agent(r *http.Request, name string, configured **int) (agentLimit, error) {
	v := t.current.View(access.Principal(r))
	a := agentLimit{profile: cmp.Or(name, v.First)}
	prof, ok := v.Profiles[a.profile]
	if !ok {
		return a, api.Problemf(http.StatusBadRequest, "unknown_profile", "`weir config show` lists them", "there is no profile named %q", api.Clip(name, 80))
	}
	length := prof.Agent.MaxToolResultLength
	if configured != nil {
		length = *configured
	}
	window := 0
	if length == nil {
		ctx, cancel := context.WithTimeout(r.Context(), setup.LookTime)
		defer cancel()
		window = v.Models[prof.Model].Window(ctx)
	}
	a.chars, a.why = limit.Agent(length, window)
	return a, nil
}

func (t *tools) decided(name string, a agentLimit, maxChars, ceiling *int) *plugin.Decision {
	d := t.host.DecideIf(name, maxChars, ceiling, a.chars)
	d.Profile = a.profile
	for i := range d.Layers {
		if d.Layers[i].Layer == tool.LayerAgent {
			d.Layers[i].Why = a.why
		}
	}
	return &d
}

// decideLimits answers with the limits of one tool for one agent.
func (t *tools) decideLimits(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	info, err := t.toolFor(access.Principal(r), name)
	if err != nil {
		return err
	}
	if name = info.Spec.Name; info.Plugin == "" {
		return api.Problemf(http.StatusBadRequest, "no_limits", "it is bound by the room in the window", "%s is one of weir's own tools", name)
	}
	given := map[string]*int{}
	for _, key := range []string{"max_chars", "max_tool_result_length", "ceiling_chars"} {
		if r.URL.Query().Get(key) == "" {
			continue
		}
		n, err := params.Int(r, key, 0)
		if err != nil {
			return err
		}
		given[key] = &n
	}
	var configured **int
	if r.URL.Query().Has("max_tool_result_length") {
		configured = new(given["max_tool_result_length"])
	}
	a, err := t.agent(r, r.URL.Query().Get("profile"), configured)
	if err != nil {
		return err
	}
	return httpjson.Answer(w, msg.Localize(params.Language(r), *t.decided(name, a, given["max_chars"], given["ceiling_chars"])))
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
	one := []plugin.ToolInfo{info}
	t.decide(r, one)
	info = one[0]
	info.Questions = t.host.ToolQuestions(info)
	v, estimator := t.current.View(access.Principal(r)), new(agent.Estimator)
	if m, ok := v.Models[v.Profiles[v.First].Model]; ok && m.Estimator != nil {
		estimator = m.Estimator
	}
	info.Tokens = estimator.Declaration(info.Spec, params.Language(r))
	return httpjson.Answer(w, info)
}

// toolFor returns a tool that a principal may see, by its name or what its server calls it.
func (t *tools) toolFor(principal, name string) (plugin.ToolInfo, error) {
	user := t.current.View(principal).User
	if info, ok := t.host.Tool(name); ok && user.Sees(name) {
		return info, nil
	}
	if own, _ := t.host.Named(name, user.Sees); own != "" {
		if info, ok := t.host.Tool(own); ok {
			return info, nil
		}
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
	info, err := t.toolFor(access.Principal(r), name)
	if err != nil {
		return err
	}
	name = info.Spec.Name
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
	if len(res.Structured) <= mcpserver.DefaultStructuredBytes {
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
