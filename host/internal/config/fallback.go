package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/sdk/tool"
)

// checkFallback reports the names of a list that cannot be meant: a model that is not
// configured, and the one that they are to answer for.
func checkFallback(s *Settings, model string, list []string, bad report, key ...string) {
	for _, name := range list {
		if name == model {
			bad(tool.Textf("%q is the model itself", name), tool.Textf("name other models"), key...)
			continue
		}
		checkModel(s, name, bad, key...)
	}
}

// fallbackOf returns the list of a model.
func (s Settings) fallbackOf(name string) []string { return s.Models[name].Fallback }

// lintFallback returns the lists that lead back to where they begin, and those that name
// models which a user may not use.
func (s Settings) lintFallback() []Fault {
	var out []Fault
	told := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		if back := s.circle(name); len(back) > 0 && !told[name] {
			for _, n := range back {
				told[n] = true
			}
			out = append(out, s.positions.fault(tool.Textf("[models.%s] fallback leads back to %s: %s", name, name, strings.Join(slices.Concat([]string{name}, back), " → ")),
				tool.Textf("remove one of them, unless each model is to be asked once at most, whichever is first"), "models", name, "fallback"))
		}
	}
	for _, user := range slices.Sorted(maps.Keys(s.Users)) {
		out = append(out, s.lintUserFallback(user)...)
	}
	return out
}

// circle returns the models by which the fallbacks of a model lead back to it, itself last;
// nil: they do not.
func (s Settings) circle(name string) []string {
	seen := map[string]bool{}
	var walk func(at string) []string
	walk = func(at string) []string {
		for _, next := range s.fallbackOf(at) {
			if next == name && at != name { // a model in its own list is a fault
				return []string{next}
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if back := walk(next); back != nil {
				return slices.Concat([]string{next}, back)
			}
		}
		return nil
	}
	return walk(name)
}

// lintUserFallback returns the models that would answer a user's questions if the user might
// use them.
func (s Settings) lintUserFallback(user string) []Fault {
	u := s.Users[user]
	if u.Models == nil {
		return nil
	}
	var out []Fault
	ofAllowed := func(name string) []string { // one that is passed over leads nowhere
		if !slices.Contains(u.Models, name) {
			return nil
		}
		return s.fallbackOf(name)
	}
	add := func(title, model string, list []string, key ...string) {
		for _, name := range setup.Chain(model, list, ofAllowed) {
			if slices.Contains(u.Models, name) || !slices.Contains(list, name) { // the list of the model before is reported itself
				continue
			}
			out = append(out, s.positions.fault(tool.Textf("[%s] fallback leads to %q, which the user %s may not use: it is passed over in that user's questions", title, name, user),
				tool.Textf("add it to models of [users.%s], if the user may use it", user), key...))
		}
	}
	for _, model := range u.Models {
		add("models."+model, model, s.fallbackOf(model), "models", model, "fallback")
	}
	profile := func(name string, a AgentSettings, table ...string) {
		model := cmp.Or(a.Model, daemon.DemoModel)
		if a.Fallback == nil || u.Profiles != nil && !slices.Contains(u.Profiles, name) {
			return
		}
		if !slices.Contains(u.Models, model) && len(u.Models) > 0 {
			model = u.Models[0]
		}
		add(strings.Join(table, "."), model, a.Fallback, append(slices.Clone(table), "fallback")...)
	}
	profile("default", s.Agent, "agent")
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		profile(name, s.Agents[name], "agents", name)
	}
	return out
}
