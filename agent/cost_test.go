package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// Every request is reported with its parts, whose sum is the estimate; a caller that asks
// hears what each tool takes.
func TestRoundsAndToolsAreExplained(t *testing.T) {
	call := tool.Call{ID: "c1", Tool: "echo", Args: json.RawMessage(`{"text":"x"}`)}
	for mode, first := range map[agent.Mode]replay.Reply{
		agent.ModePrompt: replay.Call("echo", `{"text":"x"}`),
		agent.ModeNative: {Calls: []tool.Call{call}},
	} {
		m := replay.New(first, replay.Text("It says hello.")).Describing(agent.ModelInfo{Name: "m", Window: 32768})
		history := []agent.Message{{Role: agent.RoleUser, Text: "An earlier question.", Turn: 1}, {Role: agent.RoleAssistant, Text: "An answer.", Turn: 1}}
		cfg := config(func(c *agent.Config) { c.Mode, c.Explain = mode, true })
		_, ev := must(t, cfg, m, newBox().says("echo", "hello from the tool").loads(), history, "What does it say?")
		offered, rounds, budgets := of[agent.Offered](ev), of[agent.RoundEnd](ev), of[agent.Budget](ev)
		if len(offered) != 1 || len(offered[0].Tools) != 2 || offered[0].Tools[0].Name != "echo" || offered[0].Tools[0].Tokens <= 0 {
			t.Errorf("%s: offered %+v", mode, offered)
		}
		if len(rounds) != 2 || rounds[0].Round != 1 || rounds[0].Calls != 1 || rounds[1].Calls != 0 {
			t.Fatalf("%s: rounds %+v", mode, rounds)
		}
		for i, r := range rounds {
			if r.Sent.Total() != budgets[i].Tokens || r.Sent.System <= 0 || r.Sent.History <= 0 || r.Sent.Question <= 0 {
				t.Errorf("%s: round %d sent %+v of %d", mode, i+1, r.Sent, budgets[i].Tokens)
			}
			if has := r.Sent.Results > 0 && r.Sent.Replies > 0; has != (i == 1) {
				t.Errorf("%s: round %d sent %+v", mode, i+1, r.Sent)
			}
		}
	}
}

// Without Config.Explain the cost is not computed.
func TestToolsAreNotExplainedUnasked(t *testing.T) {
	_, ev := must(t, config(), replay.New(replay.Text("Four.")), newBox().says("echo", "hi"), nil, "How many?")
	if offered := of[agent.Offered](ev); len(offered) != 0 {
		t.Errorf("%+v", offered)
	}
}
