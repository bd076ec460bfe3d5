package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/config/value"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// check reports invalid values.
func check(s *Settings, bad report) {
	oneOf := func(value string, allowed []string, key ...string) {
		if value != "" && !strings.Contains(value, "${") && !slices.Contains(allowed, value) {
			bad(tool.Textf("%s is %q", strings.Join(key, "."), value), tool.Textf("use one of: %s", strings.Join(allowed, ", ")), key...)
		}
	}
	strategies := []string{"head_tail", "head_only", "tail_only", "json", "summarize"}
	oneOf(s.Locale, []string{"auto", "en", "zh"}, "locale")
	if a := s.Server.Addr; a != "" && !strings.Contains(a, "${") {
		if p := value.CheckAddr(a); p != nil {
			bad(p.Text, p.Hint, "server", "addr")
		}
	}
	oneOf(s.Log.Level, []string{"trace", "debug", "info", "warn", "error", "off"}, "log", "level")
	oneOf(s.Log.Format, []string{"text", "json"}, "log", "format")
	oneOf(s.Limits.Strategy, strategies, "limits", "strategy")
	if u := s.Store.Database(); u != "" && !strings.Contains(u, "${") && !strings.HasPrefix(u, "postgres://") {
		bad(tool.Textf("the address of the database does not begin with postgres://"), tool.Textf("write postgres://USER@HOST/DATABASE, or remove the key: without it weir uses the file in its data folder"), "store", "url")
	}
	oneOf(s.Archive.Trigger, []string{string(agent.TriggerModel), string(agent.TriggerKeyword), string(agent.TriggerSemantic), string(agent.TriggerHybrid)}, "archive", "trigger")
	if s.Archive.Semantic > 1 {
		bad(tool.Textf("semantic_threshold is %v", s.Archive.Semantic), tool.Textf("give a score from 0 to 1; negative means that the best match is always good enough"), "archive", "semantic_threshold")
	}
	oneOf(s.Archive.Scope, []string{"conversation", "user"}, "archive", "scope")
	oneOf(s.Sandbox.Engine, []string{host.EngineWazero, host.EngineExtism}, "sandbox", "engine")
	oneOf(s.Sandbox.Isolation, []string{string(host.OwnProcess), string(host.Inline)}, "sandbox", "isolation")
	checkShown(s.Limits.MaxChars, s.Limits.Head, s.Limits.Tail, bad, "limits")
	if n := s.Limits.CeilingChars; n != 0 && n < tool.MinMaxChars {
		bad(tool.Textf("ceiling_chars is %d", n), tool.Textf("%d is the least; 0 means %d", tool.MinMaxChars, tool.DefaultCeiling), "limits", "ceiling_chars")
	}
	checkLines(s.Limits.MaxLines, bad, "limits")
	for name, t := range s.Tools {
		if _, err := path.Match(name, ""); err != nil {
			bad(tool.Textf("%q is no pattern", name), tool.Textf("use * for any letters, or the tool's whole name"), "tools", name)
		}
		checkLines(t.MaxLines, bad, "tools", name)
		if t.Rate != nil && t.Rate.PerMinute < 0 {
			bad(tool.Textf("per_minute is %d", t.Rate.PerMinute), tool.Textf("write the most calls per minute; 0 means no limit"), "tools", name, "rate", "per_minute")
		}
		if t.Context < 0 {
			bad(tool.Textf("keep_context is %d", t.Context), tool.Textf("write a number of lines; 0 shows only the lines that match"), "tools", name, "keep_context")
		}
		if t.Trigger < 0 {
			bad(tool.Textf("trigger_threshold is %d", t.Trigger), tool.Textf("write a number of characters; 0 means that of [summarize]"), "tools", name, "trigger_threshold")
		}
		oneOf(t.Strategy, strategies, "tools", name, "strategy")
		oneOf(t.Archive, []string{"auto", "always", "never"}, "tools", name, "archive")
		checkShown(t.MaxChars, t.Head, t.Tail, bad, "tools", name)
		checkKeep(t.Keep, bad, "tools", name)
	}
	checkKeep(s.Limits.Keep, bad, "limits")
	for i, f := range s.Plugins.Folder {
		oneOf(f.Trust, []string{"ask", "granted"}, "plugins", "folder", fmt.Sprint(i), "trust")
		if f.Path == "" {
			bad(tool.Textf("this plugin folder has no path"), tool.Textf(`write path = "./plugins"`), "plugins", "folder", fmt.Sprint(i))
		}
	}
	checkServers(s.Servers, bad)
	checkTelemetry(s.Telemetry, bad)
	providers := append(PresetNames(), daemon.DemoModel)
	for name, m := range s.Models {
		if m.Provider == "" {
			bad(tool.Textf("the model %s has no provider", name), tool.Textf("use one of: %s", strings.Join(providers, ", ")), "models", name)
		}
		oneOf(m.Provider, providers, "models", name, "provider")
		if u := m.BaseURL; u != "" && !strings.HasPrefix(u, "$") && !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
			bad(tool.Textf("base_url is %q, which has no scheme", u), tool.Textf("begin it with http:// or https://"), "models", name, "base_url")
		}
		checkPrice(m.Price, bad, "models", name, "price")
		checkFallback(s, name, m.Fallback, bad, "models", name, "fallback")
	}
	checkModel(s, s.Search.QuestionModel, bad, "tool_search", "question_model")
	if s.Summarize.Enabled {
		checkModel(s, s.Summarize.Model, bad, "summarize", "model")
	}
	checkAgent(s, s.Agent, oneOf, bad, "agent")
	for name, a := range s.Agents {
		if name == "default" {
			bad(tool.Textf("[agents.default] is [agent] itself"), tool.Textf("write its keys below [agent]"), "agents", name)
		}
		checkAgent(s, a, oneOf, bad, "agents", name)
	}
	checkUsers(s, bad)
	checkClients(s, bad)
	checkListings(s, bad)
	checkApprovals(s, bad)
	s.Scripts.Check(bad)
	for name, g := range s.Grants {
		for i, x := range g.Secrets {
			if x.Name == "" || x.Host == "" && x.Header+x.Format != "" {
				bad(tool.Textf("a granted secret is a name, or a table with name and host"), tool.Textf(`write secrets = ["API_KEY"], or for a plugin made for another host secrets = [{ name = "API_KEY", host = "api.example.com" }]`), "grants", name, "secrets", fmt.Sprint(i))
			}
		}
		for i, p := range g.Paths {
			oneOf(p.Mode, []string{"ro", "rw"}, "grants", name, "paths", fmt.Sprint(i), "mode")
			if !strings.HasPrefix(p.Guest, "/") || p.Host == "" {
				bad(tool.Textf("a granted path needs guest = \"/…\" and host = \"…\""), tool.Text{}, "grants", name, "paths", fmt.Sprint(i))
			}
		}
	}
}

// checkApprovals reports the approvals that the host does not accept.
func checkApprovals(s *Settings, bad report) {
	a := s.Approvals
	for _, v := range []*string{&a.Default, &a.Network} {
		if strings.Contains(*v, "${") { // the value of a variable is not known yet
			*v = ""
		}
	}
	approvals(a).Validate(func(problem, fix tool.Text, key ...string) {
		bad(problem, fix, append([]string{"approvals"}, key...)...)
	})
}

func checkPrice(p PriceSettings, bad report, table ...string) {
	for key, v := range map[string]float64{"prompt": p.Prompt, "completion": p.Completion, "cached_prompt": p.CachedPrompt, "cache_write": p.CacheWrite} {
		if !(v >= 0) || math.IsInf(v, 1) {
			bad(tool.Textf("%s is %g", key, v), tool.Textf("write the price of a million tokens; 0: unknown"), append(slices.Clone(table), key)...)
		}
	}
	if len(p.Currency) > 8 {
		bad(tool.Textf("currency is %q", p.Currency), tool.Textf(`write its letters, for example "USD" or "CNY"`), append(slices.Clone(table), "currency")...)
	}
}

func checkShown(chars int, head, tail float64, bad report, table ...string) {
	at := func(key string) []string { return append(slices.Clone(table), key) }
	if chars != 0 && chars < tool.MinMaxChars {
		bad(tool.Textf("max_chars is %d", chars), tool.Textf("%d is the least: the notice alone takes %d", tool.MinMaxChars, tool.NoticeChars), at("max_chars")...)
	}
	if !(head >= 0 && tail >= 0 && head+tail <= 1) { // NaN fails too
		bad(tool.Textf("head %g and tail %g are not shares of one budget", head, tail), tool.Textf("each 0 or more, together at most 1"), at("head")...)
	}
}

func checkKeep(keep []string, bad report, table ...string) {
	if err := limit.CheckHighlights(keep); err != nil {
		bad(msg.Of(err), tool.Textf("write RE2 expressions, or \"auto\" or \"none\""), append(slices.Clone(table), "keep")...)
	}
}

func checkLines(lines int, bad report, table ...string) {
	if lines < 0 || lines == 1 {
		bad(tool.Textf("max_lines is %d", lines), tool.Textf("2 is the least, for the notice takes a line; 0 means the default"), append(slices.Clone(table), "max_lines")...)
	}
}

func checkAgent(s *Settings, a AgentSettings, oneOf func(string, []string, ...string), bad report, table ...string) {
	at := func(key string) []string { return append(slices.Clone(table), key) }
	oneOf(a.Mode, []string{string(agent.ModeAuto), string(agent.ModePrompt), string(agent.ModeNative)}, at("mode")...)
	oneOf(a.Locale, []string{"auto", "en", "zh"}, at("locale")...)
	checkModel(s, a.Model, bad, at("model")...)
	checkFallback(s, cmp.Or(a.Model, daemon.DemoModel), a.Fallback, bad, at("fallback")...)
}

// checkModel reports a name of a model that is not configured.
func checkModel(s *Settings, name string, bad report, key ...string) {
	if _, ok := s.Models[name]; name != "" && name != daemon.DemoModel && !ok {
		known := slices.Sorted(maps.Keys(s.Models))
		bad(tool.Textf("there is no model %q", name), tool.Textf("add [models.%s], or use one of: %s", name, strings.Join(append(known, daemon.DemoModel), ", ")), key...)
	}
}

// PresetNames returns the providers that a model may name, except for the demo model.
func PresetNames() []string {
	var out []string
	for _, p := range provider.Presets() {
		out = append(out, p.Name)
	}
	return out
}
