package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// spellings write one call in forms that are far from each other.
var spellings = []func(name, args string) string{
	func(name, args string) string {
		return `<tool_call>{"tool_name":"` + name + `","arguments":` + args + `}</tool_call>`
	},
	func(name, args string) string {
		return "I will do this now:\n```json\n{\"tool\": \"" + name + "\", \"tool_input\": " + args + "}\n```"
	},
	func(name, args string) string {
		return "Thought: I need it.\nAction: " + name + "\nAction Input: " + args
	},
	func(name, args string) string {
		return "<tool_call>\n<function=" + name + ">\n" + eachArg(args, "<parameter=%s>\n%s\n</parameter>\n") + "</function>\n</tool_call>"
	},
	func(name, args string) string {
		return "<function_calls>\n<invoke name=\"" + name + "\">\n" + eachArg(args, "<parameter name=\"%s\">%s</parameter>\n") + "</invoke>\n</function_calls>"
	},
	func(name, args string) string { return "[TOOL_CALLS]" + name + "[ARGS]" + args },
	func(name, args string) string { return ">>>" + name + "\n" + args },
	func(name, args string) string { return `{"arguments":` + args + `, "name": "` + name + `"}` },
	func(name, args string) string {
		return `<|python_tag|>{"name": "` + name + `", "parameters": ` + args + `}`
	},
}

// eachArg writes each argument with a format.
func eachArg(args, format string) string {
	var values map[string]any
	_ = json.Unmarshal([]byte(args), &values)
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[key].(string)
		if !ok {
			v, _ := json.Marshal(values[key])
			text = string(v)
		}
		fmt.Fprintf(&b, format, key, text)
	}
	return b.String()
}

// A repeater does as first says, if anything, and then makes the calls in forms other
// than those that it read. A native call is made once: made again it is confirmed.
func repeater(mode agent.Mode, seed int, calls []parse.Call, first ...replay.Reply) *replay.Model {
	return replay.Func(func(n int, _ agent.Request) replay.Reply {
		switch {
		case n < len(first):
			return first[n]
		case mode == agent.ModeNative && n == len(first):
			var r replay.Reply
			for i, c := range calls {
				r.Calls = append(r.Calls, tool.Call{ID: fmt.Sprint("n", i), Tool: c.Name, Args: c.Args})
			}
			return r
		case mode == agent.ModePrompt && n < len(first)+2:
			c := calls[(seed+n)%len(calls)]
			return replay.Text(spellings[(seed+n)%len(spellings)](c.Name, string(c.Args)))
		}
		return replay.Text("That is all.")
	})
}

// A scene is what a trial of TestNoQuotationStartsATool takes place in.
type scene struct {
	b       *box
	cfg     agent.Config
	text    string // disguised
	history []agent.Message
	first   []replay.Reply
}

// turns has earlier turns of the conversation take place, which is stored in between.
func (s *scene) turn(t *testing.T, question string, replies ...replay.Reply) {
	t.Helper()
	turn, _ := must(t, s.cfg, replay.New(replies...), s.b, s.history, question)
	stored, err := json.Marshal(turn.Messages)
	if err != nil {
		t.Fatal(err)
	}
	s.history = nil
	if err := json.Unmarshal(stored, &s.history); err != nil {
		t.Fatal(err)
	}
}

func (s *scene) fetches(text string) {
	s.b.run["fetch"] = func(context.Context, map[string]any) (string, *tool.Error) { return text, nil }
}

func (s *scene) fetch() replay.Reply {
	if s.cfg.Mode == agent.ModeNative {
		return replay.Reply{Calls: []tool.Call{{ID: "f", Tool: "fetch", Args: json.RawMessage(`{"text":"y"}`)}}}
	}
	return replay.Call("fetch", `{"text":"y"}`)
}

// ways are how a foreign text comes into a conversation. Each returns the question that follows.
var ways = map[string]func(t *testing.T, s *scene) string{
	"result": func(_ *testing.T, s *scene) string {
		s.fetches(s.text)
		s.first = []replay.Reply{s.fetch()}
		return "What does the page say?"
	},
	"error": func(_ *testing.T, s *scene) string {
		s.b.run["fetch"] = func(context.Context, map[string]any) (string, *tool.Error) {
			return "", tool.Errorf(tool.Failed, "try again", "failed:\n%s", s.text)
		}
		s.first = []replay.Reply{s.fetch()}
		return "What does the page say?"
	},
	"description": func(_ *testing.T, s *scene) string {
		s.b.specs[0].Description, s.b.specs[0].DescriptionZh = "Fetches.\n"+s.text, "获取。\n"+s.text
		return "What can you do?"
	},
	"file": func(_ *testing.T, s *scene) string {
		s.cfg.Typed = agent.Span{From: 0, To: 18}
		return "What does it mean?\n\n" + s.text
	},
	"load": func(t *testing.T, s *scene) string {
		s.fetches(s.text + "\n" + strings.Repeat("more words ", 400))
		s.turn(t, "Fetch it.", s.fetch(), replay.Text("Long."))
		s.first = []replay.Reply{replay.Call("load_tool_history", `{"uuid":"00000000-0000-4000-8000-000000000001"}`)}
		if s.cfg.Mode == agent.ModeNative {
			s.first[0] = replay.Reply{Calls: []tool.Call{{ID: "l", Tool: "load_tool_history", Args: json.RawMessage(`{"uuid":"00000000-0000-4000-8000-000000000001"}`)}}}
		}
		return "Load it."
	},
	"folded": func(t *testing.T, s *scene) string {
		s.fetches(strings.Repeat("many words. ", 200) + "\n" + s.text)
		s.turn(t, "Fetch it.", s.fetch(), replay.Text("Long."))
		if e := s.history[2].Results[0]; !e.Folded || strings.Contains(e.Text, s.text) {
			t.Fatalf("not folded: %+v", e)
		}
		return "And now?"
	},
	"folded in the turn": func(_ *testing.T, s *scene) string {
		s.cfg.Window, s.cfg.AnswerReserve, s.cfg.ArchiveThreshold = 4000, 100, 100_000
		n := 0
		s.b.run["fetch"] = func(context.Context, map[string]any) (string, *tool.Error) {
			if n++; n == 1 {
				return strings.Repeat("many words. ", 200) + "\n" + s.text, nil
			}
			return strings.Repeat(fmt.Sprint("other words ", n), 500), nil
		}
		s.first = []replay.Reply{s.fetch(), s.fetchAgain("z"), s.fetchAgain("x")}
		return "What do the pages say?"
	},
	"foreign server": func(_ *testing.T, s *scene) string {
		q, _ := json.Marshal(map[string]any{"isError": false, "content": []map[string]string{{"type": "text", "text": s.text}}})
		s.fetches(string(q))
		s.first = []replay.Reply{s.fetch()}
		return "What does the page say?"
	},
	"earlier turn": func(t *testing.T, s *scene) string {
		s.fetches(s.text)
		s.turn(t, "Fetch it.", s.fetch(), replay.Text("Well."))
		return "And now?"
	},
	"25 turns ago": func(t *testing.T, s *scene) string {
		s.cfg.MemoryLimit = 10
		s.fetches(s.text)
		s.turn(t, "Fetch it.", s.fetch(), replay.Text("Well."))
		for i := range 25 {
			s.turn(t, fmt.Sprint("Question ", i), replay.Text("Answer."))
		}
		return "And now?"
	},
}

func (s *scene) fetchAgain(text string) replay.Reply {
	if s.cfg.Mode == agent.ModeNative {
		return replay.Reply{Calls: []tool.Call{{ID: "f" + text, Tool: "fetch", Args: json.RawMessage(`{"text":"` + text + `"}`)}}}
	}
	return replay.Call("fetch", `{"text":"`+text+`"}`)
}

// A call that a foreign text holds in any form, behind any disguise, wherever the text came in
// and whatever became of it since, is not made by a model that writes it in another form.
func TestNoQuotationStartsATool(t *testing.T) {
	set := parse.Options{Tools: formBox("").specs}
	var texts []string
	var made [][]parse.Call
	for _, form := range forms(t) {
		calls := slices.DeleteFunc(parse.Calls(parse.All(set, form)), func(c parse.Call) bool { return string(c.Args) == "{}" })
		if len(calls) > 0 {
			texts, made = append(texts, form), append(made, calls)
		}
	}
	n, seed, quoted := 0, 0, 0
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		for _, d := range disguises {
			for range 2 {
				seed += 7 // no divisor of the number of forms: each meets each
				i := seed % len(texts)
				s := &scene{b: formBox(""), text: "Notes of a meeting.\n" + d.wear(texts[i]) + "\nEnd of the notes."}
				s.cfg = config(func(c *agent.Config) {
					c.Mode, c.ToolsChars, c.ArchiveThreshold = []agent.Mode{agent.ModePrompt, agent.ModeNative}[n%2], -1, 1000
				})
				question := ways[way](t, s)
				_, ev := must(t, s.cfg, repeater(s.cfg.Mode, n, made[i], s.first...), s.b, s.history, question)
				for _, c := range s.b.called() {
					if !strings.HasPrefix(c, "fetch") && !strings.HasPrefix(c, "load_tool_history") {
						t.Errorf("%s, %s, %s: %s ran, from\n%s", way, d.name, s.cfg.Mode, c, s.text)
					}
				}
				n++
				if quotations(ev) > 0 {
					quoted++
				}
			}
		}
	}
	t.Logf("%d trials, in %d of which a call was refused as a quotation", n, quoted)
	if n < 1000 || quoted < n*95/100 {
		t.Errorf("in %d of %d trials a call was refused as a quotation", quoted, n)
	}
}
