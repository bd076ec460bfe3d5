package config

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
)

func TestTriggerSettings(t *testing.T) {
	for text, want := range map[string]agent.Trigger{
		"":                     agent.TriggerModel,
		`trigger = "model"`:    agent.TriggerModel,
		`trigger = "keyword"`:  agent.TriggerKeyword,
		`trigger = "semantic"`: agent.TriggerSemantic,
		`trigger = "hybrid"`:   agent.TriggerHybrid,
	} {
		s, faults := Parse("tools.toml", "[archive]\n"+text+"\n")
		if got := s.WithDefaults().Profiles()["default"].Agent.Trigger; len(faults) > 0 || got != want {
			t.Errorf("%s: %q, %v", text, got, faults)
		}
	}
	_, faults := Parse("tools.toml", "[archive]\nkeep_turns = 2\ntrigger = \"always\"\n")
	if len(faults) != 1 || faults[0].Line != 3 || !strings.Contains(faults[0].Hint.String(), "hybrid") {
		t.Errorf("an unknown trigger: %v", faults)
	}
	for text, want := range map[string]float64{"": 0.5, "semantic_threshold = 0": 0.5, "semantic_threshold = 0.82": 0.82, "semantic_threshold = 1": 1, "semantic_threshold = -1": -1} {
		s, faults := Parse("tools.toml", "[archive]\n"+text+"\n")
		if got := s.WithDefaults().Profiles()["default"].Agent.SemanticThreshold; len(faults) > 0 || got != want {
			t.Errorf("%s: %v, %v", text, got, faults)
		}
	}
	_, faults = Parse("tools.toml", "[archive]\ntrigger = \"semantic\"\nsemantic_threshold = 1.5\n")
	if len(faults) != 1 || faults[0].Line != 3 || !strings.Contains(faults[0].Hint.String(), "0 to 1") {
		t.Errorf("a threshold that no score reaches: %v", faults)
	}
	s, faults := Parse("tools.toml", "[models.ark]\nprovider = \"ark\"\nembedding_model = \"vec-1\"\n")
	if len(faults) > 0 || s.Models["ark"].Embedding != "vec-1" {
		t.Errorf("%+v, %v", s.Models, faults)
	}
}
