package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// One conversation that loads the same result again and again, and pins it at
// last. The counts of every turn are those of its Stats and of its last event.
func TestFaultsAreCountedAndPinningIsSuggested(t *testing.T) {
	for l, hint := range map[tool.Locale]string{tool.En: "in %d of the last 5 turns", tool.Zh: "最近 5 轮中有 %d 轮"} {
		b := newBox().says("dump", lines(600, 30)).loads()
		cfg := config(func(c *agent.Config) { c.Locale = l })
		turn, _ := must(t, cfg, replay.New(replay.Call("dump", `{"text":"a"}`), replay.Text("done")), b, nil, "go")
		uuid := entries(turn.Messages)[0].Ref.UUID
		load := func(more string) replay.Reply {
			return replay.Call("load_tool_history", fmt.Sprintf(`{"uuid":%q%s}`, uuid, more))
		}
		for _, row := range []struct {
			calls []replay.Reply
			want  agent.Faults
			told  int  // turns that the hint names; 0: no hint
			there bool // the text is among what is sent last
			why   string
		}{
			{[]replay.Reply{load("")}, agent.Faults{Faults: 1}, 0, true, "the first load is a fault and no more"},
			{nil, agent.Faults{}, 0, false, "it has left"},
			{[]replay.Reply{load(""), load(`,"offset":100`)}, agent.Faults{Faults: 2, Refaults: 2}, 0, true, "it had left and is loaded again, in two parts"},
			{[]replay.Reply{load("")}, agent.Faults{Faults: 1, Refaults: 1, Thrash: 1}, 3, true, "the third turn of five"},
			{[]replay.Reply{load(""), load(`,"offset":9`)}, agent.Faults{Faults: 2, Refaults: 2, Thrash: 1}, 4, true, "one result thrashes once a turn"},
			{[]replay.Reply{load(`,"keep_turns":3`)}, agent.Faults{Faults: 1, Refaults: 1, Thrash: 1}, 0, true, "who pins it is not told to"},
			{nil, agent.Faults{}, 0, true, "pinned, its second turn"},
			{nil, agent.Faults{}, 0, true, "its third"},
			{nil, agent.Faults{}, 0, false, "over"},
			{nil, agent.Faults{}, 0, false, "still over"},
			{[]replay.Reply{load("")}, agent.Faults{Faults: 1, Refaults: 1}, 0, true, "the loads of long ago do not count"},
		} {
			m := replay.New(append(row.calls, replay.Text("ok"))...)
			next, ev := must(t, cfg, m, b, turn.Messages, "and now?")
			turn = next
			if next.Stats.Faults != row.want || of[agent.TurnEnd](ev)[0].Faults != row.want {
				t.Errorf("%s: %+v, want %+v", row.why, next.Stats.Faults, row.want)
			}
			sent := m.Requests()[len(m.Requests())-1].Messages
			if containsText(sent, "line 600 ") != row.there {
				t.Errorf("%s: the text is sent: %v", row.why, !row.there)
			}
			told := fmt.Sprintf(hint, row.told)
			last := sent[len(sent)-1].Text
			if strings.Contains(last, "keep_turns=n") != (row.told > 0) || row.told > 0 && !strings.Contains(last, told) {
				t.Errorf("%s: the model is told\n%s", row.why, last[max(0, len(last)-400):])
			}
		}
		if len(b.archive) != 1 {
			t.Errorf("%d results are archived", len(b.archive))
		}
	}
}

// The hint is inside the load's own bound.
func TestPinningHintStaysInTheLoadsBound(t *testing.T) {
	b := newBox().loads()
	b.archive["u1"] = lines(600, 30)
	cfg := config(func(c *agent.Config) { c.LoadChars = 3000 })
	var turn agent.Turn
	for i := range 4 {
		turn, _ = must(t, cfg, replay.New(replay.Call("load_tool_history", `{"uuid":"u1"}`), replay.Text("ok")), b, turn.Messages, "go")
		m := replay.New(replay.Call("load_tool_history", `{"uuid":"u1"}`), replay.Text("ok"))
		must(t, cfg, m, b, turn.Messages, "again")
		seen := between(t, lastText(m, 1), "<tool_result ", "</tool_result>")
		if n := utf8.RuneCountInString(seen); n > 3000 || n < 2700 || strings.Contains(seen, "keep_turns") != (i > 0) {
			t.Errorf("after %d turns: %d characters, told %v", i+1, n, strings.Contains(seen, "keep_turns"))
		}
	}
}
