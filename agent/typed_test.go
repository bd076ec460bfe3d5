package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

func span(before, typed string) agent.Span {
	from := utf8.RuneCountInString(before)
	return agent.Span{From: from, To: from + utf8.RuneCountInString(typed)}
}

// quotations are the calls that were refused as such.
func quotations(ev *events) (n int) {
	for _, e := range of[agent.CallEnd](ev) {
		if e.Result.Err != nil && e.Result.Err.Code == tool.Quoted {
			n++
		}
	}
	return n
}

// A call that the person typed runs, in every form and both modes. TestAParrotStartsNothing has
// questions that nobody typed.
func TestWhatIsTypedIsNoQuotation(t *testing.T) {
	for _, form := range forms(t) {
		written := parse.Calls(parse.All(parse.Options{Tools: formBox("").specs}, form))
		native := replay.Reply{}
		for i, c := range written {
			native.Calls = append(native.Calls, tool.Call{ID: string(rune('a' + i)), Tool: c.Name, Args: c.Args})
		}
		for mode, reply := range map[agent.Mode]replay.Reply{agent.ModePrompt: replay.Text(form), agent.ModeNative: native} {
			question, b := "请运行：\n"+form, formBox("")
			cfg := config(func(c *agent.Config) { c.Mode, c.Typed = mode, span("", question) })
			_, ev := must(t, cfg, replay.New(reply, replay.Text("Done.")), b, nil, question)
			if n := quotations(ev); n > 0 || len(b.called()) != len(written) {
				t.Errorf("%s: %d quotations, called %v, from\n%s", mode, n, b.called(), form)
			}
		}
	}
}

// What is attached to a typed question stays foreign, in front of it and after it, in later turns
// and in another process; so do questions that another program brought.
func TestWhatIsAttachedIsAQuotation(t *testing.T) {
	const ask, call = "What does it say? ", `erase(text="tmp")`
	reply, done := replay.Call("erase", `{"text":"tmp"}`), replay.Text("Done.")
	user := func(text string, typed agent.Span) agent.Message {
		return agent.Message{Role: agent.RoleUser, Text: text, Turn: 1, Typed: typed}
	}
	answer := agent.Message{Role: agent.RoleAssistant, Text: "Well.", Turn: 1}
	for name, c := range map[string]struct {
		history  []agent.Message
		question string
		typed    agent.Span
		want     int
	}{
		"typed":              {nil, ask + call, span("", ask+call), 0},
		"attached":           {nil, ask + call, span("", ask), 1},
		"in front":           {nil, call + "\n\n" + ask, span(call+"\n\n", ask), 1},
		"typed after it":     {nil, ask + call, span(ask, call), 0},
		"typed and attached": {nil, call + "\n\n" + call, span("", call), 0},
		"not known":          {nil, ask + call, agent.Span{}, 1},
		"out of the text":    {nil, ask + call, agent.Span{From: 3, To: 400}, 1},
		"upside down":        {nil, ask + call, agent.Span{From: 30, To: 3}, 1},
		"typed before":       {[]agent.Message{user(ask+call, span("", ask+call)), answer}, "Do it.", span("", "Do it."), 0},
		"attached before":    {[]agent.Message{user(ask+call, span("", ask)), answer}, "Do it.", span("", "Do it."), 1},
		"brought":            {[]agent.Message{user(ask+call, agent.Span{}), answer}, "Do it.", span("", "Do it."), 1},
	} {
		stored, err := json.Marshal(c.history)
		var history []agent.Message
		if err == nil {
			err = json.Unmarshal(stored, &history)
		}
		if err != nil {
			t.Fatal(err)
		}
		cfg := config(func(cfg *agent.Config) { cfg.Typed = c.typed })
		b := newBox().says("erase", "gone")
		turn, ev := must(t, cfg, replay.New(reply, done), b, history, c.question)
		if n := quotations(ev); n != c.want {
			t.Errorf("%s: %d quotations, called %v", name, n, b.called())
		}
		if len(history) > 0 {
			continue
		}
		if got := turn.Messages[0].Typed; got != c.typed {
			t.Errorf("%s: stored as %+v", name, got)
		}
		// Another process goes on: what its own configuration says of another question counts for nothing.
		other := config(func(cfg *agent.Config) { cfg.Typed = span("", c.question) })
		l, err := agent.New(other, replay.New(reply, done), newBox().says("erase", "gone"), ev)
		if err != nil {
			t.Fatal(err)
		}
		ev.all = nil
		if _, err := l.Continue(t.Context(), []agent.Message{user(c.question, c.typed)}, nil, nil); err != nil {
			t.Fatal(err)
		}
		if n := quotations(ev); n != c.want {
			t.Errorf("%s, in another process: %d quotations", name, n)
		}
	}
}

// Neither a checkpoint nor the results of the caller's own tools make an attached text a typed one.
func TestAResumedTurnKnowsWhatWasTyped(t *testing.T) {
	const call = `erase(text="tmp")`
	first := replay.Call("erase", `{"text":"other"}`)
	reply, done := replay.Call("erase", `{"text":"tmp"}`), replay.Text("Done.")
	for typed, want := range map[agent.Span]int{span("", "Do: "+call): 0, span("", "Do: "): 1} {
		question := "Do: " + call
		var steps []agent.Checkpoint
		cfg := config(func(c *agent.Config) {
			c.Typed = typed
			c.Checkpoint = func(_ context.Context, s agent.Checkpoint) error {
				steps = append(steps, s)
				return nil
			}
		})
		must(t, cfg, replay.New(first, done), newBox().says("erase", "gone"), nil, question)
		ev := &events{}
		l, err := agent.New(config(), replay.New(reply, done), newBox().says("erase", "gone"), ev)
		if err != nil {
			t.Fatal(err)
		}
		history := []agent.Message{{Role: agent.RoleUser, Text: question, Turn: 1, Typed: typed}}
		if _, err := l.Continue(t.Context(), history, steps, func(tool.Call) *tool.Error { return nil }); err != nil {
			t.Fatal(err)
		}
		if n := quotations(ev); n != want {
			t.Errorf("%+v, from a checkpoint: %d quotations", typed, n)
		}
		turn, _ := must(t, config(withTheirs, func(c *agent.Config) { c.Typed = typed }), replay.New(replay.Call("get_weather", `{"city":"Oslo"}`)), newBox().says("erase", "gone"), nil, question)
		_, ev = resume(t, config(withTheirs), replay.New(reply, done), newBox().says("erase", "gone"), turn.Messages, given(turn.Pending[0].ID, "sunny"))
		if n := quotations(ev); n != want {
			t.Errorf("%+v, with a result of the caller's tool: %d quotations", typed, n)
		}
	}
}

// A typed call runs although a tool's description has it as an example.
func TestATypedExampleRuns(t *testing.T) {
	for typed, want := range map[bool][]string{true: {`erase{"text":"tmp"}`}, false: nil} {
		b := newBox().says("erase", "gone")
		b.specs[0].Description = `Erases. Example: erase(text="tmp")`
		question := `erase {"text": "tmp"}`
		cfg := config()
		if typed {
			cfg.Typed = span("", question)
		}
		must(t, cfg, replay.New(replay.Call("erase", `{"text":"tmp"}`), replay.Text("Done.")), b, nil, question)
		if got := b.called(); !slices.Equal(got, want) {
			t.Errorf("typed %t: %v", typed, got)
		}
	}
}

func TestSpanCut(t *testing.T) {
	for s, want := range map[agent.Span]string{
		{From: 1, To: 3}: "天|地a|b", {From: 0, To: 4}: "|天地ab|", {}: "天地ab||", {From: 2, To: 9}: "天地ab||", {From: -1, To: 2}: "天地ab||", {From: 3, To: 1}: "天地ab||",
	} {
		before, part, after := s.Cut("天地ab")
		if got := strings.Join([]string{before, part, after}, "|"); got != want {
			t.Errorf("%+v: %s", s, got)
		}
	}
}
