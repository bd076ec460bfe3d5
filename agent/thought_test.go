package agent_test

import (
	"context"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
)

// thinker is a model whose template opens a thought.
type thinker struct{ *replay.Model }

func (m thinker) Describe(ctx context.Context) (agent.ModelInfo, error) {
	info, err := m.Model.Describe(ctx)
	info.StartInThought = true
	return info, err
}

// What comes before </think> is never a call where the model's template opens the thought.
func TestNothingInAnOpenedThoughtRuns(t *testing.T) {
	inside := replay.Call("echo", `{"text":"x"}`)
	inside.Text = "I could write " + inside.Text + " but I know it.</think>It is four."
	after := replay.Call("echo", `{"text":"x"}`)
	after.Text = "I look.</think>" + after.Text
	separated := replay.Call("echo", `{"text":"x"}`)
	separated.Reasoning = "I look."
	for _, c := range []struct {
		why     string
		replies []replay.Reply
		calls   int
		answer  string
	}{
		{"inside", []replay.Reply{inside}, 0, "It is four."},
		{"after", []replay.Reply{after, replay.Text("</think>done")}, 1, "done"},
		{"the server separates thoughts", []replay.Reply{separated, replay.Text("</think>done")}, 1, "done"},
		{"the server has taken the thought out", []replay.Reply{replay.Text("It is four.")}, 0, "It is four."},
	} {
		turn, ev := must(t, config(), thinker{replay.New(c.replies...)}, newBox().says("echo", "hi"), nil, "go")
		if n := len(of[agent.CallStart](ev)); n != c.calls || turn.Answer != c.answer {
			t.Errorf("%s: %d calls, answer %q", c.why, n, turn.Answer)
		}
	}
}
