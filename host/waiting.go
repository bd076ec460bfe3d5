package host

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Waiting returns the plugin that keeps a tool from being called: it has the tool, or
// the same name, and is not ready. The tools of a server that has not listed them begin with
// its name. ok is false if there is none.
func (h *Host) Waiting(name string) (p plugin.Info, ok bool) {
	old := toolname.Old(name)
	for _, p := range h.Plugins() {
		ofServer := p.Kind == plugin.KindServer && strings.HasPrefix(old, toolname.Old(p.Name)+toolname.Clash)
		if p.State != plugin.Ready && (ofServer || slices.Contains(p.Tools, name) || p.Name == name) {
			return p, true
		}
	}
	return plugin.Info{}, false
}

// Named is tool.Named among the tools that a caller sees.
func (h *Host) Named(name string, sees func(tool string) bool) (found string, several []string) {
	var specs []tool.Spec
	for _, t := range h.Tools() {
		if sees(t.Spec.Name) {
			specs = append(specs, t.Spec)
		}
	}
	return tool.Named(name, specs)
}

// NoTool returns the error of a request for a tool that cannot be called or is not
// seen: what keeps it from running, which is the operator's alone to read, or the
// most similar names among those that the caller sees.
func (h *Host) NoTool(name string, operator bool, sees func(tool string) bool) error {
	if p, ok := h.Waiting(name); ok && operator {
		return tool.NewError(tool.UnknownTool, tool.Textf("%s cannot be called, its plugin is %s: %v", text.OneLine(name, 80), tool.Text{Format: string(p.State)}, p.Why), p.Fix)
	}
	if _, several := h.Named(name, sees); len(several) > 0 {
		return noTool(name, nil, tool.Textf("did you mean one of these: %s", strings.Join(several, ", ")))
	}
	var names []string
	for _, t := range h.Tools() {
		if sees(t.Spec.Name) {
			names = append(names, t.Spec.Name)
		}
	}
	return noTool(name, names, tool.Textf("`weir tools list` lists the tools, `weir plugin list` what keeps others out"))
}

// noTool returns the error of a request for a tool that is none of names. hint is used
// where none of them is similar.
func noTool(name string, names []string, hint tool.Text) *tool.Error {
	if near := text.Nearest(name, names); len(near) > 0 {
		hint = tool.Textf("did you mean one of these: %s", strings.Join(near, ", "))
	}
	return tool.NewError(tool.UnknownTool, tool.Textf("there is no tool named %q", text.OneLine(name, 80)), hint)
}

// Absent returns the error of a call to a tool that a plugin has and that cannot be
// called, in the session's language. It is nil for a tool that no plugin has. It
// names no setting of the operator's: the caller may be somebody else.
func (s *Session) Absent(name string) *tool.Error {
	p, ok := s.h.Waiting(name)
	if !ok {
		return nil
	}
	if p.Kind == plugin.KindServer {
		return msg.ToolError(s.locale, tool.NewError(tool.UnknownTool,
			tool.Textf("%s cannot be called: the MCP server %s is not ready: %v", text.OneLine(name, 80), p.Name, p.Why),
			tool.Textf("do without it, and tell the person that `weir plugin info %s` says how to put it right", p.Name)))
	}
	return msg.ToolError(s.locale, tool.NewError(tool.UnknownTool,
		tool.Textf("%s cannot be called: its plugin waits for the operator or was refused", name),
		tool.Textf("do without it, and tell the person that `weir plugin info %s` says why and how to let it run", p.Name)))
}
