package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/tomlpos"
)

// places tells where in tools.toml something stands.
type places struct {
	file string // empty: there is none
	doc  tomlpos.Document
}

// fault is one at a key; without a file it has no place.
func (p places) fault(msg, hint string, key ...string) Fault {
	f := Fault{Msg: msg, Hint: hint}
	if p.file != "" {
		f.File = p.file
		f.Line, f.Col = p.doc.Position(key...)
	}
	return f
}

// Lint are what of the profiles cannot have the effect that it is written for.
// They keep nothing from running.
func Lint(s Settings) []Fault {
	out := profileDoubts(s, s.Agent, "agent")
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		out = append(out, profileDoubts(s, s.Agents[name], "agents", name)...)
	}
	return out
}

func profileDoubts(s Settings, a AgentSettings, table ...string) []Fault {
	var out []Fault
	title := "[" + strings.Join(table, ".") + "] "
	tell := func(hint string, key, format string, args ...any) {
		out = append(out, s.places.fault(title+fmt.Sprintf(format, args...), hint, append(slices.Clone(table), key)...))
	}
	if why, mend := callsNothing(a); why != "" {
		for _, does := range []struct {
			key string
			on  bool
		}{{"enable_planning", a.EnablePlanning}, {"enable_reflection", a.EnableReflection}, {"prefetch", len(a.Prefetch) > 0}, {"mode", a.Mode == string(agent.ModeNative)}} {
			if does.on {
				tell("take it out, or "+mend, does.key, "%s does nothing, for %s", does.key, why)
			}
		}
		return out
	}
	for _, name := range a.DenyTools {
		if slices.Contains(a.Tools, name) {
			tell("take it out of one of the two", "deny_tools", "deny_tools names %q, and tools does too: it is denied", name)
		}
	}
	for _, name := range a.Prefetch {
		if slices.Contains(a.DenyTools, name) || a.Tools != nil && !slices.Contains(a.Tools, name) {
			tell("let the profile have the tool, or take it out of prefetch", "prefetch", "prefetch names %q, which the profile may not use: it does not run", name)
		}
	}
	if m := s.Models[a.Model]; a.Mode == string(agent.ModeNative) && m.NativeTools != nil && !*m.NativeTools {
		tell("leave mode out, or correct native_tools", "mode", `mode is "native", and [models.%s] says native_tools = false`, a.Model)
	}
	if msg, hint := waits(s, a.ParallelCalls); msg != "" {
		tell(hint, "parallel_calls", "%s", msg)
	}
	return out
}

// waits says why of n calls at once, more than anybody gets unasked, some of a
// plugin's wait for others; empty: they need not.
func waits(s Settings, n int) (msg, hint string) {
	all, one := host.Places(s.Sandbox.Parallel, s.Sandbox.Isolation == string(host.Inline))
	raised := slices.ContainsFunc(slices.Collect(maps.Values(s.Tools)), func(t ToolSettings) bool { return t.Parallel > one })
	switch {
	case n <= agent.DefaultParallel:
	case n > all:
		return fmt.Sprintf("parallel_calls is %d, and all plugins together run %d calls at once: the others wait", n, all),
			fmt.Sprintf("set parallel = %d below [sandbox], of which one plugin gets a quarter, or lower parallel_calls to %d", n, all)
	case n > one && !raised:
		return fmt.Sprintf("parallel_calls is %d, and one plugin runs %d calls at once: its others wait", n, one),
			fmt.Sprintf("set parallel = %d in [tools.NAME] of its tools or parallel = %d below [sandbox], or lower parallel_calls to %d", n, 4*n, one)
	}
	return "", ""
}

// callsNothing says why a profile calls no tool, and how it would; empty: it calls.
func callsNothing(a AgentSettings) (why, mend string) {
	switch {
	case a.EnableToolCalling != nil && !*a.EnableToolCalling:
		return "enable_tool_calling is false", "set enable_tool_calling = true"
	case a.MaxToolCalls < 0:
		return fmt.Sprintf("max_tool_calls is %d, which allows no call", a.MaxToolCalls), "give max_tool_calls a number from 1 on"
	case a.Tools != nil && len(a.Tools) == 0:
		return "tools is empty, which offers none", "leave tools out for all of them"
	}
	return "", ""
}
