package setup

import (
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
)

// What was learnt about a model's tool calling is forgotten with the model alone.
func TestConfigureKeepsWhatWasLearnt(t *testing.T) {
	m := Model{Model: replay.New(), Estimator: new(agent.Estimator)}
	profiles := map[string]Profile{"default": {Model: "m", Agent: agent.Defaults()}}
	c, err := New("", "", Config{Models: map[string]Model{"m": m}, Profiles: profiles})
	if err != nil {
		t.Fatal(err)
	}
	learnt := func() agent.Mode { return c.State().Models["m"].Mode(t.Context(), agent.Defaults()) }
	before := c.State().Models["m"]
	before.Learn(agent.ModePrompt)
	if err := c.Configure(Config{Models: map[string]Model{"m": m}, Profiles: profiles}); err != nil || learnt() != agent.ModePrompt {
		t.Errorf("%v; the same model's mode is %q", err, learnt())
	}
	other := Model{Model: replay.New(), Estimator: new(agent.Estimator)}
	if err := c.Configure(Config{Models: map[string]Model{"m": other}, Profiles: profiles}); err != nil || learnt() != "" {
		t.Errorf("%v; another model's mode is %q", err, learnt())
	}
	if before.Learn(agent.ModePrompt); learnt() != "" {
		t.Error("a turn with the model of before taught about the one of now")
	}
}
