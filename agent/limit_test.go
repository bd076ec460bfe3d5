package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Every way to state max_tool_result_length, from the configuration to the text
// that the model reads, in both languages.
func TestMaxToolResultLength(t *testing.T) {
	b := newBox().says("dump", lines(1000, 40)) // about 50,000 characters
	b.specs[0].Output = tool.Limits{MaxChars: 30000, MaxLines: 2000}
	for _, c := range []struct {
		configured *int
		limit      int
		why        string
	}{
		{num(-1), 4000, "negative means 4,000"},
		{num(0), 4000, "0 means 4,000"},
		{num(1), 1000, "1 to 999 mean 1,000, for a notice would fill the rest"},
		{num(500), 1000, "in their middle"},
		{num(999), 1000, "at their end"},
		{num(1000), 1000, "as given"},
		{num(8000), 8000, "as given"},
		{nil, 4000, "absent, and the window is not known"},
	} {
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			m := replay.New(replay.Call("dump", `{"text":"x"}`), replay.Text("done"))
			turn, ev := must(t, config(func(cfg *agent.Config) { cfg.MaxToolResultLength, cfg.Locale = c.configured, l }), m, b, nil, "dump it")
			e := entries(turn.Messages)[0]
			if start := of[agent.TurnStart](ev)[0]; start.Limit != c.limit {
				t.Errorf("%s: %d characters in force, want %d", c.why, start.Limit, c.limit)
			}
			told, end := of[agent.CallEnd](ev)[0].Text, of[agent.CallEnd](ev)[0].Result
			if end.Shown.By != tool.LayerAgent || end.Shown.Limit != c.limit || end.Shown.TotalChars < 45000 {
				t.Errorf("%s: cut by %q at %d of %d", c.why, end.Shown.By, end.Shown.Limit, end.Shown.TotalChars)
			}
			seen := between(t, lastText(m, 1), "<tool_result ", "</tool_result>")
			if n := utf8.RuneCountInString(seen); n > c.limit || n < c.limit*7/10 {
				t.Errorf("%s, %s: the model sees %d characters, want nearly %d", c.why, l, n, c.limit)
			}
			if told == "" || !strings.Contains(seen, strings.TrimSuffix(told, "\n")) {
				t.Errorf("%s, %s: the model sees %q, and observers are told %q", c.why, l, seen, told)
			}
			if !e.Folded || turn.Answer != "done" {
				t.Errorf("%s: folded %v, answer %q", c.why, e.Folded, turn.Answer)
			}
		}
	}
}

// A long result under a low limit still ends in an answer: the model sees that
// it was cut, by whom, and how to read the rest, and reads it.
func TestLowLimitStillEndsInAnAnswer(t *testing.T) {
	whole := lines(500, 40) + "the secret is 4711\n" + lines(500, 40)
	for l, names := range map[tool.Locale][]string{
		tool.En: {"agent's limit of 2,000", "load_tool_history(uuid="},
		tool.Zh: {"智能体", "2000", "截断了", "结果已截断，原始长度: ", "load_tool_history(uuid="},
	} {
		b := newBox().says("dump", whole).loads()
		m := replay.Func(func(n int, r agent.Request) replay.Reply {
			last := r.Messages[len(r.Messages)-1].Text
			switch {
			case n == 0:
				return replay.Call("dump", `{"text":"x"}`)
			case strings.Contains(last, "the secret is 4711"):
				return replay.Text("It is 4711.")
			}
			seen := between(t, last, "<tool_result ", "</tool_result>")
			for _, name := range names {
				if !strings.Contains(seen, name) {
					t.Errorf("the notice lacks %q:\n%s", name, seen)
				}
			}
			return replay.Call("load_tool_history", fmt.Sprintf(`{"uuid":%q}`, between(t, seen, `load_tool_history(uuid="`, `"`)))
		})
		turn, ev := must(t, config(func(cfg *agent.Config) { cfg.MaxToolResultLength, cfg.Locale = num(2000), l; cfg.LoadChars = 60000 }), m, b, nil, "What is the secret?")
		if turn.Answer != "It is 4711." || turn.Reason != agent.ReasonAnswer || turn.Stats.Rounds != 3 {
			t.Errorf("%s: answer %q by %s after %d rounds", l, turn.Answer, turn.Reason, turn.Stats.Rounds)
		}
		if end := of[agent.CallEnd](ev)[0].Result; end.Shown.By != tool.LayerAgent || strings.Contains(end.Shown.Text, "4711") {
			t.Errorf("%s: cut by %q", l, end.Shown.By)
		}
	}
}

// The share of a round cuts a result of which the host showed more than the tool's usual
// limit, for this agent.
func TestRoundCutsAnOpenEndedResult(t *testing.T) {
	whole := lines(400, 40)
	b := newBox().says("dump", whole)
	b.specs[0].Output = tool.Limits{MaxChars: 3000, MaxLines: 50, OpenEnded: true}
	b.shows = tool.Limits{MaxChars: 16000, MaxLines: 500}
	m := replay.New(replay.Call("dump", `{"text":"x"}`), replay.Text("done"))
	_, ev := must(t, config(func(cfg *agent.Config) { cfg.MaxToolResultLength, cfg.RoundChars = num(16000), num(9000) }), m, b, nil, "dump it")
	end := of[agent.CallEnd](ev)[0].Result
	if n := utf8.RuneCountInString(end.Shown.Text); end.Shown.By != tool.LayerRound || n < 6500 || n > 9000 {
		t.Errorf("%d characters by %q at %d, want nearly 9,000 by the round", n, end.Shown.By, end.Shown.Limit)
	}
	if got := b.calls[0].MaxChars; got != 16000 {
		t.Errorf("the call has the limit %d", got)
	}
}

// The agent's limit and the round's share cut between two entries too, and say how many
// are shown.
func TestEntriesAreCountedUnderEachLimit(t *testing.T) {
	b := newBox().says("dump", lines(400, 40))
	b.entries = &tool.Entries{}
	for n := 1; n <= 400; n += 4 {
		b.entries.Lines = append(b.entries.Lines, n)
	}
	for layer, round := range map[tool.Layer]int{tool.LayerAgent: 0, tool.LayerRound: 2500} {
		m := replay.New(replay.Call("dump", `{"text":"x"}`), replay.Text("done"))
		_, ev := must(t, config(func(cfg *agent.Config) { cfg.MaxToolResultLength, cfg.RoundChars = num(4000), num(round) }), m, b, nil, "dump it")
		end := of[agent.CallEnd](ev)[0]
		v := end.Result.Shown
		if _, n := limit.Count(v.Text[:v.Gaps[0].At]); v.By != layer || n%4 != 0 || v.TotalEntries != 100 || v.ShownEntries == 0 || v.ShownEntries >= 100 {
			t.Errorf("%s: %d of %d entries, by %q after %d lines", layer, v.ShownEntries, v.TotalEntries, v.By, n)
		}
		if want := fmt.Sprintf("[%d of 100 results shown whole; ", v.ShownEntries); !strings.Contains(end.Text, want) {
			t.Errorf("%s: no %q in %s", layer, want, end.Text)
		}
	}
}

// One result, in Chinese too, is shown up to the limit that suits the window, and ends in an
// answer: a share is for several. Where the prompt leaves no room, the room decides.
func TestOneResultReachesTheLimitOfItsWindow(t *testing.T) {
	zh := strings.Repeat("水坝上游的水位在清晨缓慢上涨，值班员每小时记录一次读数，并与下游的测站核对。\n", 400)
	for _, c := range []struct {
		window, limit int
		l             tool.Locale
		whole         string
	}{
		{2500, 1500, tool.Zh, zh}, {4000, 2500, tool.Zh, zh}, {8000, 5000, tool.Zh, zh}, {32_000, 12_000, tool.Zh, zh}, {4000, 2500, tool.En, lines(900, 40)}, {8000, 5000, tool.En, lines(900, 40)},
	} {
		b := newBox().says("dump", c.whole)
		b.specs[0].Output = tool.Limits{MaxChars: 30000, MaxLines: 2000}
		m := replay.New(replay.Call("dump", `{"text":"x"}`), replay.Text("done"))
		turn, ev := must(t, config(func(cfg *agent.Config) { cfg.Window, cfg.Locale = c.window, c.l }), m, b, nil, "go")
		end := of[agent.CallEnd](ev)[0]
		if n := utf8.RuneCountInString(end.Text); end.Result.Shown.By != tool.LayerAgent || n > c.limit || n < c.limit*9/10 {
			t.Errorf("window %d, %s: the model reads %d characters by %q, want nearly %d by the agent", c.window, c.l, n, end.Result.Shown.By, c.limit)
		}
		if turn.Reason != agent.ReasonAnswer {
			t.Errorf("window %d, %s: reason %s", c.window, c.l, turn.Reason)
		}
	}
}

// between returns what is in s after from, up to the next to. A tag ends
// with its line.
func between(t *testing.T, s, from, to string) string {
	t.Helper()
	_, s, ok := strings.Cut(s, from)
	s, _, closed := strings.Cut(s, to)
	if !ok || !closed {
		t.Fatalf("%q and %q are not there", from, to)
	}
	if strings.HasSuffix(from, " ") {
		_, s, _ = strings.Cut(s, "\n")
	}
	return strings.TrimSuffix(s, "\n")
}

// The reply as it came, with the marks of its calls, is in the event if it is asked for.
func TestRawReply(t *testing.T) {
	b := newBox().says("dump", "short")
	for _, raw := range []bool{true, false} {
		m := replay.New(replay.Text("So:\n```tool_call\n{\"tool_name\":\"dump\",\"arguments\":{\"text\":\"x\"}}\n```"), replay.Text("done"))
		_, ev := must(t, config(func(cfg *agent.Config) { cfg.Raw = raw }), m, b, nil, "dump it")
		got := of[agent.RoundEnd](ev)[0].Raw
		if strings.Contains(got, "```tool_call") != raw || !raw && got != "" {
			t.Errorf("raw %v: %q", raw, got)
		}
	}
}
