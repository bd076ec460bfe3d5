package turns

import (
	"context"
	"slices"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// toolbox is a session limited to a profile's tools, in one language. Its calls are
// traced where turns are.
type toolbox struct {
	*host.Session
	allow, deny []string
	spans       *telemetry.Turn // nil: none
	scripts     *scripted       // nil: no script is a tool
}

func (t toolbox) In(l tool.Locale) agent.Toolbox {
	t.Session = t.Session.In(l)
	return t
}

func (t toolbox) Tools() []tool.Spec {
	return slices.DeleteFunc(append(t.Session.Tools(), t.scripts.specs()...), func(s tool.Spec) bool { return !t.sees(s.Name) })
}

func (t toolbox) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if !t.sees(c.Tool) {
		return tool.Result{CallID: c.ID, Tool: c.Tool,
			Err: tool.Errorf(tool.UnknownTool, "use one of the tools listed", "there is no tool named %q here", c.Tool)}, nil
	}
	ctx, ran := t.spans.StartCall(ctx, c)
	defer ran()
	if t.scripts.has(c.Tool) {
		return t.scripts.call(ctx, t, c)
	}
	return t.Session.Call(ctx, c)
}

// FindTools implements agent.Finder.
func (t toolbox) FindTools(ctx context.Context, query string, n int) []string {
	return t.Session.FindToolsAmong(ctx, query, n, t.sees)
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
	return !slices.Contains(t.deny, name) && (t.allow == nil || slices.Contains(t.allow, name))
}

// limits returns the profile's tools by the limit that decides, for an agent's limit.
func (t toolbox) limits(chars int) []plugin.LimitGroup {
	groups := t.Session.Limits(chars)
	for i := range groups {
		groups[i].Tools = slices.DeleteFunc(groups[i].Tools, func(name string) bool { return !t.sees(name) })
	}
	return slices.DeleteFunc(groups, func(g plugin.LimitGroup) bool { return len(g.Tools) == 0 })
}
