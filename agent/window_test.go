package agent_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

func num(n int) *int { return &n }

// entries are all results of a turn, in order.
func entries(msgs []agent.Message) []agent.ResultEntry {
	var out []agent.ResultEntry
	for _, m := range msgs {
		out = append(out, m.Results...)
	}
	return out
}

func TestAgentLimit(t *testing.T) {
	whole := lines(1000, 40) // about 50,000 characters
	for _, c := range []struct {
		name       string
		configured *int
		window     int
		most       int
		layer      tool.Layer
	}{
		{"absent, window unknown", nil, 0, 4000, tool.LayerAgent},
		{"absent, 8K window: by the steps", nil, 8192, 5000, tool.LayerAgent},
		{"absent, 2K window", nil, 2048, 1500, tool.LayerAgent},
		{"0 means 4,000", num(0), 0, 4000, tool.LayerAgent},
		{"negative means 4,000", num(-1), 0, 4000, tool.LayerAgent},
		{"1 to 999 mean 1,000", num(500), 0, 1000, tool.LayerAgent},
		{"as given", num(2000), 0, 2000, tool.LayerAgent},
		{"higher than the tool's own limit changes nothing", num(20000), 0, 8000, tool.LayerTool},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := replay.New(replay.Call("dump", `{"text":"x"}`), replay.Text("done"))
			cfg := config(func(cfg *agent.Config) { cfg.MaxToolResultLength = c.configured; cfg.Window = c.window })
			turn, ev := must(t, cfg, m, newBox().says("dump", whole), nil, "dump it")
			end := of[agent.CallEnd](ev)[0].Result
			shown := utf8.RuneCountInString(end.Shown.Text)
			if shown > c.most || shown < c.most*7/10 || end.Shown.By != c.layer {
				t.Errorf("shown %d by %q, want at most %d by %q", shown, end.Shown.By, c.most, c.layer)
			}
			if turn.Answer != "done" {
				t.Errorf("answer %q", turn.Answer)
			}
		})
	}
}

func TestRoundIsShared(t *testing.T) {
	b := newBox().says("small", "tiny").says("big", lines(200, 30)).says("huge", lines(900, 30))
	group := replay.Call("small", `{"text":"a"}`).Text + replay.Call("big", `{"text":"b"}`).Text + replay.Call("huge", `{"text":"c"}`).Text
	for _, c := range []struct {
		name  string
		round *int
		total int
	}{
		{"a budget", num(6000), 6000},
		{"0: no bound, so the tools' own limits hold", num(0), 16100},
		{"under the least each: 1,000 stay", num(500), 2100},
		{"negative: the default", num(-5), 16100},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := replay.New(replay.Text(group), replay.Text("done"))
			_, ev := must(t, config(func(cfg *agent.Config) { cfg.RoundChars, cfg.MaxToolResultLength = c.round, num(8000) }), m, b, nil, "go")
			sum := 0
			for _, e := range of[agent.CallEnd](ev) {
				sum += utf8.RuneCountInString(e.Result.Shown.Text)
			}
			first := of[agent.CallEnd](ev)[0].Result
			if first.Shown.Text != "tiny" || sum > c.total || sum < c.total/2 {
				t.Errorf("together %d characters, want at most %d; the small one %q", sum, c.total, first.Shown.Text)
			}
		})
	}
}

func TestRoundBudgetFollowsTheWindow(t *testing.T) {
	b := newBox().says("a", lines(900, 30)).says("b", lines(900, 30)).says("c", lines(900, 30))
	group := replay.Call("a", `{"text":"1"}`).Text + replay.Call("b", `{"text":"2"}`).Text + replay.Call("c", `{"text":"3"}`).Text
	var before int
	for _, window := range []int{4096, 8192, 32768} {
		m := replay.New(replay.Text(group), replay.Text("done"))
		turn, ev := must(t, config(func(c *agent.Config) { c.Window = window }), m, b, nil, "go")
		sum := 0
		for _, e := range of[agent.CallEnd](ev) {
			sum += utf8.RuneCountInString(e.Result.Shown.Text)
		}
		if sum <= before || turn.Reason != agent.ReasonAnswer {
			t.Errorf("window %d: %d characters, the smaller window had %d; reason %s", window, sum, before, turn.Reason)
		}
		before = sum
	}
}

func TestFoldAtTheTurnsEnd(t *testing.T) {
	b := newBox().says("long", lines(600, 30)).says("middle", lines(60, 30)).says("short", "hi")
	group := replay.Call("long", `{"text":"a"}`).Text + replay.Call("middle", `{"text":"b"}`).Text + replay.Call("short", `{"text":"c"}`).Text
	cfg := config(func(cfg *agent.Config) { cfg.MaxToolResultLength = num(8000) })
	turn, ev := must(t, cfg, replay.New(replay.Text(group), replay.Text("done")), b, nil, "go")
	e := entries(turn.Messages)
	if !e[0].Folded || e[1].Folded || e[2].Folded {
		t.Fatalf("folded: %v %v %v; only the long one is over the threshold", e[0].Folded, e[1].Folded, e[2].Folded)
	}
	if want := agent.Placeholder(*e[0].Ref, "long", tool.En); e[0].Text != want {
		t.Errorf("placeholder\n%s\nwant\n%s", e[0].Text, want)
	}
	f := of[agent.Folded](ev)
	if len(f) != 1 || f[0].MidTurn || !slices.Equal(f[0].UUIDs, []string{e[0].Ref.UUID}) || f[0].SavedChars < 7000 {
		t.Errorf("folded events %+v", f)
	}
	if turn.Stats.KeptChars < 20000 || turn.Stats.ProducedChars < turn.Stats.ShownChars {
		t.Errorf("stats %+v", turn.Stats)
	}
	t.Run("frozen ever after", func(t *testing.T) {
		next, _ := must(t, config(), replay.New(replay.Text("ok")), b, turn.Messages, "and now?")
		if next.From != len(turn.Messages) {
			t.Errorf("the next turn changed messages from %d on, there were %d", next.From, len(turn.Messages))
		}
		if got := entries(next.Messages)[0].Text; got != e[0].Text {
			t.Errorf("the placeholder changed to\n%s", got)
		}
	})
	t.Run("negative threshold: nothing folds", func(t *testing.T) {
		turn, _ := must(t, config(func(c *agent.Config) { c.ArchiveThreshold = -1 }), replay.New(replay.Text(group), replay.Text("done")), b, nil, "go")
		if entries(turn.Messages)[0].Folded {
			t.Error("folded")
		}
	})
}

func TestLoadStaysItsTurnsAndIsNeverArchivedAgain(t *testing.T) {
	for _, keep := range []int{0, 1, 2, 3} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			cfg := config(func(c *agent.Config) { c.KeepTurns = keep })
			b := newBox().says("long", lines(600, 30)).loads()
			first, _ := must(t, cfg, replay.New(replay.Call("long", `{"text":"a"}`), replay.Text("done")), b, nil, "go")
			uuid := entries(first.Messages)[0].Ref.UUID
			history := first.Messages
			turns := 0
			for range 4 {
				script := []replay.Reply{replay.Text("ok")}
				if turns == 0 {
					script = []replay.Reply{replay.Call("load_tool_history", `{"uuid":"`+uuid+`"}`), replay.Text("ok")}
				}
				m := replay.New(script...)
				next, _ := must(t, cfg, m, b, history, "and before?")
				if got := m.Requests()[len(m.Requests())-1].Messages; !containsText(got, "line 600 ") {
					break
				}
				turns++
				history = next.Messages
			}
			if want := max(1, keep); turns != want {
				t.Errorf("the load was sent in %d turns, want %d", turns, want)
			}
			load := entries(history)[1]
			if len(b.archive) != 1 || !load.Folded || !strings.Contains(load.Text, uuid) || utf8.RuneCountInString(load.Text) > 200 {
				t.Errorf("%d archives; the load became %q", len(b.archive), load.Text)
			}
		})
	}
}

// A search in the archive is shown for its turn, under its own limit, and then
// leaves one line.
func TestSearchesLeaveALine(t *testing.T) {
	hits := ephemeral{newBox().says("search_tool_history", lines(100, 40))}
	first, _ := must(t, config(), replay.New(replay.Call("search_tool_history", `{"text":"a"}`), replay.Text("ok")), hits, nil, "go")
	e := entries(first.Messages)[0]
	if !e.Ephemeral || !e.Folded || !strings.Contains(e.Text, "search_tool_history") || utf8.RuneCountInString(e.Text) > 120 {
		t.Errorf("it became %q", e.Text)
	}
}

// ephemeral marks every result of a box as shown for its turn alone.
type ephemeral struct{ *box }

func (e ephemeral) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	r, err := e.box.Call(ctx, c)
	r.Ephemeral, r.Ref = true, nil
	return r, err
}

func containsText(msgs []agent.ChatMessage, s string) bool {
	return slices.ContainsFunc(msgs, func(m agent.ChatMessage) bool { return strings.Contains(m.Text, s) })
}

// The offsets that the notices name lead through the whole without a gap.
func TestPagesOfALoadJoinToTheWhole(t *testing.T) {
	whole := strings.Repeat("第一行 of 文本 with 👩‍💻\nand a second line\n", 700)
	b := newBox().loads()
	b.archive["u1"] = whole
	next := regexp.MustCompile(`offset=(\d+)\)\]`)
	m := replay.Func(func(n int, r agent.Request) replay.Reply {
		if n == 0 {
			return replay.Call("load_tool_history", `{"uuid":"u1"}`)
		}
		last := r.Messages[len(r.Messages)-1].Text
		if at := next.FindStringSubmatch(last); at != nil {
			return replay.Call("load_tool_history", `{"uuid":"u1","offset":`+at[1]+`}`)
		}
		return replay.Text("done")
	})
	turn, ev := must(t, config(func(c *agent.Config) { c.LoadChars = 5000 }), m, b, nil, "go")
	var got strings.Builder
	for _, e := range of[agent.CallEnd](ev) {
		got.WriteString(e.Result.Shown.Text)
	}
	if got.String() != whole || turn.Stats.Calls < 6 {
		t.Errorf("%d pages hold %d of %d bytes", turn.Stats.Calls, got.Len(), len(whole))
	}
}

func TestLoadIsBoundByTheRoomAlone(t *testing.T) {
	whole := lines(1000, 40)
	for _, c := range []struct {
		name         string
		window, load int
		least, most  int
	}{
		{"a large window takes all", 200_000, 0, len(whole), len(whole)},
		{"a small one pages", 8192, 0, 12_000, 45_000},
		{"an unknown one has pages of 32,768", 0, 0, 32_000, 32_768},
		{"load_chars bounds it", 200_000, 5000, 4000, 5000},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox().loads()
			b.archive["u1"] = whole
			cfg := config(func(cfg *agent.Config) {
				cfg.Window, cfg.LoadChars, cfg.MaxToolResultLength, cfg.RoundChars = c.window, c.load, num(1000), num(1000)
			})
			turn, ev := must(t, cfg, replay.New(replay.Call("load_tool_history", `{"uuid":"u1"}`), replay.Text("ok")), b, nil, "go")
			end := of[agent.CallEnd](ev)[0].Result
			if n := utf8.RuneCountInString(end.Shown.Text); n < c.least || n > c.most {
				t.Errorf("%d characters, want %d to %d", n, c.least, c.most)
			}
			if !strings.HasPrefix(whole, end.Shown.Text) {
				t.Error("a page is not the beginning of the whole")
			}
			if turn.Reason != agent.ReasonAnswer {
				t.Errorf("reason %s: a load took the room of the answer", turn.Reason)
			}
		})
	}
}

// A long turn in a small window folds its oldest results once the window is
// nearly full, and goes on.
func TestFoldInMidTurn(t *testing.T) {
	b := newBox().says("dump", lines(200, 40))
	script := make([]replay.Reply, 0, 13)
	for i := range 12 {
		script = append(script, replay.Call("dump", fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	m := replay.New(append(script, replay.Text("done"))...)
	turn, ev := must(t, config(func(c *agent.Config) { c.Window = 8192 }), m, b, nil, "go")
	var mid []agent.Folded
	for _, f := range of[agent.Folded](ev) {
		if f.MidTurn {
			mid = append(mid, f)
		}
	}
	if len(mid) == 0 || len(mid) > 6 || len(mid[0].UUIDs) < 2 {
		t.Errorf("%d folds in mid-turn, the first of %v; want a few, in batches", len(mid), mid)
	}
	if turn.Reason != agent.ReasonAnswer || turn.Answer != "done" {
		t.Errorf("reason %s, answer %q", turn.Reason, turn.Answer)
	}
	for i, e := range of[agent.Budget](ev) {
		if e.Tokens > e.Window*8/10 {
			t.Errorf("request %d has %d of %d tokens", i, e.Tokens, e.Window)
		}
	}
	if !entries(turn.Messages)[0].Folded {
		t.Error("the oldest result did not fold")
	}
	ends := of[agent.CallEnd](ev)
	for i, e := range ends {
		if first, now := len(ends[0].Result.Shown.Text), len(e.Result.Shown.Text); now < first/3 {
			t.Errorf("result %d shows %d characters, the first %d: the window was not cleared for it", i, now, first)
		}
	}
}

func TestWindowFullEndsWithAnAnswer(t *testing.T) {
	// Results without an archive cannot fold, so the window fills for good.
	b := newBox().says("dump", strings.Repeat("word ", 190))
	script := make([]replay.Reply, 0, 30)
	for i := range 30 {
		script = append(script, replay.Call("dump", fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	m := replay.Func(func(n int, r agent.Request) replay.Reply {
		if strings.Contains(r.Messages[len(r.Messages)-1].Text, "context window is full") {
			return replay.Text("what I have")
		}
		return script[n]
	})
	turn, _ := must(t, config(func(c *agent.Config) { c.Window = 2500; c.MaxToolCalls = 30 }), m, b, nil, "go")
	if turn.Reason != agent.ReasonWindow || turn.Answer != "what I have" {
		t.Errorf("reason %s, answer %q", turn.Reason, turn.Answer)
	}
}

func TestQuestionLargerThanTheWindow(t *testing.T) {
	turn, ev, err := ask(t, config(func(c *agent.Config) { c.Window = 2048 }), replay.New(), newBox(), nil, strings.Repeat("word ", 5000))
	if !agent.IsModelCode(err, agent.ModelWindow) || turn.Reason != agent.ReasonWindow || len(turn.Messages) != 1 {
		t.Errorf("err %v, reason %s", err, turn.Reason)
	}
	if len(of[agent.TurnEnd](ev)) != 1 {
		t.Error("the turn has no end")
	}
}

// A system prompt that may exceed the window is told once in a turn, whether or not the turn
// can go on.
func TestSystemPromptTooLongIsTold(t *testing.T) {
	zh := strings.Repeat("规则要求每个回答都说明来源。", 3012) // 42,168 characters
	for _, c := range []struct {
		name   string
		window int
		extra  string
		told   bool
	}{
		{"under the window, and over what the answer leaves", 2048, strings.Repeat("rule ", 1700), true},
		{"under the window, without room", 4096, strings.Repeat("rule ", 3300), true},
		{"the window is full before the question", 32_768, zh, true},
		{"far over the window", 8192, zh, true},
		{"the window is unknown", -1, zh, true},
		{"the window has room", 200_000, zh, false},
		{"short, and the window is unknown", -1, "rule", false},
	} {
		cfg := config(func(cfg *agent.Config) { cfg.Window, cfg.SystemExtra = c.window, c.extra })
		_, ev, _ := ask(t, cfg, replay.New(replay.Text("hi")), newBox(), nil, "hi")
		got := of[agent.LongPrompt](ev)
		if (len(got) == 1) != c.told || c.told && (got[0].Chars < len([]rune(c.extra)) || got[0].Tokens < 1000) {
			t.Errorf("%s: told %+v", c.name, got)
		}
	}
}

func TestProviderSaysTheWindowIsFull(t *testing.T) {
	full := replay.Reply{Err: &agent.ModelError{Code: agent.ModelWindow, Model: "m", Msg: "prompt too long"}}
	b := newBox().says("dump", lines(100, 40))
	m := replay.New(replay.Call("dump", `{"text":"1"}`), replay.Call("dump", `{"text":"2"}`), full, replay.Text("fits now"))
	turn, _ := must(t, config(), m, b, nil, "go")
	if turn.Answer != "fits now" || !entries(turn.Messages)[0].Folded || entries(turn.Messages)[1].Folded {
		t.Errorf("answer %q; only the result that was read should have folded", turn.Answer)
	}
	if turn, _, err := ask(t, config(), replay.New(full), b, nil, "go"); !agent.IsModelCode(err, agent.ModelWindow) || turn.Reason != agent.ReasonWindow {
		t.Errorf("nothing to fold: %v, %s", err, turn.Reason)
	}
}

// flat writes a request as the bytes that a provider's cache would see.
func flat(r agent.Request) string {
	var b strings.Builder
	b.WriteString(r.System)
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "\x00%s\x00%s\x00%v\x00%s", m.Role, m.CallID, m.Calls, m.Text)
	}
	return b.String()
}

func TestRequestsOnlyGrowWithinATurn(t *testing.T) {
	native := true
	for _, mode := range []agent.Mode{agent.ModePrompt, agent.ModeNative} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBox().says("long", lines(600, 30)).says("short", "hi")
			call := func(name string, i int) replay.Reply {
				if mode == agent.ModeNative {
					return replay.Reply{Calls: []tool.Call{{ID: fmt.Sprint("n", i), Tool: name, Args: []byte(fmt.Sprintf(`{"text":"%d"}`, i))}}}
				}
				return replay.Call(name, fmt.Sprintf(`{"text":"%d"}`, i))
			}
			bad := call("nope", 0)
			script := []replay.Reply{call("short", 1), call("long", 2), bad, call("short", 3), replay.Text("first answer"), call("short", 4), replay.Text("second answer")}
			m := replay.New(script...).Describing(agent.ModelInfo{NativeTools: &native})
			cfg := config(func(c *agent.Config) { c.Mode = mode })
			first, _ := must(t, cfg, m, b, nil, "one")
			must(t, cfg, m, b, first.Messages, "two")
			reqs := m.Requests()
			for i := 1; i < 5; i++ {
				if !strings.HasPrefix(flat(reqs[i]), flat(reqs[i-1])) {
					t.Errorf("request %d does not begin with request %d:\n%s\n--- was ---\n%s", i, i-1, flat(reqs[i]), flat(reqs[i-1]))
				}
			}
			// The second turn differs from the message on that folded.
			old, now := reqs[4], reqs[5]
			folded := slices.IndexFunc(now.Messages, func(m agent.ChatMessage) bool { return strings.Contains(m.Text, "📎") })
			if folded < 1 {
				t.Fatalf("nothing folded in %d messages", len(now.Messages))
			}
			for i := range old.Messages {
				same := old.Messages[i].Text == now.Messages[i].Text
				if i < folded && !same {
					t.Errorf("message %d changed, in front of the fold at %d", i, folded)
				}
				if i > folded && !same && old.Messages[i].Role != "user" {
					t.Errorf("message %d changed behind the fold at %d", i, folded)
				}
			}
			if now.System != old.System {
				t.Error("the system prompt changed")
			}
		})
	}
}

func TestMemoryIsDroppedInBatches(t *testing.T) {
	cfg := config(func(c *agent.Config) { c.MemoryLimit = 10 })
	var history []agent.Message
	var sent []int
	for i := range 12 {
		m := replay.New(replay.Text(fmt.Sprint("answer ", i)))
		turn, _ := must(t, cfg, m, newBox(), history, fmt.Sprint("question ", i))
		history = turn.Messages
		sent = append(sent, len(m.Requests()[0].Messages)-1)
	}
	// 0, 2, … 10; then half is dropped at once, and it grows again.
	if want := []int{0, 2, 4, 6, 8, 10, 4, 6, 8, 10, 4, 6}; !slices.Equal(sent, want) {
		t.Errorf("messages sent %v, want %v", sent, want)
	}
	if len(history) != 24 {
		t.Errorf("%d messages stored: what is not sent must not be lost", len(history))
	}
	m := replay.New(replay.Text("x"))
	must(t, config(func(c *agent.Config) { c.EnableMemory = false }), m, newBox(), history, "q")
	if n := len(m.Requests()[0].Messages); n != 1 {
		t.Errorf("without memory %d messages are sent", n)
	}
	m = replay.New(replay.Text("x"))
	must(t, config(func(c *agent.Config) { c.MemoryLimit = -1 }), m, newBox(), history, "q")
	if n := len(m.Requests()[0].Messages); n != 25 {
		t.Errorf("negative: %d messages are sent, want all 25", n)
	}
}

func TestALongConversationStaysInTheWindow(t *testing.T) {
	var history []agent.Message
	for i := range 30 {
		m := replay.New(replay.Text(strings.Repeat("many words ", 80)))
		turn, ev := must(t, config(func(c *agent.Config) { c.Window = 4096 }), m, newBox(), history, fmt.Sprint("question ", i))
		history = turn.Messages
		if b := of[agent.Budget](ev)[0]; b.Tokens > b.Window*8/10 {
			t.Fatalf("turn %d: %d of %d tokens", i, b.Tokens, b.Window)
		}
	}
}

func TestChineseTurn(t *testing.T) {
	b := newBox().says("dump", strings.Repeat("这是第一行的内容，用来填满结果。\n", 900)).says("echo", "你好")
	m := replay.New(replay.Text(replay.Call("dump", `{"text":"a"}`).Text+replay.Call("echo", `{"text":"b"}`).Text), replay.Text("完成"), replay.Text("done"))
	turn, ev := must(t, config(), m, b, nil, "把内容全部列出来")
	if l := of[agent.TurnStart](ev)[0].Locale; l != tool.Zh {
		t.Errorf("locale %q", l)
	}
	if got := lastText(m, 1); !strings.Contains(got, "以下是工具 dump、echo 的结果，请基于这些结果回答") || !strings.Contains(got, "截断了") {
		t.Errorf("the results are told as\n%s", firstChars(got, 300))
	}
	if e := entries(turn.Messages)[0]; !strings.HasPrefix(e.Text, "📎 [工具结果存档: ") {
		t.Errorf("folded into %s", e.Text)
	}
	// A question in English leaves the conversation's system prompt alone.
	_, ev = must(t, config(), m, b, turn.Messages, "And in English?")
	if reqs := m.Requests(); reqs[2].System != reqs[0].System || of[agent.TurnStart](ev)[0].Locale != tool.En {
		t.Error("the system prompt changed with the language of the question")
	}
}

func TestFixedLocaleWins(t *testing.T) {
	m := replay.New(replay.Text("x"))
	_, ev := must(t, config(func(c *agent.Config) { c.Locale = tool.Zh }), m, newBox(), nil, "hello there")
	if of[agent.TurnStart](ev)[0].Locale != tool.Zh || !strings.Contains(m.Requests()[0].System, "今天是 2026-11-21") {
		t.Error("the configured language is not used")
	}
}

func TestCalibrationComesFromUsage(t *testing.T) {
	est := new(agent.Estimator)
	cfg := config(func(c *agent.Config) { c.Estimator = est; c.Window = 32768 })
	before := est.Tokens("a text of some words")
	_, ev := must(t, cfg, replay.New(replay.Reply{Text: "hi", Usage: &agent.Usage{Prompt: 5000, Completion: 1}}), newBox().says("echo", "x"), nil, "hello")
	_, again := must(t, cfg, replay.New(replay.Text("hi")), newBox().says("echo", "x"), nil, "hello")
	if est.Tokens("a text of some words") <= before || of[agent.Budget](again)[0].Tokens <= of[agent.Budget](ev)[0].Tokens {
		t.Error("the estimate did not learn from the usage")
	}
}
