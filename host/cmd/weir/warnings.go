package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/registry"
)

// literalKeys warns of keys that stand in the configuration itself: a tool that
// is granted its folder could read them there.
func literalKeys(models map[string]ModelSettings) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if models[name].literal {
			out = append(out, fmt.Sprintf(`[models.%s] key stands in tools.toml, where a tool that may read the folder could read it; write a reference, key = "${NAME}", and set NAME in the environment or in .env`, name))
		}
	}
	return out
}

// unknownTools warns of names in the profiles that no plugin declares. It is
// no error, since a plugin may come later.
func unknownTools(s Settings, h *host.Host) []string {
	var known []string
	for _, t := range h.Tools() {
		known = append(known, t.Spec.Name)
	}
	for _, p := range h.Plugins() {
		known = append(append(known, p.Tools...), p.Disabled...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	out := misspelt("agent", s.Agent, known)
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		out = append(out, misspelt("agents."+name, s.Agents[name], known)...)
	}
	return append(out, idleRules(s.Approvals.Rule, known)...)
}

// idleRules names the rules of approvals that fit no tool: one that is meant to
// deny and is misspelt denies nothing.
func idleRules(rules []ApprovalRuleSettings, known []string) []string {
	var out []string
	for i, r := range rules {
		fits := func(name string) bool { ok, _ := path.Match(r.Tool, name); return ok } // load has checked the pattern
		if slices.ContainsFunc(known, fits) {
			continue
		}
		msg := fmt.Sprintf("[[approvals.rule]] %d is for %q, which fits no tool of a plugin here", i+1, r.Tool)
		if near := registry.Nearest(strings.Trim(r.Tool, "*?"), known); len(near) > 0 {
			msg += "; did you mean " + strings.Join(near, " or ") + "?"
		}
		out = append(out, msg)
	}
	return out
}

// misspelt names what one profile lists and nobody knows, each name once.
func misspelt(table string, a AgentSettings, known []string) []string {
	var out []string
	for _, list := range []struct {
		key   string
		names []string
	}{{"tools", a.Tools}, {"deny_tools", a.DenyTools}, {"prefetch", a.Prefetch}} {
		for i, name := range list.names {
			if slices.Contains(known, name) || slices.Contains(list.names[:i], name) {
				continue
			}
			msg := fmt.Sprintf("[%s] %s names %q, which is no tool of a plugin here", table, list.key, name)
			if near := registry.Nearest(name, known); len(near) > 0 {
				msg += "; did you mean " + strings.Join(near, " or ") + "?"
			}
			out = append(out, msg)
		}
	}
	return out
}
