package turns

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough/beside"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// toolbox is a session limited to a profile's tools, in one language. Its calls are
// traced where turns are.
type toolbox struct {
	*host.Session
	allow, deny []string
	spans       *telemetry.Turn // nil: none
	scripts     *scripted       // nil: no script is a tool
	clients     beside.Tools    // the client's own tools, whose names come first
}

func (t toolbox) In(l tool.Locale) agent.Toolbox {
	t.Session = t.Session.In(l)
	return t
}

func (t toolbox) Tools() []tool.Spec {
	specs := t.Session.Tools()
	if t.scripts != nil {
		specs = append(specs, t.scripts.offered...)
	}
	return t.clients.Of(slices.DeleteFunc(specs, func(s tool.Spec) bool { return !t.sees(s.Name) }))
}

func (t toolbox) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	c.Tool = t.clients.Real(c.Tool)
	if !t.sees(c.Tool) {
		return tool.Result{CallID: c.ID, Tool: c.Tool,
			Err: tool.Errorf(tool.UnknownTool, "use one of the tools listed", "there is no tool named %q here", c.Tool)}, nil
	}
	ctx, ran := t.spans.StartCall(ctx, c)
	defer ran()
	if s := t.scripts; s != nil && s.t.s.Scripts.Has(c.Tool) {
		if err := s.t.run.began(ctx, c); err != nil {
			return tool.Result{}, err
		}
		return t.scripts.call(ctx, t, c)
	}
	return t.Session.Call(ctx, c)
}

// FindTools implements agent.Finder.
func (t toolbox) FindTools(ctx context.Context, query string, n int) []string {
	found := t.Session.FindToolsAmong(ctx, query, n, t.sees)
	for i := range found {
		found[i] = t.clients.Shown(found[i])
	}
	return found
}

// Near implements agent.Rememberer.
func (t toolbox) Near(ctx context.Context, question string, n int) ([]agent.Remembered, error) {
	found, err := t.Session.Near(ctx, question, n)
	return remembered(found), err
}

// Earlier implements agent.Rememberer.
func (t toolbox) Earlier(ctx context.Context, n int) ([]agent.Remembered, error) {
	found, err := t.Session.Earlier(ctx, n)
	return remembered(found), err
}

func remembered(found []host.Memory) []agent.Remembered {
	out := make([]agent.Remembered, len(found))
	for i, f := range found {
		out[i] = agent.Remembered(f)
	}
	return out
}

func (t toolbox) sees(name string) bool {
	n := toolname.Names{Name: name}
	if t.Session != nil {
		n = t.Session.Names(name)
	}
	return toolname.Seen(t.allow, t.deny, n)
}

// limits returns the profile's tools by the limit that decides, for an agent's limit.
func (t toolbox) limits(chars int) []plugin.LimitGroup {
	groups := t.Session.Limits(chars)
	for i := range groups {
		groups[i].Tools = slices.DeleteFunc(groups[i].Tools, func(name string) bool { return !t.sees(name) })
	}
	return slices.DeleteFunc(groups, func(g plugin.LimitGroup) bool { return len(g.Tools) == 0 })
}

// FormatScript is how calls of a script are written, in metrics and statistics.
const FormatScript = "script"

// scripted are the scripts that a turn offers as tools.
type scripted struct {
	t *turn
	// offered are their descriptions, which stay the same over the turn.
	offered []tool.Spec

	mu sync.Mutex // held while the end of a call is reported
}

// newScripted returns the scripts of a turn; nil: it offers none.
func (t *turn) newScripted() *scripted {
	specs := t.s.Scripts.Specs(t.model.WritesScripts())
	if len(specs) == 0 {
		return nil
	}
	return &scripted{t: t, offered: specs}
}

// call runs a script, whose calls are calls of the turn.
func (s *scripted) call(ctx context.Context, box toolbox, c tool.Call) (tool.Result, error) {
	ctx, vet := agent.Inner(ctx)
	box.clients = nil // a script calls weir's tools by their own names
	tools, locale := box.Tools(), s.t.prof.Agent.Locale
	box.Session, box.scripts = box.Session.KeepingAll(), nil
	ended := 0
	return s.t.s.Scripts.Call(ctx, offer.Caller{
		Open: func(a approval.Approver, begin func(context.Context, tool.Call) error) script.Session {
			inner := box
			inner.Session = box.Session.Asking(a).Beginning(begin)
			return vetted{inner, vet}
		},
		Ask: s.t.person(), Tools: tools, Scope: s.t.scope, Locale: locale,
		Called: func(inner tool.Call, r tool.Result, took time.Duration) {
			ended++
			s.ended(c, ended, inner, r, took, locale)
		},
	}, c)
}

// ended reports a call that a script made. Clients see how many there were, and all of
// them with the result of the script.
func (s *scripted) ended(outer tool.Call, number int, c tool.Call, r tool.Result, took time.Duration, l tool.Locale) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := Call{Result: r, Out: api.ResultOf(r, took.Milliseconds(), l), Format: FormatScript, Elapsed: took}
	if r.Ref != nil {
		done.UUID = r.Ref.UUID
	}
	for _, o := range s.t.inner {
		o.Result(done)
	}
	if s.t.pace.may(outer.ID, s.t.s.Now()) {
		s.t.emit(api.EventProgress, api.ToolCallProgress{ID: outer.ID, Tool: outer.Tool, Done: number, Message: fmt.Sprintf("%s: %d", c.Tool, r.Shown.TotalChars)})
	}
}

// vetted are the tools of a script, whose calls the turn holds against its quotations.
type vetted struct {
	toolbox
	vet func(tool.Call) *tool.Error
}

// Call implements script.Session.
func (v vetted) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if fail := v.vet(c); fail != nil {
		return tool.Result{CallID: c.ID, Tool: c.Tool, Err: fail}, nil
	}
	return v.toolbox.Call(ctx, c)
}
