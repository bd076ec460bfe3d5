package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

func (d *Daemon) listTools(w http.ResponseWriter, r *http.Request) error {
	user := d.current.View(d.principal(r)).User
	tools := []plugin.ToolInfo{}
	for _, t := range d.cfg.Host.Tools() {
		if user.Sees(t.Spec.Name) {
			tools = append(tools, t)
		}
	}
	httpjson.Write(w, http.StatusOK, ToolList{tools})
	return nil
}

// A ToolList is what GET /api/tools answers.
type ToolList struct {
	Tools []plugin.ToolInfo `json:"tools"`
}

func (d *Daemon) showTool(w http.ResponseWriter, r *http.Request) error {
	info, err := d.toolFor(d.principal(r), r.PathValue("name"))
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, info)
	return nil
}

func (d *Daemon) tool(name string) (plugin.ToolInfo, error) {
	info, ok := d.cfg.Host.Tool(name)
	if !ok {
		return plugin.ToolInfo{}, noTool(name)
	}
	return info, nil
}

// toolFor is tool for a principal, who may not see all of them.
func (d *Daemon) toolFor(principal, name string) (plugin.ToolInfo, error) {
	if !d.current.View(principal).User.Sees(name) {
		return plugin.ToolInfo{}, noTool(name)
	}
	return d.tool(name)
}

func noTool(name string) error {
	return api.Problemf(http.StatusNotFound, string(tool.UnknownTool), "`weir tool list` lists the tools, `weir plugin list` what keeps others out",
		"there is no tool named %q", api.Clip(name, 80))
}

func (d *Daemon) listPlugins(w http.ResponseWriter, r *http.Request) error {
	plugins := d.cfg.Host.Plugins()
	if plugins == nil {
		plugins = []plugin.Info{}
	}
	httpjson.Write(w, http.StatusOK, msg.Localize(localeOf(r), PluginList{plugins}))
	return nil
}

// A PluginList is what GET /api/plugins answers.
type PluginList struct {
	Plugins []plugin.Info `json:"plugins"`
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

// callTool runs one tool. No model receives its result. The operator needs no approval
// for their own call; a call of a user that needs one is refused.
func (d *Daemon) callTool(w http.ResponseWriter, r *http.Request) error {
	var body CallBody
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	name := r.PathValue("name")
	if err := d.turns.CheckConversation(d.principal(r), body.Conversation); err != nil {
		return err
	}
	if body.Conversation == "" {
		body.Conversation = CallConversation + d.principal(r)
	}
	if len(bytes.TrimSpace(body.Args)) == 0 {
		body.Args = json.RawMessage("{}")
	}
	session := d.cfg.Host.Session(host.Principal(d.principal(r)), body.Conversation).In(body.Locale)
	if d.principal(r) == d.cfg.Principal {
		session = session.ByPerson()
	}
	if _, err := d.toolFor(d.principal(r), name); err != nil {
		return err
	}
	end, err := d.turns.Begin(r.Context(), d.principal(r), "")
	if err != nil {
		return err
	}
	defer end()
	if _, err := d.store.EnsureConversation(r.Context(), store.Conversation{
		ID: body.Conversation, Principal: d.principal(r), Title: "weir call",
	}); err != nil && !errors.Is(err, archive.ErrFull) {
		return err
	}
	start := d.now()
	c := tool.Call{ID: uuid.NewString(), Tool: name, Args: body.Args}
	ctx, traced := d.startCall(r.Context(), c)
	res, err := session.Call(ctx, c)
	if err != nil {
		traced(res, api.ToolCallResult{}, err)
		return err
	}
	took := d.now().Sub(start)
	out := api.ResultOf(res, took.Milliseconds(), body.Locale)
	traced(res, out, nil)
	d.metrics.ToolCalled("", formatAPI, out, res.Stats, took)
	d.log.Info("call completed", "tool", name, "by", d.principal(r), "ok", out.OK, "produced", out.Produced, "shown", out.Shown)
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

func (d *Daemon) listModels(w http.ResponseWriter, r *http.Request) error {
	out := ConfiguredModels{[]ConfiguredModel{}}
	set := d.current.View(d.principal(r))
	for _, name := range slices.Sorted(maps.Keys(set.Models)) {
		i := set.Models[name].Info
		out.Models = append(out.Models, ConfiguredModel{name, i.Provider, i.Model, i.Window, i.Simulated, name == set.Profiles[set.First].Model})
	}
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

// ConfiguredModels is what GET /api/models answers.
type ConfiguredModels struct {
	Models []ConfiguredModel `json:"models"`
}

// A ConfiguredModel is one chat model of tools.toml.
type ConfiguredModel struct {
	// Name is the operator's, Provider and Model are what is asked.
	Name      string `json:"name"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Window    int    `json:"window"` // tokens; 0: unknown
	Simulated bool   `json:"simulated"`
	Default   bool   `json:"default"` // the default profile asks it
}

func (d *Daemon) stats(w http.ResponseWriter, r *http.Request) error {
	s, err := d.store.Stats(r.Context())
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, s)
	return nil
}

func queryInt(r *http.Request, name string, unset int) (int, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, api.Problemf(http.StatusBadRequest, "bad_query", "give a whole number", "%s=%q: it must be 0 or more", name, api.Clip(v, 40))
	}
	return n, nil
}

// startCall starts the span of a call that does not belong to a turn.
func (d *Daemon) startCall(ctx context.Context, c tool.Call) (context.Context, func(tool.Result, api.ToolCallResult, error)) {
	return d.current.State().Tracing.StartCall(ctx, telemetry.Call{Call: c, Known: d.knows(c.Tool)})
}

// serveMetrics answers with the counters in Prometheus' format.
func (d *Daemon) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	d.metrics.ServeHTTP(w, r)
	return nil
}

// knows reports whether a tool of that name exists, of the host or the agent.
func (d *Daemon) knows(name string) bool {
	if name == tool.DescribeTool {
		return true
	}
	_, ok := d.cfg.Host.Tool(name)
	return ok
}
