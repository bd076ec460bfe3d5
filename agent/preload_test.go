package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// What the person wants loaded is after the question when the model is
// asked first, for this turn alone.
func TestPreload(t *testing.T) {
	b := newBox().says("dump", "needle "+strings.Repeat("x", 20_000)).loads()
	turn, _ := must(t, config(), replay.New(replay.Call("dump", `{"text":"a"}`), replay.Text("done")), b, nil, "dump it")
	ref := turn.Messages[2].Results[0].Ref
	load := tool.Call{ID: "call_001", Tool: "load_tool_history", Args: json.RawMessage(`{"uuid":"` + ref.UUID + `"}`)}
	for _, mode := range []agent.Mode{agent.ModePrompt, agent.ModeNative} {
		m := replay.New(replay.Text("it is a needle"))
		next, ev := must(t, config(func(c *agent.Config) {
			c.Mode, c.Preload = mode, []tool.Call{load, {Tool: "nobody", Args: json.RawMessage(`{}`)}}
		}), m, b, turn.Messages, "what was it?")
		if len(m.Requests()) != 1 || !strings.Contains(lastText(m, 0), "needle") || next.Answer != "it is a needle" || next.Stats.Calls != 1 {
			t.Errorf("%s: %d requests, %d calls, the first says %.200q", mode, len(m.Requests()), next.Stats.Calls, lastText(m, 0))
		}
		if s := of[agent.CallStart](ev); len(s) != 1 || s[0].Format != "preload" || s[0].Call.ID == "call_001" || s[0].Call.Turn != 2 {
			t.Errorf("%s: starts %+v", mode, s)
		}
		for i, msg := range next.Messages {
			for _, e := range msg.Results {
				if strings.Contains(e.Text, "needle "+strings.Repeat("x", 1000)) {
					t.Errorf("%s: message %d still holds the text when the turn is over", mode, i)
				}
			}
		}
	}
}

// Fits returns what fits of loads before the question is asked, and is what the model is
// shown when it is.
func TestFits(t *testing.T) {
	b := newBox().says("dump", strings.Repeat("needle in hay. ", 20_000)).says("note", strings.Repeat("a note. ", 200)).loads()
	turn, _ := must(t, config(), replay.New(replay.Text(replay.Call("dump", `{"text":"a"}`).Text+replay.Call("note", `{"text":"a"}`).Text), replay.Text("done")), b, nil, "dump it")
	var calls []tool.Call
	var results []tool.Result
	for _, e := range turn.Messages[2].Results {
		calls = append(calls, tool.Call{Tool: "load_tool_history", Args: json.RawMessage(`{"uuid":"` + e.Ref.UUID + `"}`)})
		res, err := b.Call(t.Context(), calls[len(calls)-1])
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, res)
	}
	for _, mode := range []agent.Mode{agent.ModePrompt, agent.ModeNative} {
		cfg := config(func(c *agent.Config) { c.Mode, c.Window, c.Preload = mode, 32_768, calls })
		loop, err := agent.New(cfg, replay.New(), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		fits := loop.Fits(t.Context(), turn.Messages, "what was it?", calls, results)
		_, ev := must(t, cfg, replay.New(replay.Text("a needle")), b, turn.Messages, "what was it?")
		var shown []int
		for _, e := range of[agent.CallEnd](ev) {
			n, _ := limit.Count(e.Result.Shown.Text)
			shown = append(shown, n)
		}
		if !slices.Equal(fits, shown) || fits[0] < 10_000 || fits[0] > 200_000 || fits[1] != 1600 {
			t.Errorf("%s: %d characters should fit, %d are shown", mode, fits, shown)
		}
	}
}

// Without tools nothing can be loaded, and the question is asked all the same.
func TestPreloadWithoutTools(t *testing.T) {
	m := replay.New(replay.Text("hello"))
	turn, ev := must(t, config(func(c *agent.Config) {
		c.EnableToolCalling, c.Preload = false, []tool.Call{{Tool: "load_tool_history", Args: json.RawMessage(`{}`)}}
	}), m, nil, nil, "hi")
	if turn.Answer != "hello" || len(of[agent.CallStart](ev)) != 0 {
		t.Errorf("answer %q", turn.Answer)
	}
}
