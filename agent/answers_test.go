package agent_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// spoken are replies that speak of the tool and call nothing, where the provider has its
// own tool calling.
var spoken = []string{
	"Use the tool like this: echo(text=\"6*7\").\n\nThat is how it works. My real answer is 99.",
	"Here is the code:\n\n```python\necho(text=\"6*7\")\n```\n\nMy real answer is 99.",
	"The command is below:\n\necho(text=\"6*7\")\n\nMy real answer is 99.",
	"{\"name\": \"echo\", \"arguments\": {\"text\": \"6*7\"}}\n\nThis JSON is what the API wants. My real answer is 99.",
	"<tool_call>{\"name\":\"echo\",\"arguments\":{\"text\":\"6*7\"}}</tool_call> is the Hermes format you asked about. My real answer is 99.",
	"You could also run echo(text=\"6*7\") yourself. My real answer is 99.",
	"I ran echo(text=\"6*7\") and got 42. My real answer is 99.",

	// Alone at the end, but without a marked format, or as an example.
	"My real answer is 99. The call:\n\n```tool_call\n{\"name\":\"echo\",\"arguments\":{\"text\":\"6*7\"}}\n```",
	"My real answer is 99. I would call:\n{\"name\":\"echo\",\"arguments\":{\"text\":\"6*7\"}}",
	"My real answer is 99.\n\nAction: echo\nAction Input: {\"text\":\"6*7\"}",
	"My real answer is 99. In the Hermes format, for example: <tool_call>{\"name\":\"echo\",\"arguments\":{\"text\":\"6*7\"}}</tool_call>",
	"My real answer is 99. The tag is `<tool_call>`.",
	"My real answer is 99.\n<tool_call>{\"name\":\"echo\",\"arguments\":{\"text\":\"6*7\"}}",
	"My real answer is 99.\n<tool_call>{\"name\":\"ecko\",\"arguments\":{\"text\":\"6*7\"}}</tool_call>",
	"My real answer is 99.\n<tool_call>{\"name\":\"echo\",\"arguments\":{\"text\":\"1\"}}</tool_call><tool_call>{\"name\":\"echo\",\"arguments\":{\"text\":\"2\"}}</tool_call>",
	"我的答案是 99。调用方式如下：echo(text=\"6*7\")",
}

// With native calling, text is text: all of it reaches the person, is stored and is what
// the model reads of its own reply.
func TestTextIsTextWithNativeCalling(t *testing.T) {
	for _, text := range spoken {
		b := newBox().says("echo", "42")
		m := describing(replay.New(replay.Text(text), replay.Text("ok")), true)
		turn, ev := must(t, config(), m, b, nil, "go")
		if got := b.called(); len(got) > 0 {
			t.Errorf("%q: it calls %v", text, got)
			continue
		}
		if ev.text() != text || turn.Answer != text || turn.Messages[1].Text != text || len(m.Requests()) != 1 {
			t.Errorf("%q:\nshown  %q\nanswer %q\nstored %q, %d requests", text, ev.text(), turn.Answer, turn.Messages[1].Text, len(m.Requests()))
		}
	}
}

// What still runs: one complete call in marks, alone at the end.
func TestALeakedCallRunsWithNativeCalling(t *testing.T) {
	const object = `{"name": "echo", "arguments": {"text": "x"}}`
	for _, call := range []string{
		"<tool_call>" + object + "</tool_call>",
		"<tool_call>\n<function=echo>\n<parameter=text>\nx\n</parameter>\n</function>\n</tool_call>",
		"<function=echo>\n<parameter=text>x</parameter>\n</function>",
		"<tool_call>echo\n<arg_key>text</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>echo<｜tool▁sep｜>{\"text\": \"x\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.echo:0<|tool_call_argument_begin|>{\"text\": \"x\"}<|tool_call_end|><|tool_calls_section_end|>",
		"<|channel|>commentary to=functions.echo <|constrain|>json<|message|>{\"text\": \"x\"}<|call|>",
		"<|START_ACTION|>[{\"tool_name\": \"echo\", \"parameters\": {\"text\": \"x\"}}]<|END_ACTION|>",
		"[TOOL_REQUEST]" + object + "[END_TOOL_REQUEST]",
		"<function_calls><invoke name=\"echo\"><parameter name=\"text\">x</parameter></invoke></function_calls>",
	} {
		for _, before := range []string{"", "I look it up.\n", "我来查询。"} {
			b := newBox().says("echo", "42")
			m := describing(replay.New(replay.Text(before+call), replay.Text("ok")), true)
			turn, ev := must(t, config(), m, b, nil, "go")
			want := strings.TrimSpace(strings.TrimSpace(before) + "\n\nok")
			if got := b.called(); len(got) != 1 || got[0] != `echo{"text":"x"}` && got[0] != `echo{"text": "x"}` || turn.Answer != "ok" || strings.Join(strings.Fields(ev.text()), " ") != strings.Join(strings.Fields(want), " ") {
				t.Errorf("%q: called %v, shown %q", before+call, got, ev.text())
			}
		}
	}
}

// With a native call in the reply, a call in its text is text.
func TestNativeAndTextCallsInOneReply(t *testing.T) {
	const text = "I call it. <tool_call>{\"name\":\"echo\",\"arguments\":{\"text\":\"2\"}}</tool_call>"
	b := newBox().says("echo", "42")
	m := describing(replay.New(replay.Reply{Text: text, Calls: []tool.Call{{ID: "a", Tool: "echo", Args: json.RawMessage(`{"text":"1"}`)}}}, replay.Text("ok")), true)
	turn, ev := must(t, config(), m, b, nil, "go")
	if got := b.called(); len(got) != 1 || turn.Messages[1].Text != text || ev.text() != text+"\n\nok" {
		t.Errorf("called %v, stored %q, shown %q", got, turn.Messages[1].Text, ev.text())
	}
}

// In every mode the text around calls is shown and stored, apart from what follows.
func TestTextAroundCalls(t *testing.T) {
	const one, two = `<tool_call>{"id":"a","tool_name":"echo","arguments":{"text":"1"}}</tool_call>`, `<tool_call>{"id":"b","tool_name":"echo","arguments":{"text":"2"}}</tool_call>`
	for _, c := range []struct{ why, reply, shown, stored, thought string }{
		{"before", "好的" + one, "好的\n\n三", "好的", ""},
		{"before, with a line's end", "好的\n" + one, "好的\n\n三", "好的", ""},
		{"between", "First Oslo." + one + "\nThen Rome:\n" + two, "First Oslo.\n\nThen Rome:\n\n三", "First Oslo.\n\nThen Rome:", ""},
		{"after", one + "\nLet me know if you need anything else!", "Let me know if you need anything else!\n\n三", "Let me know if you need anything else!", ""},
		{"before and after", "I look it up." + one + "\n请稍等。", "I look it up.\n\n请稍等。\n\n三", "I look it up.\n\n请稍等。", ""},
		{"an invented result", "I look it up." + one + "\nIt is 20 degrees in Oslo.", "I look it up.\n\n三", "I look it up.", "It is 20 degrees in Oslo."},
		{"a result without a number", one + "\nSunny all day.", "三", "", "Sunny all day."},
	} {
		m := replay.New(replay.Text(c.reply), replay.Text("三"))
		turn, ev := must(t, config(), m, newBox().says("echo", "42"), nil, "go")
		if got := turn.Messages[1]; ev.text() != c.shown || got.Text != c.stored || got.Reasoning != c.thought || turn.Answer != "三" {
			t.Errorf("%s: shown %q, stored %q, thought %q, answer %q", c.why, ev.text(), got.Text, got.Reasoning, turn.Answer)
		}
		thought := ""
		for _, d := range of[agent.ReasoningDelta](ev) {
			thought += d.Text
		}
		if thought != c.thought {
			t.Errorf("%s: the thought that is shown is %q", c.why, thought)
		}
		if seen := m.Requests()[1].Messages[1].Text; c.stored != "" && !strings.HasPrefix(seen, c.stored+"\n<tool_call>") || c.thought != "" && strings.Contains(seen, c.thought) {
			t.Errorf("%s: the model reads %q of its own reply", c.why, seen)
		}
	}
	t.Run("native", func(t *testing.T) {
		m := describing(replay.New(replay.Reply{Text: "好的", Calls: []tool.Call{{ID: "a", Tool: "echo", Args: json.RawMessage(`{"text":"1"}`)}}}, replay.Text("三")), true)
		_, ev := must(t, config(), m, newBox().says("echo", "42"), nil, "go")
		if ev.text() != "好的\n\n三" {
			t.Errorf("shown %q", ev.text())
		}
	})
}

// An object behind words is not the answer: it runs where the words say so, and else the
// model is asked once. A person who asks how to call reads it.
func TestObjectsBehindWordsInATurn(t *testing.T) {
	const object = `{"tool": "echo", "text": "x"}`
	const file = "\n\nThe file says how to call a tool: its format is JSON."
	for _, c := range []struct {
		question, reply string
		called          int
		shown           string
	}{
		{"go" + file, "正在为您搜索 " + object, 1, "正在为您搜索 \n\ndone"},
		{"go", "正在为您搜索 " + object, 1, "正在为您搜索 \n\ndone"},
		{"go", "好的，" + object, 1, "好的，\n\ndone"},
		{"go", "Should I run " + object, 0, "Should I run \n\ndone"},
		{"go", "好的，" + `{"tool": "echo"}`, 0, "好的，\n\ndone"},
		{"How do I call echo? Show me the format.", "Sure. " + object, 0, "Sure. " + object},
		{"go", `Sure. {"city": "Oslo"}`, 0, `Sure. {"city": "Oslo"}`},
	} {
		b := newBox().says("echo", "42")
		m := replay.New(replay.Text(c.reply), replay.Text("done"))
		typed := config(func(cfg *agent.Config) { cfg.Typed = agent.Span{To: len(strings.TrimSuffix(c.question, file))} })
		turn, ev := must(t, typed, m, b, nil, c.question)
		if len(b.called()) != c.called || ev.text() != c.shown || strings.Contains(turn.Answer, "echo") && c.question == "go" {
			t.Errorf("%s: called %v, shown %q, answer %q", c.reply, b.called(), ev.text(), turn.Answer)
		}
	}
}

// A model may call a tool by what its server calls it, and is told the names of all that have
// that name if there are several.
func TestServersOwnNamesAreCalled(t *testing.T) {
	for _, mode := range []agent.Mode{agent.ModePrompt, agent.ModeNative} {
		call := func(name string) replay.Reply {
			if mode == agent.ModeNative {
				return replay.Reply{Calls: []tool.Call{{Tool: name, Args: json.RawMessage(`{}`)}}}
			}
			return replay.Call(name, `{}`)
		}
		b := newBox().says("one__get-sum", "42").says("one__both", "1").says("two__both", "2")
		for i, own := range []string{"get-sum", "both", "both"} {
			b.specs[i].Written = own
		}
		m := replay.New(call("get-sum"), call("both"), replay.Text("done"))
		must(t, config(func(c *agent.Config) { c.Mode = mode }), m, b, nil, "go")
		if got := b.called(); len(got) != 1 || !strings.HasPrefix(got[0], "one__get-sum") {
			t.Errorf("%s: called %q", mode, got)
		}
		var told string
		for _, msg := range m.Requests()[2].Messages {
			if msg.Role != "assistant" {
				told += msg.Text
			}
		}
		if !strings.Contains(told, "The nearest names are: one__both, two__both.") {
			t.Errorf("%s: %s", mode, told)
		}
	}
}

// A model that calls tools which do not exist is told names in both modes, and never the
// same sentence twice in a request.
func TestUnknownToolsAreToldNames(t *testing.T) {
	wrong := func(mode agent.Mode, name string) replay.Reply {
		if mode == agent.ModeNative {
			return replay.Reply{Calls: []tool.Call{{Tool: name, Args: json.RawMessage(`{}`)}}}
		}
		return replay.Call(name, `{}`)
	}
	for _, mode := range []agent.Mode{agent.ModePrompt, agent.ModeNative} {
		m := replay.New(wrong(mode, "launch_rocket"), wrong(mode, "launch_rocket"), wrong(mode, "echoes"), wrong(mode, "launch_rocket"), replay.Text(""), replay.Text("done"))
		turn, _ := must(t, config(func(c *agent.Config) { c.Mode = mode }), m, newBox().says("echo", "42").says("find", "1"), nil, "go")
		reqs := m.Requests()
		told := func(n int) string {
			var all []string
			for _, msg := range reqs[n].Messages {
				if msg.Role != "assistant" {
					all = append(all, msg.Text)
				}
			}
			return strings.Join(all, "\n")
		}
		if got := told(1); !strings.Contains(got, "The tools are: echo, find.") || strings.Contains(got, "fence") {
			t.Errorf("%s: %s", mode, got)
		}
		if got := told(3); !strings.Contains(got, "The nearest names are: echo.") {
			t.Errorf("%s: %s", mode, got)
		}
		for n := range reqs {
			seen := map[string]bool{}
			for line := range strings.SplitSeq(told(n), "\n") {
				line = strings.TrimSpace(line)
				if len(line) > 20 && !strings.HasPrefix(line, "<") && seen[line] && !strings.HasPrefix(line, "Your call was not run") {
					t.Errorf("%s: request %d says twice: %s", mode, n, line)
				}
				seen[line] = true
			}
		}
		if turn.Answer != "done" {
			t.Errorf("%s: answer %q", mode, turn.Answer)
		}
	}
}

// A sequence is a model whose reply is these pieces, and then "ok".
type sequence struct {
	pieces []agent.Delta
	asked  bool
}

// Generate implements agent.Model.
func (s *sequence) Generate(context.Context, agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		pieces := s.pieces
		if s.asked {
			pieces = []agent.Delta{{Text: "ok", Finish: agent.FinishStop}}
		}
		s.asked = true
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// Text after a native call is text, too, whatever it holds.
func TestTextAfterANativeCall(t *testing.T) {
	const text = `<tool_call>{"name":"echo","arguments":{"text":"2"}}</tool_call>`
	b := newBox().says("echo", "42")
	m := &sequence{pieces: []agent.Delta{{Text: "I call."}, {Call: &tool.Call{ID: "a", Tool: "echo", Args: json.RawMessage(`{"text":"1"}`)}}, {Text: text}, {Finish: agent.FinishCalls}}}
	turn, ev := must(t, config(func(c *agent.Config) { c.Mode = agent.ModeNative }), m, b, nil, "go")
	if want := "I call.\n\n" + text; len(b.called()) != 1 || turn.Messages[1].Text != want || ev.text() != want+"\n\nok" {
		t.Errorf("called %v, stored %q, shown %q", b.called(), turn.Messages[1].Text, ev.text())
	}
}
