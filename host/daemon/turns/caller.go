package turns

import (
	"context"
	"slices"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough/beside"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// checkTools refuses tools of the client's that have the name of one with which weir runs
// the turn, and a choice of a tool that is not offered.
func (t *turn) checkTools() error {
	a := t.prof.Agent
	if len(a.Caller) == 0 && !a.Choice.Must && a.Choice.Tool == "" {
		return nil
	}
	var own []string
	if a.EnableToolCalling && a.MaxToolCalls >= 0 {
		seen, clients := toolbox{allow: t.prof.Allow, deny: t.prof.Deny}, beside.Tools(a.Caller)
		for _, info := range t.s.Host.Tools() {
			if name := info.Spec.Name; seen.sees(name) && !tool.IsBuiltIn(name) {
				name = clients.Shown(name)
				own = append(own, name)
			} else if seen.sees(name) {
				own = append(own, name)
			}
		}
	}
	for _, s := range a.Caller {
		if tool.IsBuiltIn(s.Name) && slices.Contains(own, s.Name) {
			return api.Paramf("tools", "tool_clash", "give yours another name, or leave weir_tools out", "weir has a tool named %s too", s.Name)
		}
		own = append(own, s.Name)
	}
	switch {
	case a.Choice.Must && len(own) == 0:
		return api.Paramf("tool_choice", api.CodeBadValue, "send tools, or leave tool_choice out", "there is no tool to choose")
	case a.Choice.Tool != "" && !slices.Contains(own, a.Choice.Tool):
		return api.Paramf("tool_choice", api.CodeBadValue, "name one of the tools", "there is no tool named %q", api.Clip(a.Choice.Tool, 80))
	}
	return nil
}

// clientsText reports whether the turn holds results of the client's own tools, now or in the
// messages before. weir knows nothing of what is in them: they may be files of the client's, as
// a granted folder has.
func (t *turn) clientsText(before []agent.Message) bool {
	if t.ask.Options == nil { // no client with tools of its own
		return false
	}
	if len(t.ask.Answers) > 0 || slices.ContainsFunc(t.ask.Spoken, func(s Said) bool { return s.Role == agent.RoleResults }) {
		return true
	}
	return slices.ContainsFunc(before, func(m agent.Message) bool {
		return slices.ContainsFunc(m.Results, func(e agent.ResultEntry) bool {
			return beside.Tools(t.prof.Agent.Caller).Has(e.Tool) || !t.s.Known(e.Tool)
		})
	})
}

// given returns the results that the client brings for calls which wait for
// them. With weir's tools each is archived and cut like any other; without
// them, the model could not load anything back.
func (t *turn) given(ctx context.Context, session *host.Session, history []agent.Message) ([]tool.Result, error) {
	if len(t.ask.Answers) == 0 {
		return nil, nil
	}
	pending := agent.Pending(history)
	if err := t.fits(pending, lastCalls(history)); err != nil {
		return nil, err
	}
	var out []tool.Result
	for _, c := range pending {
		i := slices.IndexFunc(t.ask.Answers, func(a Answer) bool { return a.CallID == c.ID })
		a := t.ask.Answers[i]
		a.Tool = c.Tool
		r := a.Result()
		if t.ask.Options != nil && t.ask.Options.WeirTools {
			c.MaxChars, _ = limit.Agent(t.prof.Agent.MaxToolResultLength, t.model.Window(ctx))
			kept, err := session.Ingest(ctx, c, []byte(a.Text))
			if err != nil {
				return nil, err
			}
			if kept.Err == nil {
				r = kept
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// fits holds the results to the calls: each belongs to one of the last, and
// each that waits has one. What was answered before may come again.
func (t *turn) fits(pending, last []tool.Call) error {
	for _, a := range t.ask.Answers {
		if !slices.ContainsFunc(last, func(c tool.Call) bool { return c.ID == a.CallID }) {
			return api.Paramf("messages", api.CodeBadBody, "name a call of the assistant's last message", "no call with the id %q waits for a result here", api.Clip(a.CallID, 80))
		}
	}
	for _, c := range pending {
		if !slices.ContainsFunc(t.ask.Answers, func(a Answer) bool { return a.CallID == c.ID }) {
			return api.Paramf("messages", api.CodeBadBody, "send the results of all calls together", "the call %q has no result", api.Clip(c.ID, 80))
		}
	}
	return nil
}

// lastCalls are the calls of the last reply that made any, in the last turn.
func lastCalls(history []agent.Message) []tool.Call {
	for _, m := range slices.Backward(history) {
		if m.Role == agent.RoleUser {
			return nil
		}
		if len(m.Calls) > 0 {
			return m.Calls
		}
	}
	return nil
}

// tell writes results into the history of a turn that is over, for a question
// came with them.
func (t *turn) tell(given []tool.Result, turn int) agent.Message {
	m := agent.Message{Role: agent.RoleResults, Turn: turn, At: t.s.Now()}
	for _, r := range given {
		id := ""
		if r.Ref != nil {
			id = r.Ref.UUID
		}
		out := api.ResultOf(r, 0, tool.En)
		t.calls.Rows = append(t.calls.Rows, store.Call{
			Scope: t.scope, Turn: turn, CallID: r.CallID, Tool: r.Tool, Model: t.ask.Model, Code: "ok",
			Layer: string(out.Layer), Produced: out.Produced, Shown: out.Shown, UUID: id, Created: t.s.Now(),
		})
		m.Results = append(m.Results, agent.NewResultEntry(r, tool.En))
	}
	return m
}
