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

// theirs is a tool that whoever asks runs.
var theirs = tool.Spec{
	Name: "get_weather", Description: "The weather of a city.",
	Params: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
}

func withTheirs(cfg *agent.Config) { cfg.Caller = []tool.Spec{theirs} }

func inMode(m agent.Mode) func(*agent.Config) { return func(cfg *agent.Config) { cfg.Mode = m } }

// calls is a reply that calls in the way of a mode.
func calls(m agent.Mode, cs ...tool.Call) replay.Reply {
	if m == agent.ModeNative {
		return replay.Reply{Text: "I shall look. ", Calls: cs}
	}
	var b strings.Builder
	for _, c := range cs {
		b.WriteString(replay.Call(c.Tool, string(c.Args)).Text + "\n")
	}
	return replay.Text("I shall look. " + b.String())
}

func call(id, name, args string) tool.Call {
	return tool.Call{ID: id, Tool: name, Args: json.RawMessage(args)}
}

// given is a result that the caller brings back.
func given(id, text string) tool.Result {
	chars, lines := limit.Count(text)
	return tool.Result{CallID: id, Shown: tool.View{Text: text, TotalChars: chars, TotalLines: lines}}.WithWhole(text)
}

// resume goes on with a turn.
func resume(t *testing.T, cfg agent.Config, m agent.Model, tb agent.Toolbox, history []agent.Message, answers ...tool.Result) (agent.Turn, *events) {
	t.Helper()
	ev := &events{}
	l, err := agent.New(cfg, m, tb, ev)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := l.Resume(t.Context(), history, answers)
	if err != nil {
		t.Fatal(err)
	}
	return turn, ev
}

// wellFormed fails where a provider would: every native call has one answer,
// directly after it.
func wellFormed(t *testing.T, m *replay.Model) {
	t.Helper()
	for n, r := range m.Requests() {
		var open []string
		for i, msg := range r.Messages {
			if msg.Role == "tool" {
				at := slices.Index(open, msg.CallID)
				if at < 0 {
					t.Errorf("request %d: message %d answers %q, which nobody asked", n, i, msg.CallID)
					continue
				}
				open = slices.Delete(open, at, at+1)
				continue
			}
			if len(open) > 0 {
				t.Errorf("request %d: message %d stands in front of the answers to %v", n, i, open)
			}
			open = nil
			for _, c := range msg.Calls {
				open = append(open, c.ID)
			}
		}
		if len(open) > 0 {
			t.Errorf("request %d: %v are not answered", n, open)
		}
	}
}

// sent joins everything that a request says.
func sent(r agent.Request) string {
	var b strings.Builder
	b.WriteString(r.System)
	for _, m := range r.Messages {
		b.WriteString("\n" + m.Role + ": " + m.Text)
	}
	return b.String()
}

var modes = []agent.Mode{agent.ModePrompt, agent.ModeNative}

// A call of the caller's tool ends the turn; its result goes on with it.
func TestCallersToolGoesThereAndBack(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			m := replay.New(calls(mode, call("a", "get_weather", `{"city":"Oslo"}`)), replay.Text("It rains in Oslo."))
			b := newBox().says("echo", "x")
			cfg := config(withTheirs, inMode(mode))
			turn, ev := must(t, cfg, m, b, nil, "How is the weather in Oslo?")
			if turn.Reason != agent.ReasonToolCalls || len(turn.Pending) != 1 || turn.Pending[0].Tool != "get_weather" || string(turn.Pending[0].Args) != `{"city":"Oslo"}` {
				t.Fatalf("reason %s, pending %+v", turn.Reason, turn.Pending)
			}
			if turn.Answer != "I shall look." || strings.TrimSpace(ev.text()) != "I shall look." || len(b.called()) != 0 {
				t.Errorf("answer %q, shown %q, called here %v", turn.Answer, ev.text(), b.called())
			}
			if got := agent.Pending(turn.Messages); len(got) != 1 || got[0].ID != turn.Pending[0].ID {
				t.Errorf("pending by the history: %+v", got)
			}
			end, _ := resume(t, cfg, m, b, turn.Messages, given(turn.Pending[0].ID, "rain, 7 °C"))
			if end.Reason != agent.ReasonAnswer || end.Answer != "It rains in Oslo." || end.From != len(turn.Messages) || end.Pending != nil {
				t.Errorf("%s %q from %d of %d", end.Reason, end.Answer, end.From, len(turn.Messages))
			}
			if !strings.Contains(sent(m.Requests()[1]), "rain, 7 °C") {
				t.Errorf("the model reads %s", sent(m.Requests()[1]))
			}
			for _, msg := range end.Messages {
				if msg.Turn != 1 {
					t.Errorf("a %s message of turn %d", msg.Role, msg.Turn)
				}
			}
			wellFormed(t, m)
		})
	}
}

// What a provider wants back with its calls outlasts the wait for their results,
// also in the store, and no longer than the turn.
func TestSealedRepliesOfPendingCalls(t *testing.T) {
	first := calls(agent.ModeNative, call("a", "get_weather", `{"city":"Oslo"}`))
	first.Sealed = json.RawMessage(`["sealed"]`)
	m := replay.New(first, replay.Text("Rain."), replay.Text("Bye."))
	cfg := config(withTheirs, inMode(agent.ModeNative))
	turn, _ := must(t, cfg, m, newBox(), nil, "Weather?")
	stored, err := json.Marshal(turn.Messages)
	if err != nil {
		t.Fatal(err)
	}
	var history []agent.Message
	if err := json.Unmarshal(stored, &history); err != nil {
		t.Fatal(err)
	}
	end, _ := resume(t, cfg, m, newBox(), history, given("a", "rain"))
	must(t, cfg, m, newBox(), append(history[:len(history):len(history)], end.Messages[len(history):]...), "Bye")
	if got := m.Requests(); string(got[1].Messages[1].Sealed) != `["sealed"]` || got[2].Messages[1].Sealed != nil {
		t.Errorf("sent %s, and in the next turn %s", got[1].Messages[1].Sealed, got[2].Messages[1].Sealed)
	}
}

// In one reply the host's tools run here and the caller's wait; the model reads
// both results in the end.
func TestBothKindsOfToolsInOneReply(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			m := replay.New(
				calls(mode, call("a", "echo", `{"text":"here"}`), call("b", "get_weather", `{"city":"Oslo"}`)),
				calls(mode, call("c", "echo", `{"text":"again"}`)),
				replay.Text("Done."))
			b := newBox().says("echo", "echoed")
			cfg := config(withTheirs, inMode(mode))
			turn, _ := must(t, cfg, m, b, nil, "Both, please")
			if turn.Reason != agent.ReasonToolCalls || len(turn.Pending) != 1 || !slices.Equal(b.called(), []string{`echo{"text":"here"}`}) {
				t.Fatalf("%s, pending %+v, called %v", turn.Reason, turn.Pending, b.called())
			}
			end, _ := resume(t, cfg, m, b, turn.Messages, given(turn.Pending[0].ID, "rain"))
			text := sent(m.Requests()[1])
			if end.Answer != "Done." || end.Stats.Calls != 1 || !strings.Contains(text, "echoed") || !strings.Contains(text, "rain") {
				t.Errorf("%q after %d calls, from %s", end.Answer, end.Stats.Calls, text)
			}
			wellFormed(t, m)
		})
	}
}

// A question in place of a result closes the pending calls, for the caller and for
// the model.
func TestAQuestionInsteadOfAResult(t *testing.T) {
	for _, mode := range modes {
		m := replay.New(calls(mode, call("a", "get_weather", `{"city":"Oslo"}`)), replay.Text("Then not."))
		cfg := config(withTheirs, inMode(mode))
		turn, _ := must(t, cfg, m, newBox(), nil, "Weather?")
		next, _ := must(t, cfg, m, newBox(), turn.Messages, "Never mind.")
		if next.From != len(turn.Messages) || next.Answer != "Then not." || !strings.Contains(sent(m.Requests()[1]), "No result of this call came back") {
			t.Errorf("%s: from %d of %d, sent %s", mode, next.From, len(turn.Messages), sent(m.Requests()[1]))
		}
		wellFormed(t, m)
	}
}

// A resume that failed can be tried again with the same results.
func TestResumeAgain(t *testing.T) {
	broken := replay.Reply{Text: "It ra", Err: &agent.ModelError{Code: agent.ModelOverloaded, Model: "m", Msg: "busy"}}
	for _, mode := range modes {
		m := replay.New(calls(mode, call("a", "get_weather", `{"city":"Oslo"}`)), broken, replay.Text("It rains."))
		cfg := config(withTheirs, inMode(mode))
		turn, _ := must(t, cfg, m, newBox(), nil, "Weather?")
		l, err := agent.New(cfg, m, newBox(), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := given(turn.Pending[0].ID, "rain")
		failed, err := l.Resume(t.Context(), turn.Messages, []tool.Result{answer})
		if !agent.IsModelCode(err, agent.ModelOverloaded) || failed.Answer != "It ra" {
			t.Fatalf("%s: %v, %q", mode, err, failed.Answer)
		}
		again, _ := resume(t, cfg, m, newBox(), failed.Messages, answer)
		if again.Answer != "It rains." || strings.Count(sent(m.Requests()[2]), "rain") != strings.Count(sent(m.Requests()[1]), "rain") || strings.Contains(sent(m.Requests()[2]), "It ra\n") {
			t.Errorf("%s: %q from %s", mode, again.Answer, sent(m.Requests()[2]))
		}
		if last := again.Messages[len(again.Messages)-1]; last.Text != "It rains." || again.From > len(failed.Messages)-1 {
			t.Errorf("%s: the broken answer stays: %+v from %d of %d", mode, last, again.From, len(failed.Messages))
		}
		wellFormed(t, m)
	}
}

// What the caller keeps itself is read whole; what is archived is cut like any
// other result and folds when the turn is over, not before.
func TestGivenResultsAndTheLimits(t *testing.T) {
	long := lines(900, 40)
	m := replay.New(calls(agent.ModePrompt, call("", "get_weather", `{"city":"Oslo"}`)), calls(agent.ModePrompt, call("", "get_weather", `{"city":"Bergen"}`)), replay.Text("Rain."))
	b := newBox().loads()
	cfg := config(withTheirs, inMode(agent.ModePrompt))
	turn, _ := must(t, cfg, m, b, nil, "Weather?")
	turn, _ = resume(t, cfg, m, b, turn.Messages, given(turn.Pending[0].ID, long))
	if !strings.Contains(sent(m.Requests()[1]), "line 450 ") || turn.Reason != agent.ReasonToolCalls {
		t.Errorf("%s; a result that nobody keeps was cut: %d characters sent", turn.Reason, len(sent(m.Requests()[1])))
	}
	kept := b.keep(turn.Pending[0], long, "00000000-0000-4000-8000-000000000001")
	end, ev := resume(t, cfg, m, b, turn.Messages, kept)
	text := sent(m.Requests()[2])
	if strings.Count(text, "line 450 ") != 1 || !strings.Contains(text, `load_tool_history(uuid="00000000-0000-4000-8000-000000000001"`) {
		t.Errorf("an archived result was not cut: %d characters sent", len(text))
	}
	if folds := of[agent.Folded](ev); len(folds) != 1 || !slices.Equal(folds[0].UUIDs, []string{"00000000-0000-4000-8000-000000000001"}) || end.Answer != "Rain." {
		t.Errorf("%q, folded %+v", end.Answer, folds)
	}
}

func TestToolChoice(t *testing.T) {
	number := func(cfg *agent.Config) { cfg.Choice = agent.Choice{Must: true} }
	one := func(cfg *agent.Config) { cfg.Choice = agent.Choice{Must: true, Tool: "get_weather"} }
	weather := call("a", "get_weather", `{"city":"Oslo"}`)

	t.Run("sent back until it calls", func(t *testing.T) {
		m := replay.New(replay.Text("It is nice there."), calls(agent.ModePrompt, weather))
		turn, ev := must(t, config(withTheirs, inMode(agent.ModePrompt), number), m, newBox(), nil, "Weather?")
		if turn.Reason != agent.ReasonToolCalls || strings.Contains(ev.text(), "nice") {
			t.Errorf("%s, shown %q", turn.Reason, ev.text())
		}
		for n := range 2 {
			if !strings.Contains(lastText(m, n), "Reply to this with a tool call") {
				t.Errorf("request %d does not say so: %s", n, lastText(m, n))
			}
		}
	})
	t.Run("only the named tool is offered", func(t *testing.T) {
		m := replay.New(calls(agent.ModePrompt, weather))
		must(t, config(withTheirs, inMode(agent.ModePrompt), one), m, newBox().says("echo", "x"), nil, "天气怎么样？")
		if text := sent(m.Requests()[0]); strings.Contains(text, "Test tool echo") || !strings.Contains(lastText(m, 0), "不要直接回答：get_weather") {
			t.Error(text)
		}
	})
	t.Run("a text stands when the corrections are used up", func(t *testing.T) {
		m := replay.New(replay.Text("No."), replay.Text("No."), replay.Text("No!"))
		cfg := config(withTheirs, inMode(agent.ModePrompt), number, func(cfg *agent.Config) { cfg.MaxCorrections = 2 })
		if turn, ev := must(t, cfg, m, newBox(), nil, "Weather?"); turn.Answer != "No!" || ev.text() != "No!" {
			t.Errorf("%q, shown %q", turn.Answer, ev.text())
		}
	})
	t.Run("a provider is told, for the first reply alone", func(t *testing.T) {
		m := replay.New(calls(agent.ModeNative, call("a", "echo", `{"text":"x"}`)), replay.Text("Done."))
		must(t, config(withTheirs, inMode(agent.ModeNative), number), m, newBox().says("echo", "x"), nil, "Weather?")
		if got := m.Requests(); !got[0].Choice.Must || got[1].Choice.Must || strings.Contains(lastText(m, 0), "Reply to this") {
			t.Errorf("%+v, then %+v", got[0].Choice, got[1].Choice)
		}
	})
	t.Run("a provider that refuses is told in words", func(t *testing.T) {
		refusal := replay.Reply{Err: &agent.ModelError{Code: agent.ModelBadRequest, Model: "m", Msg: "tool_choice required is not supported"}}
		m := replay.New(refusal, calls(agent.ModeNative, weather))
		turn, ev := must(t, config(withTheirs, inMode(agent.ModeNative), number), m, newBox(), nil, "Weather?")
		if got := m.Requests(); turn.Reason != agent.ReasonToolCalls || got[1].Choice.Must || len(got[1].Tools) == 0 || !strings.Contains(lastText(m, 1), "Reply to this with a tool call") {
			t.Errorf("%s, %+v, %s", turn.Reason, got[1].Choice, lastText(m, 1))
		}
		if switched := of[agent.ModeSwitched](ev); len(switched) > 0 {
			t.Errorf("the mode was switched: %+v", switched)
		}
	})
}

func TestOneCall(t *testing.T) {
	for _, mode := range modes {
		m := replay.New(calls(mode, call("a", "get_weather", `{"city":"Oslo"}`), call("b", "get_weather", `{"city":"Bergen"}`)))
		turn, _ := must(t, config(withTheirs, inMode(mode), func(cfg *agent.Config) { cfg.OneCall = true }), m, newBox(), nil, "Weather?")
		if len(turn.Pending) != 1 || len(turn.Messages[len(turn.Messages)-1].Calls) != 1 {
			t.Errorf("%s: pending %+v", mode, turn.Pending)
		}
		if mode == agent.ModeNative && !m.Requests()[0].OneCall {
			t.Error("the provider is not told")
		}
	}
}

// A call of the caller's tool with invalid arguments is not passed to the caller.
func TestBadArgumentsStayHere(t *testing.T) {
	m := replay.New(calls(agent.ModeNative, call("a", "get_weather", `["Oslo"]`)), replay.Text("Sorry."))
	turn, _ := must(t, config(withTheirs, inMode(agent.ModeNative)), m, newBox(), nil, "Weather?")
	if turn.Answer != "Sorry." || turn.Pending != nil {
		t.Errorf("%q, pending %+v", turn.Answer, turn.Pending)
	}
	wellFormed(t, m)
}

// The caller's tools are offered even where the profile calls none of the host's.
func TestCallersToolsWithoutTheHosts(t *testing.T) {
	for _, off := range []func(*agent.Config){
		func(cfg *agent.Config) { cfg.EnableToolCalling = false },
		func(cfg *agent.Config) { cfg.MaxToolCalls = -1 },
	} {
		m := replay.New(calls(agent.ModePrompt, call("", "get_weather", `{"city":"Oslo"}`)), replay.Text("Rain."))
		cfg := config(withTheirs, off)
		turn, _ := must(t, cfg, m, newBox().says("echo", "x"), nil, "Weather?")
		if text := sent(m.Requests()[0]); len(turn.Pending) != 1 || strings.Contains(text, "Test tool echo") {
			t.Fatalf("pending %+v, sent %s", turn.Pending, text)
		}
		if end, _ := resume(t, cfg, m, newBox(), turn.Messages, given(turn.Pending[0].ID, "rain")); end.Answer != "Rain." || end.Reason != agent.ReasonAnswer {
			t.Errorf("%s %q", end.Reason, end.Answer)
		}
	}
}

// How a reply is to be made reaches the model with every request.
func TestReplyOptions(t *testing.T) {
	warm := 0.5
	cfg := config(func(cfg *agent.Config) {
		cfg.MaxTokens, cfg.Stop, cfg.Sampling = 99, []string{"END"}, agent.Sampling{Temperature: &warm}
		cfg.Format = &agent.Format{Schema: json.RawMessage(`{ "type": "object" }`)}
	})
	for _, row := range []struct {
		name   string
		mode   agent.Mode
		box    *box
		handed bool
	}{
		{"with tools by text a reply may not be bound to JSON", agent.ModePrompt, newBox().says("echo", "x"), false},
		{"with tools of the provider's it may", agent.ModeNative, newBox().says("echo", "x"), true},
		{"without tools it may", agent.ModePrompt, newBox(), true},
	} {
		cfg.Mode = row.mode
		m := replay.New(replay.Text(`{"a":1}`))
		turn, _ := must(t, cfg, m, row.box, nil, "Give me JSON")
		r := m.Requests()[0]
		if r.MaxTokens != 99 || !slices.Equal(r.Stop, cfg.Stop) || r.Sampling.Temperature != &warm || (r.Format != nil) != row.handed {
			t.Errorf("%s: %+v", row.name, r)
		}
		if turn.Answer != `{"a":1}` || !strings.Contains(r.System, "one JSON object and nothing else") || !strings.Contains(r.System, `{"type":"object"}`) {
			t.Errorf("%s: %q from %s", row.name, turn.Answer, r.System)
		}
	}
}
