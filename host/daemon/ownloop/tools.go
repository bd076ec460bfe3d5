package ownloop

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough/beside"
	"github.com/weirhost/weir/agent/passthrough/inner"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// formatBeside is how calls of weir's tools beside a client's are written, in metrics and
// statistics.
const formatBeside = "beside"

// ownTools are weir's tools beside those of one request's client, without those that read the
// archive. A nil *ownTools has none.
type ownTools struct {
	s       *Service
	model   string
	profile setup.Profile
	clients beside.Tools
	specs   []tool.Spec // in the language of the request
	chars   int         // of one result, at most

	f       *folding
	session *host.Session
	rows    []store.Call
	calls   []api.TraceCall
}

// ownTools returns the tools that the principal's first profile has; nil: none.
func (s *Service) ownTools(ctx context.Context, r *record, view setup.View) *ownTools {
	p, ok := view.Profiles[view.First]
	if !ok || !p.Agent.EnableToolCalling || p.Agent.MaxToolCalls < 0 {
		return nil
	}
	o := &ownTools{s: s, model: r.ask.Model, profile: p, clients: inner.Clients(r.ask.Body)}
	o.chars, _ = limit.Agent(p.Agent.MaxToolResultLength, view.Models[r.ask.Model].Window(ctx))
	for _, info := range s.Host.Tools() {
		spec := info.Spec
		if history.Has(spec.Name) || !o.sees(spec) {
			continue
		}
		about := agent.Brief(spec, r.ask.Locale)
		spec.Description = about.Description
		if spec.Remote != nil {
			spec.Params = about.Params
		}
		o.specs = append(o.specs, spec)
	}
	return o
}

// sees reports whether the model gets a tool: one that the profile has, and the client has not
// already by MCP.
func (o *ownTools) sees(s tool.Spec) bool {
	return toolname.Seen(o.profile.Allow, o.profile.Deny, o.s.Host.Names(s.Name)) && !o.clients.Offers(s)
}

// shown returns weir's tools by the names that the model uses.
func (f *folding) shown(offered inner.Offered) []tool.Spec {
	if f.own == nil {
		return nil
	}
	out := slices.Clone(f.own.specs)
	for i := range out {
		out[i].Name = offered.Called(out[i].Name)
	}
	return out
}

// open binds the tools to the conversation of a request. Nobody can be asked there.
func (o *ownTools) open(f *folding) {
	if o == nil {
		return
	}
	o.f = f
	o.session = o.s.Host.Session(host.Principal(f.scope.Principal), f.scope.Conversation).Asking(nil).In(f.r.ask.Locale)
}

// tools returns what the model can call, by weir's own names.
func (o *ownTools) tools() map[string]Beside {
	out := map[string]Beside{}
	if o != nil {
		for _, s := range o.specs {
			out[s.Name] = Beside{s, o.run}
		}
	}
	return out
}

// run runs a call. The request holds texts of the client's, of which weir knows nothing: they
// count as text of a granted folder.
func (o *ownTools) run(ctx context.Context, c tool.Call) inner.Answered {
	o.session.MarkPrivate()
	began := o.s.Now()
	c.MaxChars = o.chars
	res, err := o.session.Call(ctx, c)
	if err != nil { // the request ends
		res = tool.Result{CallID: c.ID, Tool: c.Tool, Err: tool.Errorf(tool.Cancelled, "", "weir was stopped before there was a result")}
	}
	o.note(c, res, began)
	a := inner.Answered{Text: inner.Named(limit.Render(res, o.f.r.ask.Locale), o.f.load)}
	if res.Ref != nil {
		a.UUID = res.Ref.UUID
		if over := o.f.limits.Over; o.f.folds && over >= 0 && res.Ref.Chars > over {
			a.Stub = inner.Named(agent.Placeholder(*res.Ref, res.Tool, o.f.r.ask.Locale), o.f.load)
		}
	}
	return a
}

// note counts a call.
func (o *ownTools) note(c tool.Call, res tool.Result, began time.Time) {
	took, out, code := o.s.Now().Sub(began), api.CountsOf(res), "ok"
	if res.Err != nil {
		code = string(res.Err.Code)
	}
	o.s.Metrics.ToolCalled(o.model, formatBeside, out, res.Stats, took)
	o.s.Metrics.ApprovalDecided(out)
	o.rows = append(o.rows, store.Call{
		Scope: o.f.scope, Turn: c.Turn, CallID: c.ID, Tool: api.Clip(c.Tool, 80), Model: o.model, Format: formatBeside, Code: code,
		Layer: string(out.Layer), Produced: out.Produced, Shown: out.Shown, UUID: out.KeptUUID, View: store.ViewOf(res.Shown), Extra: store.ExtraOf(res), Duration: took, Created: began,
	})
	call := api.TraceCall{
		ToolCallStart: api.ToolCallStart{ID: c.ID, Tool: c.Tool, Args: json.RawMessage("{}"), Format: formatBeside}, OK: res.Err == nil,
		ElapsedMS: took.Milliseconds(), Produced: out.Produced, Shown: out.Shown, Layer: out.Layer, Limit: out.Limit, Unit: out.Unit, KeptUUID: out.KeptUUID, Refused: res.Refused,
	}
	if res.Err != nil {
		call.Error = res.Err.Code
	}
	o.calls = append(o.calls, call)
}

// ran returns the calls that were run.
func (o *ownTools) ran() []api.TraceCall {
	if o == nil {
		return nil
	}
	return o.calls
}

// log logs the calls, once their conversation is stored. Those of a request that is not have no
// conversation in which their results could be listed.
func (o *ownTools) log(conversation string) {
	if o == nil {
		return
	}
	for _, row := range slices.Clone(o.rows) {
		if conversation == "" {
			row.UUID, row.View = "", ""
		}
		row.Scope.Conversation = cmp.Or(conversation, row.Scope.Conversation)
		o.s.Calls.Add(row)
	}
}
