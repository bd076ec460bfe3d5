package turns

import (
	"context"
	"slices"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/sdk/tool"
)

// toolbox is a session limited to a profile's tools, in one language.
type toolbox struct {
	*host.Session
	allow, deny []string
}

func (t toolbox) In(l tool.Locale) agent.Toolbox {
	t.Session = t.Session.In(l)
	return t
}

func (t toolbox) Tools() []tool.Spec {
	return slices.DeleteFunc(t.Session.Tools(), func(s tool.Spec) bool { return !t.sees(s.Name) })
}

func (t toolbox) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if !t.sees(c.Tool) {
		return tool.Result{CallID: c.ID, Tool: c.Tool,
			Err: tool.Errorf(tool.UnknownTool, "use one of the tools listed", "there is no tool named %q here", c.Tool)}, nil
	}
	return t.Session.Call(ctx, c)
}

func (t toolbox) sees(name string) bool {
	return !slices.Contains(t.deny, name) && (t.allow == nil || slices.Contains(t.allow, name))
}

// A tracedBox is a turn's tools, whose calls are traced.
type tracedBox struct {
	toolbox
	spans *telemetry.Turn
}

// In implements agent's way to ask for another language.
func (b tracedBox) In(l tool.Locale) agent.Toolbox {
	b.Session = b.Session.In(l)
	return b
}

// Call implements agent.Toolbox.
func (b tracedBox) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	ctx, ran := b.spans.StartCall(ctx, c)
	defer ran()
	return b.toolbox.Call(ctx, c)
}

// tools are what the turn's model may call, traced where turns are.
func (t *turn) tools(b toolbox) agent.Toolbox {
	if t.spans == nil {
		return b
	}
	return tracedBox{b, t.spans}
}
