package declared

import (
	"maps"
	"slices"

	"github.com/weirhost/weir/agent/model/demo"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A Recommendation is the limit of one profile, beside the limits that suit its model.
type Recommendation struct {
	Profile string `json:"profile"`
	Model   string `json:"model"`
	Window  int    `json:"window"` // tokens; 0: neither the file nor the service's documentation says
	// Limit is max_tool_result_length as it holds, in characters, and Why the rule
	// that decides it. 0: the model is asked for its window first.
	Limit int       `json:"limit"`
	Why   tool.Text `json:"why"`
	// Least and Most are the recommended limits, in characters. 0: unknown.
	Least int `json:"least,omitempty"`
	Most  int `json:"most,omitempty"`
}

// Recommendations returns one for each profile. s must have its defaults.
func Recommendations(s config.Settings) []Recommendation {
	out := []Recommendation{recommend(s, "default", s.Agent)}
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		out = append(out, recommend(s, name, s.Agents[name]))
	}
	return out
}

func recommend(s config.Settings, profile string, a config.AgentSettings) Recommendation {
	m := s.Models[a.Model]
	r := Recommendation{Profile: profile, Model: a.Model, Window: m.Window}
	if r.Window <= 0 {
		r.Window = provider.Config{Provider: m.Provider, BaseURL: m.BaseURL, Model: m.Model}.KnownWindow()
	}
	if _, configured := s.Models[a.Model]; !configured && a.Model == daemon.DemoModel {
		r.Window = demo.Window
	}
	r.Limit, r.Why = limit.Agent(a.MaxToolResultLength, r.Window)
	r.Least, r.Most = limit.Recommended(r.Window)
	return r
}

// Text returns the recommendation on one line.
func (r Recommendation) Text() tool.Text {
	if r.Window <= 0 {
		return tool.Textf("profile %s, model %s: max_tool_result_length is %d (%v). The model's window is not known without asking it; set window in [models.%s], which `weir model test --window` measures; docs/limits.md lists the recommended limits",
			r.Profile, r.Model, r.Limit, r.Why, r.Model)
	}
	return tool.Textf("profile %s, model %s: max_tool_result_length is %d (%v); recommended for %d tokens: %d to %d",
		r.Profile, r.Model, r.Limit, r.Why, r.Window, r.Least, r.Most)
}
