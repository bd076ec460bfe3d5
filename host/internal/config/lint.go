package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

// Lint returns the keys of the profiles that cannot have the effect for which they
// are written, those of LiteralKeys and Unset, and what is odd about fallbacks and clients. They
// keep nothing from running.
func (s Settings) Lint() []Fault {
	out := slices.Concat(s.LiteralKeys(), s.Unset(), s.lintFallback(), s.lintClients(), s.lintProfile(s.Agent, "agent"))
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		out = append(out, s.lintProfile(s.Agents[name], "agents", name)...)
	}
	return out
}

func (s Settings) lintProfile(a AgentSettings, table ...string) []Fault {
	var out []Fault
	title := strings.Join(table, ".")
	add := func(key string, hint, text tool.Text) {
		out = append(out, s.positions.fault(tool.Textf("[%s] %v", title, text), hint, append(slices.Clone(table), key)...))
	}
	if why, fix := callsNothing(a); !why.IsZero() {
		for _, does := range []struct {
			key string
			on  bool
		}{{"enable_planning", a.EnablePlanning}, {"enable_reflection", a.EnableReflection}, {"prefetch", len(a.Prefetch) > 0}, {"mode", a.Mode == string(agent.ModeNative)}} {
			if does.on {
				add(does.key, tool.Textf("remove it, or %v", fix), tool.Textf("%s has no effect, because %v", does.key, why))
			}
		}
		return out
	}
	for _, name := range a.DenyTools {
		if slices.Contains(a.Tools, name) {
			add("deny_tools", tool.Textf("remove it from one of the two"), tool.Textf("deny_tools names %q, and tools does too: it is denied", name))
		}
	}
	for _, name := range a.prefetched() {
		if slices.Contains(a.DenyTools, name) || a.Tools != nil && !slices.Contains(a.Tools, name) {
			add("prefetch", tool.Textf("give the profile the tool, or remove it from prefetch"), tool.Textf("prefetch names %q, which the profile may not use: it does not run", name))
		}
	}
	if m := s.Models[a.Model]; a.Mode == string(agent.ModeNative) && m.NativeTools != nil && !*m.NativeTools {
		add("mode", tool.Textf("remove mode, or correct native_tools"), tool.Textf(`mode is "native", and [models.%s] says native_tools = false`, a.Model))
	}
	if text, hint := s.callsWait(a.ParallelCalls); !text.IsZero() {
		add("parallel_calls", hint, text)
	}
	return out
}

// callsWait returns why some of n parallel calls of one plugin must wait for others,
// and the fix. It is zero if they need not, and for the default n.
func (s Settings) callsWait(n int) (text, hint tool.Text) {
	all, one := host.Slots(s.Sandbox.Parallel, s.Sandbox.Isolation == string(host.Inline))
	raised := slices.ContainsFunc(slices.Collect(maps.Values(s.Tools)), func(t ToolSettings) bool { return t.Parallel > one })
	switch {
	case n <= agent.DefaultParallel:
	case n > all:
		return tool.Textf("parallel_calls is %d, and all plugins together run %d calls at once: the others wait", n, all),
			tool.Textf("set parallel = %d below [sandbox], of which one plugin gets a quarter, or lower parallel_calls to %d", n, all)
	case n > one && !raised:
		return tool.Textf("parallel_calls is %d, and one plugin runs %d calls at once: its others wait", n, one),
			tool.Textf("set parallel = %d in [tools.NAME] of its tools or parallel = %d below [sandbox], or lower parallel_calls to %d", n, 4*n, one)
	}
	return tool.Text{}, tool.Text{}
}

// callsNothing returns why a profile calls no tool, and the fix. It is zero if the
// profile does.
func callsNothing(a AgentSettings) (why, fix tool.Text) {
	switch {
	case a.EnableToolCalling != nil && !*a.EnableToolCalling:
		return tool.Textf("enable_tool_calling is false"), tool.Textf("set enable_tool_calling = true")
	case a.MaxToolCalls < 0:
		return tool.Textf("max_tool_calls is %d, which allows no call", a.MaxToolCalls), tool.Textf("set max_tool_calls to 1 or more")
	case a.Tools != nil && len(a.Tools) == 0:
		return tool.Textf("tools is empty, which offers none"), tool.Textf("remove tools to offer all of them")
	}
	return tool.Text{}, tool.Text{}
}
