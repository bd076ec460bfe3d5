package agent_test

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// An identical result is once in a turn, and in the next turn once more,
// where it is named as the one of before.
func TestIdenticalResultsAreShownOnceATurn(t *testing.T) {
	for l, line := range map[tool.Locale]string{tool.En: "[Identical to the result of 2026-01-02 03:04:05", tool.Zh: "[结果相同: 与"} {
		b := newBox().says("dump", lines(400, 30))
		dump := replay.Call("dump", `{"text":"a"}`)
		m := replay.New(dump, dump, replay.Text("done"), dump, replay.Text("done"))
		cfg := config(func(c *agent.Config) { c.Locale = l; c.Parallel = 1 })
		turn, ev := must(t, cfg, m, b, nil, "go")
		e := entries(turn.Messages)
		seen := lastText(m, 2)
		if strings.Contains(seen, "line 1 ") || strings.Count(seen, line) != 1 || strings.Count(seen, `load_tool_history(uuid="`+e[0].Ref.UUID+`")`) != 1 {
			t.Errorf("%s: the round is told as\n%s", l, seen)
		}
		if !e[0].Folded || e[1].Folded || e[1].Ref.UUID != e[0].Ref.UUID {
			t.Errorf("%s: folded %v and %v", l, e[0].Folded, e[1].Folded)
		}
		end := of[agent.CallEnd](ev)[1].Result
		if !end.Repeat || end.Shown.Text != "" || end.Shown.TotalChars == 0 || end.Shown.Cut() {
			t.Errorf("%s: the event tells %+v", l, end.Shown)
		}
		if turn.Stats.KeptChars != e[0].Ref.Chars {
			t.Errorf("%s: %d characters were kept, of one result of %d", l, turn.Stats.KeptChars, e[0].Ref.Chars)
		}
		must(t, cfg, m, b, turn.Messages, "again")
		if seen := lastText(m, 4); strings.Count(seen, "line 1 ") != 1 || strings.Count(seen, line) != 1 {
			t.Errorf("%s: the next turn is told\n%s", l, seen)
		}
		if len(b.archive) != 1 {
			t.Errorf("%d copies are archived", len(b.archive))
		}
	}
}

// A text that folded in mid-turn is not in front of the model any more.
func TestRepeatOfWhatFoldedIsShownAgain(t *testing.T) {
	full := replay.Reply{Err: &agent.ModelError{Code: agent.ModelWindow, Model: "m", Msg: "prompt too long"}}
	b := newBox().says("dump", lines(100, 40)).says("other", lines(100, 40))
	m := replay.New(replay.Call("dump", `{"text":"1"}`), replay.Call("other", `{"text":"2"}`), full, replay.Call("dump", `{"text":"1"}`), replay.Text("done"))
	turn, _ := must(t, config(), m, b, nil, "go")
	e := entries(turn.Messages)
	if !e[0].Folded || !strings.Contains(e[2].Text, "line 1 ") {
		t.Errorf("folded %v, then\n%.200s", e[0].Folded, e[2].Text)
	}
}
