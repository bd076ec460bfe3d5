package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomledit"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Warnings returns what a person should know about the settings, with the tools that
// the host has. Warnings keep nothing from running.
func Warnings(s Settings, h *host.Host) []tool.Text {
	var out []tool.Text
	for _, f := range slices.Concat(s.Lint(), unknownNames(s, h)) {
		out = append(out, f.Text())
	}
	if s.Log.Level == "trace" {
		out = append(out, tool.Textf(`[log] level = "trace" writes every reply of a model and the beginning of every result into the log, secrets in them included; keep the log private, and use "debug" if you do not need them`))
	}
	return append(out, usersWithoutToken(s.Users)...)
}

// LiteralKeys returns a warning for each key that is written in tools.toml itself: a
// tool with a grant for its folder could read it.
func (s Settings) LiteralKeys() []Fault {
	var out []Fault
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		if s.Models[name].literal {
			out = append(out, s.positions.fault(tool.Textf("[models.%s] has its key in tools.toml, where a tool that may read the folder could read it", name),
				tool.Textf(`write a reference, key = "${NAME}", and set NAME in the environment or in .env`), "models", name, "key"))
		}
	}
	return out
}

// known are the names that the plugins of a host declare.
type known struct {
	settings Settings
	tools    []string
	plugins  []string
	specs    map[string]tool.Spec
	answered []string // servers whose tools are known
	names    func(name string) toolname.Names
}

// unknownNames returns the names in the settings that no plugin declares. They are
// no faults: a plugin may come later, and the tools of another server are known only
// when it has answered.
func unknownNames(s Settings, h *host.Host) []Fault {
	k := knownOf(s, h.Plugins())
	k.names = h.Names
	for _, t := range h.Tools() {
		k.tools = append(k.tools, t.Spec.Name)
		k.specs[t.Spec.Name] = t.Spec
	}
	return k.unknown()
}

// UnknownNames returns the names in the settings that none of the plugins has. Names of servers
// whose tools are not known are not among them.
func UnknownNames(s Settings, plugins []plugin.Info) []Fault {
	k := knownOf(s, plugins)
	k.tools = append(k.tools, tool.LoadHistory, tool.SearchHistory, tool.RunScript)
	k.names = namesOf(k.tools, plugins)
	return k.unknown()
}

// namesOf returns the names of tools, as far as the ones under which they are offered say them.
func namesOf(tools []string, plugins []plugin.Info) func(string) toolname.Names {
	olds, owns := map[string]int{}, map[string]int{}
	own := map[string]string{}
	for _, name := range tools {
		olds[toolname.Old(name)]++
	}
	for _, p := range plugins {
		for _, name := range slices.Concat(p.Tools, p.Disabled) {
			if _, last, ok := strings.Cut(name, "__"); ok && p.Kind == plugin.KindServer {
				own[name] = last
				owns[last]++
			}
		}
	}
	return func(name string) toolname.Names {
		n := toolname.Names{Name: name}
		if old := toolname.Old(name); olds[old] == 1 {
			n.Alone = old
		}
		if last := own[name]; last != "" && olds[toolname.Old(last)] == 0 {
			n.Own, n.Sole = last, owns[last] == 1
		}
		return n
	}
}

// knownOf returns the names that plugins declare.
func knownOf(s Settings, plugins []plugin.Info) known {
	k := known{settings: s, tools: []string{tool.DescribeTool, tool.FindTools, tool.CallTool}, specs: map[string]tool.Spec{}}
	for _, p := range plugins {
		if p.Kind == plugin.KindServer && p.State == plugin.Ready {
			k.answered = append(k.answered, p.Name)
		}
		k.tools = append(append(k.tools, p.Tools...), p.Disabled...)
		k.plugins = append(k.plugins, p.Name)
	}
	for name := range s.Scripts.Tools {
		k.tools = append(k.tools, name)
	}
	return k
}

// unknown returns the names in the settings that are not known.
func (k known) unknown() []Fault {
	s := k.settings
	slices.Sort(k.tools)
	k.tools = slices.Compact(k.tools)
	out := k.profile(s.Agent, "agent")
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		out = append(out, k.profile(s.Agents[name], "agents", name)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Users)) {
		u := s.Users[name]
		out = append(out, k.list(u.Tools, "users", name, "tools")...)
		out = append(out, k.list(u.DenyTools, "users", name, "deny_tools")...)
	}
	out = append(out, k.list(s.MCP.Tools.Names, "mcp", "tools")...)
	out = append(out, k.list(s.Prompt.PinnedTools, "prompt", "pinned_tools")...)
	out = append(out, k.list(s.MCP.DenyTools, "mcp", "deny_tools")...)
	out = append(out, k.tables("tools", "[%s.%s] fits no tool here; %v", slices.Sorted(maps.Keys(s.Tools)), k.tools)...)
	out = append(out, k.tables("grants", "[%s.%s] fits no plugin here; %v", slices.Sorted(maps.Keys(s.Grants)), k.plugins)...)
	return append(out, k.rules()...)
}

// profile checks the names of one profile.
func (k known) profile(a AgentSettings, table ...string) []Fault {
	at := func(key string) []string { return append(slices.Clone(table), key) }
	out := slices.Concat(k.list(a.Tools, at("tools")...), k.list(a.DenyTools, at("deny_tools")...), k.list(a.prefetched(), at("prefetch")...))
	for _, p := range a.Prefetch {
		if spec, ok := k.specs[p.Tool]; ok && !agent.TakesQuestion(spec, p.Args) {
			out = append(out, k.settings.positions.fault(
				tool.Textf("[%s] prefetch names %q, which needs more arguments than the question: it does not run", strings.Join(table, "."), p.Tool),
				tool.Textf("give the others: { tool = %q, args = {…} }", p.Tool), at("prefetch")...))
		}
	}
	return out
}

// list checks one list of tools. Each unknown name is reported once.
func (k known) list(names []string, key ...string) []Fault {
	var out []Fault
	last := len(key) - 1
	for i, name := range names {
		fits := func(t string) bool { return t == name }
		switch key[last] {
		case "tools":
			fits = func(t string) bool { return toolname.Allowed([]string{name}, k.names(t)) }
		case "deny_tools":
			fits = func(t string) bool { return toolname.Denied([]string{name}, k.names(t)) }
		}
		if slices.ContainsFunc(k.tools, fits) || slices.Contains(names[:i], name) || k.ofServer(name) {
			continue
		}
		text := tool.Textf("[%s] %s names %q, which is no tool of a plugin here", strings.Join(key[:last], "."), key[last], name)
		out = append(out, k.settings.positions.fault(suggest(text, name, k.tools), tool.Textf("correct the name, or remove it"), key...))
	}
	return out
}

// rules checks the rules of approvals. A misspelled rule that should deny a tool
// denies nothing.
func (k known) rules() []Fault {
	var out []Fault
	for i, r := range k.settings.Approvals.Rule {
		fits := func(name string) bool { return toolname.MatchDenied(r.Tool, k.names(name)) } // check has checked the pattern
		if r.Action == string(approval.Allow) {
			fits = func(name string) bool { return toolname.MatchAllowed(r.Tool, k.names(name)) }
		}
		if slices.ContainsFunc(k.tools, fits) || k.ofServer(r.Tool) {
			continue
		}
		text := tool.Textf("[[approvals.rule]] %d is for %q, which fits no tool of a plugin here", i+1, r.Tool)
		out = append(out, k.settings.positions.fault(suggest(text, strings.Trim(r.Tool, "*?"), k.tools),
			tool.Textf("correct the name, or remove the rule"), "approvals", "rule", fmt.Sprint(i), "tool"))
	}
	return out
}

// tables returns the tables with almost a known name, and the patterns that fit none. Others
// may be for a plugin that comes later. The arguments of format are the table, the name and a question.
func (k known) tables(table, format string, names, known []string) []Fault {
	var out []Fault
	for _, name := range names {
		if table == "tools" && toolname.IsPattern(name) {
			if !slices.ContainsFunc(known, func(t string) bool { return toolname.MatchDenied(name, k.names(t)) }) && !k.ofServer(name) {
				out = append(out, k.settings.positions.fault(tool.Textf("[tools.%s] fits no tool here", tomledit.Key(name)), tool.Textf("correct the name, or remove the table"), table, name))
			}
			continue
		}
		if near := text.Nearest(name, known); len(near) > 0 && !slices.ContainsFunc(known, func(t string) bool { return toolname.Denied([]string{name}, k.names(t)) }) && !k.ofServer(name) {
			text := tool.Text{Format: format, Args: []any{table, name, DidYouMean(near)}}
			out = append(out, k.settings.positions.fault(text, tool.Textf("correct the name, or remove the table"), table, name))
		}
	}
	return out
}

// ofServer reports whether another server may have a tool of that name, or that a pattern fits,
// that is not known: one whose tools are known only when it has answered. It may be the server's
// own name for a tool, unless it is near one that is known.
func (k known) ofServer(name string) bool {
	begins := toolname.Old(toolname.Literal(name))
	own := !toolname.IsPattern(name) && !strings.Contains(begins, "__") && len(text.Nearest(name, k.tools)) == 0
	for server, entry := range k.settings.Servers {
		place := toolname.Old(server) + "__"
		fits := own && !entry.Disabled || strings.HasPrefix(begins, place) || toolname.IsPattern(name) && strings.HasPrefix(place, begins)
		if fits && !slices.Contains(k.answered, server) {
			return true
		}
	}
	return false
}

// suggest adds the names that are near, if there are any.
func suggest(problem tool.Text, name string, known []string) tool.Text {
	if near := text.Nearest(name, known); len(near) > 0 {
		return tool.Textf("%v; %v", problem, DidYouMean(near))
	}
	return problem
}
