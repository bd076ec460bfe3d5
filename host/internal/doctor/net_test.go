package doctor

import (
	"context"
	"iter"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/internal/config"
)

// A listed model's server lists the model "known".
type listed struct{}

func (listed) Generate(context.Context, agent.Request) iter.Seq2[agent.Delta, error] { return nil }

func (listed) Describe(context.Context) (agent.ModelInfo, error) { return agent.ModelInfo{}, nil }

func (listed) Models(context.Context) ([]string, error) { return []string{"known"}, nil }

// A model's name is compared with the list of its server, and what was not tried is not
// said to work.
func TestModelNames(t *testing.T) {
	e := &exam{Checks: Checks{Model: func(string, config.ModelSettings, config.Lookup) (agent.Model, error) { return listed{}, nil }}}
	for name, want := range map[string]struct {
		Status Status
		What   string
	}{
		"known": {Status: OK, What: "m: h answers; known was not asked; a key is set"},
		"wrong": {Status: Warn, What: "m: wrong is not among the models that the server lists: known"},
	} {
		got := e.model(t.Context(), "m", config.ModelSettings{Provider: "openai", BaseURL: "http://h/v1", Model: name, Key: "k"})
		if got.Status != want.Status || got.What.String() != want.What {
			t.Errorf("%s: %s %s", name, got.Status, got.What)
		}
	}
}
