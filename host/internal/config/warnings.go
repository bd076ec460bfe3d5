package config

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// Warnings are what a person should know of the configuration, and what keeps
// nothing from running.
func Warnings(s Settings, h *host.Host) []string {
	out := LiteralKeys(s.Models)
	for _, f := range slices.Concat(Lint(s), unknownTools(s, h)) {
		out = append(out, f.String())
	}
	return append(out, tokenless(s.Users)...)
}

// LiteralKeys warns of keys that stand in the configuration itself: a tool that
// is granted its folder could read them there.
func LiteralKeys(models map[string]ModelSettings) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if models[name].literal {
			out = append(out, fmt.Sprintf(`[models.%s] key stands in tools.toml, where a tool that may read the folder could read it; write a reference, key = "${NAME}", and set NAME in the environment or in .env`, name))
		}
	}
	return out
}

// unknownTools are names in the configuration that no plugin declares. They are
// no faults, since a plugin may come later, and another server's tools are known
// when it answers.
func unknownTools(s Settings, h *host.Host) []Fault {
	known := []string{tool.DescribeTool}
	specs := map[string]tool.Spec{}
	for _, t := range h.Tools() {
		known = append(known, t.Spec.Name)
		specs[t.Spec.Name] = t.Spec
	}
	var plugins []string
	for _, p := range h.Plugins() {
		known = append(append(known, p.Tools...), p.Disabled...)
		plugins = append(plugins, p.Name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	out := profileTools(s, s.Agent, known, specs, "agent")
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		out = append(out, profileTools(s, s.Agents[name], known, specs, "agents", name)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Users)) {
		u := s.Users[name]
		out = append(out, misspelt(s, known, u.Tools, "users", name, "tools")...)
		out = append(out, misspelt(s, known, u.DenyTools, "users", name, "deny_tools")...)
	}
	out = append(out, misspelt(s, known, s.MCP.Tools, "mcp", "tools")...)
	out = append(out, misspelt(s, known, s.MCP.DenyTools, "mcp", "deny_tools")...)
	out = append(out, nearly(s, "tools", "tool", slices.Sorted(maps.Keys(s.Tools)), known)...)
	out = append(out, nearly(s, "grants", "plugin", slices.Sorted(maps.Keys(s.Grants)), plugins)...)
	return append(out, idleRules(s, known)...)
}

func profileTools(s Settings, a AgentSettings, known []string, specs map[string]tool.Spec, table ...string) []Fault {
	at := func(key string) []string { return append(slices.Clone(table), key) }
	out := slices.Concat(misspelt(s, known, a.Tools, at("tools")...), misspelt(s, known, a.DenyTools, at("deny_tools")...), misspelt(s, known, a.Prefetch, at("prefetch")...))
	for _, name := range a.Prefetch {
		if spec, ok := specs[name]; ok && !agent.TakesQuestion(spec) {
			out = append(out, s.places.fault(fmt.Sprintf("[%s] prefetch names %q, which cannot be called with a question alone: it does not run", strings.Join(table, "."), name),
				"name a tool whose one required argument is a text", at("prefetch")...))
		}
	}
	return out
}

// idleRules names the rules of approvals that fit no tool: one that is meant to
// deny and is misspelt denies nothing.
func idleRules(s Settings, known []string) []Fault {
	var out []Fault
	for i, r := range s.Approvals.Rule {
		fits := func(name string) bool { ok, _ := path.Match(r.Tool, name); return ok } // load has checked the pattern
		if slices.ContainsFunc(known, fits) || ofServer(s, r.Tool) {
			continue
		}
		out = append(out, s.places.fault(fmt.Sprintf("[[approvals.rule]] %d is for %q, which fits no tool of a plugin here", i+1, r.Tool)+meant(strings.Trim(r.Tool, "*?"), known),
			"correct the name, or take the rule out", "approvals", "rule", fmt.Sprint(i), "tool"))
	}
	return out
}

// misspelt names what one list has and nobody knows, each name once.
func misspelt(s Settings, known, names []string, key ...string) []Fault {
	var out []Fault
	last := len(key) - 1
	for i, name := range names {
		if slices.Contains(known, name) || slices.Contains(names[:i], name) || ofServer(s, name) {
			continue
		}
		out = append(out, s.places.fault(fmt.Sprintf("[%s] %s names %q, which is no tool of a plugin here", strings.Join(key[:last], "."), key[last], name)+meant(name, known),
			"correct the name, or take it out", key...))
	}
	return out
}

// nearly names tables that are called almost as something that is there. Others
// may be for what comes later.
func nearly(s Settings, table, what string, names, known []string) []Fault {
	var out []Fault
	for _, name := range names {
		if near := meant(name, known); near != "" && !slices.Contains(known, name) && !ofServer(s, name) {
			out = append(out, s.places.fault(fmt.Sprintf("[%s.%s] is for no %s here%s", table, name, what, near), "correct the name, or take the table out", table, name))
		}
	}
	return out
}

// ofServer says that another server may have a tool of that name: what it has is
// known when it answers.
func ofServer(s Settings, name string) bool {
	server, _, ok := strings.Cut(name, "__")
	_, there := s.Servers[server]
	return ok && there
}

func meant(name string, known []string) string {
	if near := text.Nearest(name, known); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}
