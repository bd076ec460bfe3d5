package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

func nativeCall(id, name, args string) replay.Reply {
	return replay.Reply{Calls: []tool.Call{{ID: id, Tool: name, Args: json.RawMessage(args)}}}
}

func describing(m *replay.Model, native bool) *replay.Model {
	return m.Describing(agent.ModelInfo{Name: "m", Window: 32768, NativeTools: &native})
}

func TestModeAuto(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *replay.Model
		mode agent.Mode
		want agent.Mode
	}{
		{"declared by the provider", describing(replay.New(replay.Text("x")), true), "", agent.ModeNative},
		{"declared not to", describing(replay.New(replay.Text("x")), false), "", agent.ModePrompt},
		{"unknown", replay.New(replay.Text("x")), agent.ModeAuto, agent.ModePrompt},
		{"the operator wins", describing(replay.New(replay.Text("x")), true), agent.ModePrompt, agent.ModePrompt},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, ev := must(t, config(func(cfg *agent.Config) { cfg.Mode = c.mode }), c.m, newBox().says("echo", "x"), nil, "go")
			req := c.m.Requests()[0]
			if got := of[agent.TurnStart](ev)[0].Mode; got != c.want {
				t.Errorf("mode %s, want %s", got, c.want)
			}
			if taught := strings.Contains(req.System, "<tool_call>"); taught == (c.want == agent.ModeNative) {
				t.Errorf("the prompt teaches calling: %v", taught)
			}
			if (len(req.Tools) > 0) != (c.want == agent.ModeNative) {
				t.Errorf("%d tools in the request", len(req.Tools))
			}
		})
	}
}

func TestNativeRound(t *testing.T) {
	two := replay.Reply{Text: "Looking.", Calls: []tool.Call{
		{ID: "abc", Tool: "echo", Args: json.RawMessage(`{"text":"1"}`)}, {ID: "abc", Tool: "echo", Args: json.RawMessage(`{"text":"2"}`)}}}
	m := describing(replay.New(two, replay.Text("done")), true)
	turn, _ := must(t, config(), m, newBox().says("echo", "hi"), nil, "go")
	msgs := m.Requests()[1].Messages
	if len(msgs) != 4 || len(msgs[1].Calls) != 2 || msgs[2].Role != "tool" || msgs[3].Role != "tool" {
		t.Fatalf("messages %+v", msgs)
	}
	if msgs[2].CallID != "abc" || msgs[3].CallID == "abc" || msgs[3].CallID != msgs[1].Calls[1].ID || msgs[2].Text != "hi" || msgs[2].Tool != "echo" {
		t.Errorf("results %+v", msgs[2:])
	}
	if !turn.Messages[1].Native || turn.Answer != "done" {
		t.Errorf("native %v, answer %q", turn.Messages[1].Native, turn.Answer)
	}
	t.Run("the stored form serves prompt mode as well", func(t *testing.T) {
		p := replay.New(replay.Text("ok"))
		must(t, config(), p, newBox().says("echo", "hi"), turn.Messages, "more")
		if got := p.Requests()[0].Messages; !strings.Contains(got[1].Text, `<tool_call>{"id":"abc","tool_name":"echo","arguments":{"text":"1"}}</tool_call>`) ||
			!strings.Contains(got[2].Text, "results of the tools") {
			t.Errorf("messages %+v", got)
		}
	})
}

func TestNativeCallsThatCannotRunAreAnswered(t *testing.T) {
	for _, c := range []struct{ name, tool, args, told string }{
		{"arguments that are no JSON", "echo", `{"text":`, "not a JSON object"},
		{"arguments that are no object", "echo", `[1]`, "not a JSON object"},
		{"arguments that are null", "echo", `null`, "not a JSON object"},
		{"an unknown tool", "ecko", `{}`, "ecko"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox().says("echo", "hi")
			m := describing(replay.New(nativeCall("a", c.tool, c.args), replay.Text("sorry")), true)
			must(t, config(), m, b, nil, "go")
			last := m.Requests()[1].Messages
			if len(b.called()) != 0 || last[2].CallID != "a" || !strings.Contains(last[2].Text, c.told) {
				t.Errorf("called %v; told %+v", b.called(), last[2:])
			}
			if !json.Valid(last[1].Calls[0].Args) {
				t.Errorf("invalid arguments go back to the provider: %s", last[1].Calls[0].Args)
			}
		})
	}
	t.Run("empty arguments are an empty object", func(t *testing.T) {
		b := newBox().says("now", "noon")
		must(t, config(), describing(replay.New(nativeCall("a", "now", ""), replay.Text("ok")), true), b, nil, "go")
		if got := b.called(); len(got) != 1 || got[0] != "now{}" {
			t.Errorf("called %v", got)
		}
	})
}

// absentBox is a box that knows why one tool cannot be called.
type absentBox struct{ *box }

func (absentBox) Absent(name string) *tool.Error {
	if name == "fetch" {
		return tool.Errorf(tool.UnknownTool, "do without it", "fetch waits for the operator")
	}
	return nil
}

// A model that calls a tool which waits reads so, with native calling and by text.
func TestACallOfAToolThatWaits(t *testing.T) {
	for name, m := range map[string]*replay.Model{
		"native": describing(replay.New(nativeCall("a", "fetch", `{}`), replay.Text("sorry")), true),
		"prompt": replay.New(replay.Text(`<tool_call>{"id":"call_001","tool_name":"fetch","arguments":{}}</tool_call>`), replay.Text("sorry")),
	} {
		turn, _ := must(t, config(), m, absentBox{newBox().says("echo", "hi")}, nil, "go")
		if got := lastText(m, 1); !strings.Contains(got, "fetch waits for the operator\ndo without it") || turn.Answer != "sorry" {
			t.Errorf("%s: told %q, answered %q", name, got, turn.Answer)
		}
	}
}

func TestFallbackToPrompt(t *testing.T) {
	refuse := replay.Reply{Err: &agent.ModelError{Code: agent.ModelBadRequest, Model: "m", Msg: "this model does not support tools"}}
	garbage := replay.Reply{Err: &agent.ModelError{Code: agent.ModelGarbage, Model: "m", Msg: "not JSON"}}
	schema := replay.Reply{Err: &agent.ModelError{Code: agent.ModelBadRequest, Model: "m", Msg: "JSON schema conversion failed"}}
	empty := replay.Text("")
	for _, c := range []struct {
		name     string
		script   []replay.Reply
		switched bool
		asked    int // requests made natively
	}{
		{"a refusal of tools switches at once", []replay.Reply{refuse}, true, 1},
		{"garbage, twice", []replay.Reply{garbage, garbage}, true, 2},
		{"an empty reply is no failure of calling", []replay.Reply{empty, garbage}, false, 3},
		{"a refusal of a schema that names no tool", []replay.Reply{schema}, true, 1},
		{"one empty reply may happen", []replay.Reply{empty}, false, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := describing(replay.New(append(c.script, replay.Text("hello"))...), true)
			turn, ev := must(t, config(), m, newBox().says("echo", "hi"), nil, "go")
			sw := of[agent.ModeSwitched](ev)
			if (len(sw) == 1) != c.switched || turn.Answer != "hello" {
				t.Fatalf("switches %+v, answer %q", sw, turn.Answer)
			}
			if said := turn.Messages[0].Remarks; c.switched != reflect.DeepEqual(said, []agent.Remark{{From: agent.ModeNative, To: agent.ModePrompt}}) {
				t.Errorf("seen again: %+v", said)
			}
			native := 0
			for _, r := range m.Requests() {
				if len(r.Tools) > 0 {
					native++
				}
			}
			last := m.Requests()[len(m.Requests())-1]
			if native != c.asked || strings.Contains(last.System, "<tool_call>") != c.switched {
				t.Errorf("%d native requests, want %d; the last prompt teaches calling: %v", native, c.asked, !c.switched)
			}
		})
	}
	t.Run("another bad request is an error", func(t *testing.T) {
		bad := replay.Reply{Err: &agent.ModelError{Code: agent.ModelBadRequest, Model: "m", Msg: "temperature out of range"}}
		_, ev, err := ask(t, config(), describing(replay.New(bad), true), newBox().says("echo", "hi"), nil, "go")
		if !agent.IsModelCode(err, agent.ModelBadRequest) || len(of[agent.ModeSwitched](ev)) != 0 {
			t.Errorf("err %v", err)
		}
	})
}

// What the operator has set is not overruled: the turn fails with the provider's sentence
// and with what to set.
func TestNativeCallingThatIsSet(t *testing.T) {
	bad := func(code agent.ModelCode, msg string) replay.Reply {
		return replay.Reply{Err: &agent.ModelError{Code: code, Model: "ark", Msg: msg}}
	}
	for _, c := range []struct {
		name   string
		script []replay.Reply
		says   []string
		asked  int
	}{
		{"tools are refused", []replay.Reply{bad(agent.ModelBadRequest, "m does not support tools")}, []string{"m does not support tools", "native_tools = false in [models.ark]", `mode = "native"`}, 1},
		{"a schema is refused", []replay.Reply{bad(agent.ModelBadRequest, "tools.function.parameters is not a valid schema")}, []string{"not a valid schema", "deny_tools"}, 1},
		{"garbage, twice", []replay.Reply{bad(agent.ModelGarbage, "not JSON"), bad(agent.ModelGarbage, "not JSON")}, []string{"not JSON"}, 2},
		{"an empty reply, twice", []replay.Reply{replay.Text(""), {Reasoning: "hm"}}, nil, 2},
	} {
		m := describing(replay.New(append(c.script, replay.Text("hello"))...), true)
		turn, ev, err := ask(t, config(func(c *agent.Config) { c.Mode = agent.ModeNative }), m, newBox().says("echo", "hi"), nil, "go")
		if (err == nil) != (c.says == nil) || turn.Answer != "" || len(of[agent.ModeSwitched](ev)) != 0 || len(m.Requests()) != c.asked {
			t.Errorf("%s: %v, %q after %d requests", c.name, err, turn.Answer, len(m.Requests()))
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", c.name, err, want)
			}
		}
	}
}

// A tool whose description the provider refuses is left out of the rest of the turn, and
// of no other.
func TestToolsThatTheProviderRefuses(t *testing.T) {
	refuse := func(names ...string) replay.Reply {
		return replay.Reply{Err: &agent.ModelError{Code: agent.ModelBadRequest, Model: "m", Msg: "Invalid schema for function", Tools: names}}
	}
	offered := func(r agent.Request) (names []string) {
		for _, s := range r.Tools {
			names = append(names, s.Name)
		}
		return names
	}
	for _, mode := range []agent.Mode{agent.ModeAuto, agent.ModeNative} {
		box := newBox().says("echo", "hi").says("odd", "x").says("worse", "y")
		m := describing(replay.New(refuse("odd"), refuse("worse", "gone"), nativeCall("a", "odd", `{}`), replay.Text("done"), replay.Text("again")), true)
		cfg := config(func(c *agent.Config) { c.Mode, c.Tools = mode, new(agent.ToolCache) })
		turn, ev := must(t, cfg, m, box, nil, "go")
		if got := offered(m.Requests()[2]); turn.Answer != "done" || len(got) != 1 || got[0] != "echo" || len(of[agent.ModeSwitched](ev)) != 0 {
			t.Errorf("%s: %q, with %v", mode, turn.Answer, got)
		}
		if told := of[agent.ModelRepeated](ev); len(told) != 2 || !reflect.DeepEqual(told[1].Without, []string{"worse", "gone"}) || !strings.Contains(told[0].Err.Error(), "the turn goes on without odd") {
			t.Errorf("%s: told %+v", mode, told)
		}
		if got := lastText(m, 3); len(box.called()) != 0 || !strings.Contains(got, "odd") {
			t.Errorf("%s: called %v, told %s", mode, box.called(), got)
		}
		must(t, cfg, m, box, turn.Messages, "more")
		if got := offered(m.Requests()[4]); len(got) != 3 {
			t.Errorf("%s: the next turn has %v", mode, got)
		}
	}
	t.Run("one that has to be called", func(t *testing.T) {
		m := describing(replay.New(refuse("odd"), replay.Text("done")), true)
		_, _, err := ask(t, config(func(c *agent.Config) { c.Mode, c.Choice = agent.ModeNative, agent.Choice{Must: true, Tool: "odd"} }), m, newBox().says("odd", "x"), nil, "go")
		if err == nil && len(m.Requests()) > 1 && len(m.Requests()[1].Tools) == 0 {
			t.Error("the turn went on without the tool that it had to call")
		}
	})
	t.Run("without end", func(t *testing.T) {
		box, script := newBox(), []replay.Reply{}
		for i := range 20 {
			box.says(fmt.Sprintf("t%d", i), "x")
			script = append(script, refuse(fmt.Sprintf("t%d", i)))
		}
		m := describing(replay.New(append(script, replay.Text("done"))...), true)
		_, _, err := ask(t, config(func(c *agent.Config) { c.Mode = agent.ModeNative }), m, box, nil, "go")
		if err == nil || len(m.Requests()) > 10 {
			t.Errorf("%v after %d requests", err, len(m.Requests()))
		}
	})
}

// With ModeAuto, what a try has shown decides where the model does not say.
func TestNativeToolsThatATryHasShown(t *testing.T) {
	for _, c := range []struct {
		says, tried *bool
		want        agent.Mode
	}{{nil, new(true), agent.ModeNative}, {nil, new(false), agent.ModePrompt}, {new(false), new(true), agent.ModePrompt}, {new(true), new(false), agent.ModeNative}} {
		m := replay.New(replay.Text("x")).Describing(agent.ModelInfo{NativeTools: c.says})
		_, ev := must(t, config(func(cfg *agent.Config) { cfg.NativeTools = c.tried }), m, newBox().says("echo", "x"), nil, "go")
		if got := of[agent.TurnStart](ev)[0].Mode; got != c.want {
			t.Errorf("%+v: mode %s", c, got)
		}
	}
}

func TestACallThatLeaksIntoTheTextStillRuns(t *testing.T) {
	b := newBox().says("echo", "hi")
	m := describing(replay.New(replay.Call("echo", `{"text":"x"}`), replay.Text("done")), true)
	turn, _ := must(t, config(), m, b, nil, "go")
	if len(b.called()) != 1 || turn.Answer != "done" || turn.Messages[1].Native {
		t.Errorf("called %v, answer %q, native %v", b.called(), turn.Answer, turn.Messages[1].Native)
	}
}

func TestPlanning(t *testing.T) {
	planned := config(func(c *agent.Config) { c.EnablePlanning = true; c.MaxPlanningSteps = 2 })
	m := replay.New(replay.Text("1. Read the file\n2. Count the lines\n3. Too many"),
		replay.Reply{Text: "Step 1: reading. " + replay.Call("echo", `{"text":"a"}`).Text},
		replay.Reply{Text: "Step 2: counting. " + replay.Call("echo", `{"text":"b"}`).Text}, replay.Text("Three lines."))
	turn, ev := must(t, planned, m, newBox().says("echo", "hi"), nil, "How many lines?")
	if turn.Answer != "Three lines." || strings.Contains(ev.text(), "Read the file") {
		t.Errorf("answer %q, shown %q", turn.Answer, ev.text())
	}
	if p := of[agent.PlanReady](ev); len(p) != 1 || len(p[0].Steps) != 2 || p[0].Steps[1] != "Count the lines" {
		t.Errorf("planned %+v", p)
	}
	for i, want := range map[int]string{0: "at most 2 numbered steps", 1: "Carry out the plan", 2: "1 of 2 steps done. Next is step 2: Count the lines", 3: "all 2 steps are done"} {
		if got := lastText(m, i); !strings.Contains(got, want) {
			t.Errorf("request %d does not say %q:\n%s", i, want, got)
		}
	}
	t.Run("a question that needs no plan", func(t *testing.T) {
		turn, ev := must(t, planned, replay.New(replay.Text("Hello!")), newBox().says("echo", "hi"), nil, "hello")
		if turn.Answer != "Hello!" || ev.text() != "Hello!" || turn.Stats.Rounds != 1 {
			t.Errorf("answer %q, shown %q, rounds %d", turn.Answer, ev.text(), turn.Stats.Rounds)
		}
	})
	t.Run("a model that calls at once", func(t *testing.T) {
		turn, _ := must(t, planned, replay.New(replay.Call("echo", `{"text":"a"}`), replay.Text("done")), newBox().says("echo", "hi"), nil, "go")
		if turn.Answer != "done" {
			t.Errorf("answer %q", turn.Answer)
		}
	})
	t.Run("after a prefetch", func(t *testing.T) {
		cfg := planned
		cfg.Prefetch = []agent.Prefetch{{Tool: "echo"}}
		m := replay.New(replay.Text("1. Look again\n2. Answer"), replay.Text("Step 2: done."))
		turn, ev := must(t, cfg, m, newBox().says("echo", "hi"), nil, "what?")
		if turn.Answer != "Step 2: done." || len(of[agent.PlanReady](ev)) != 1 {
			t.Errorf("answer %q, plans %v", turn.Answer, of[agent.PlanReady](ev))
		}
	})
	t.Run("in Chinese", func(t *testing.T) {
		m := replay.New(replay.Text("步骤 1：读取文件\n步骤 2：统计行数"), replay.Reply{Text: "步骤 1：" + replay.Call("echo", `{"text":"a"}`).Text}, replay.Text("三行。"))
		must(t, planned, m, newBox().says("echo", "hi"), nil, "文件有几行？")
		if got := lastText(m, 2); !strings.Contains(got, "共 2 步，已完成 1 步。接下来是步骤 2：统计行数") {
			t.Errorf("told %s", got)
		}
	})
}

func TestReflection(t *testing.T) {
	cfg := config(func(c *agent.Config) { c.EnableReflection = true })
	call := replay.Call("echo", `{"text":"a"}`)
	for _, c := range []struct {
		name   string
		check  replay.Reply
		answer string
	}{
		{"the draft is right", replay.Text("OK."), "Draft."},
		{"right, in other words", replay.Text("**ok**"), "Draft."},
		{"it is corrected", replay.Text("Better answer."), "Better answer."},
		{"the check calls a tool", call, "Draft."},
		{"the check fails", replay.Reply{Err: errBoom}, "Draft."},
		{"the check says nothing", replay.Text(""), "Draft."},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, b := replay.New(call, replay.Text("Draft."), c.check), newBox().says("echo", "hi")
			turn, ev := must(t, cfg, m, b, nil, "go")
			if turn.Answer != c.answer || ev.text() != c.answer || len(b.called()) != 1 {
				t.Errorf("answer %q, shown %q, calls %v", turn.Answer, ev.text(), b.called())
			}
			if last := turn.Messages[len(turn.Messages)-1]; len(turn.Messages) != 4 || last.Text != c.answer {
				t.Errorf("stored %d messages, the last %q", len(turn.Messages), last.Text)
			}
		})
	}
	t.Run("the time runs out in the check: the draft stands", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			slow := replay.Reply{Text: "Better", Delay: time.Hour}
			timed := cfg
			timed.TimeBudget = time.Minute
			turn, ev := must(t, timed, replay.New(call, replay.Reply{Reasoning: "why", Text: "Draft."}, slow), newBox().says("echo", "hi"), nil, "go")
			last := turn.Messages[len(turn.Messages)-1]
			if turn.Answer != "Draft." || ev.text() != "Draft." || turn.Reason != agent.ReasonTime || last.Text != "Draft." || last.Reasoning != "why" {
				t.Errorf("answer %q, shown %q, reason %s, stored %+v", turn.Answer, ev.text(), turn.Reason, last)
			}
		})
	})
	t.Run("no budget is left for the check: the draft is the answer", func(t *testing.T) {
		tight := cfg
		tight.TokenBudget = 1500
		m := replay.New(call, replay.Reply{Text: "Draft.", Usage: &agent.Usage{Prompt: 1200}})
		turn, _ := must(t, tight, m, newBox().says("echo", "hi"), nil, "go")
		if turn.Answer != "Draft." || turn.Reason != agent.ReasonAnswer || turn.Stats.Rounds != 2 {
			t.Errorf("answer %q, reason %s", turn.Answer, turn.Reason)
		}
	})
	t.Run("no check without results", func(t *testing.T) {
		turn, _ := must(t, cfg, replay.New(replay.Text("Hello.")), newBox().says("echo", "hi"), nil, "hello")
		if turn.Answer != "Hello." || turn.Stats.Rounds != 1 {
			t.Errorf("answer %q after %d rounds", turn.Answer, turn.Stats.Rounds)
		}
	})
}

// What a provider wants back with its calls goes back while the turn lasts, and
// is stored nowhere.
func TestSealedRepliesGoBackInTheirTurn(t *testing.T) {
	first := nativeCall("a", "echo", `{"text":"1"}`)
	first.Reasoning, first.Sealed = "why", json.RawMessage(`["sealed"]`)
	m := describing(replay.New(first, nativeCall("b", "echo", `{"text":"2"}`), replay.Text("done"), replay.Text("again")), true)
	turn, _ := must(t, config(), m, newBox().says("echo", "hi"), nil, "go")
	if got := m.Requests()[2].Messages; string(got[1].Sealed) != `["sealed"]` || got[1].Reasoning != "why" || got[3].Sealed != nil {
		t.Errorf("went back: %+v", got)
	}
	for _, msg := range turn.Messages {
		if msg.Sealed != nil {
			t.Errorf("kept behind the turn: %s", msg.Sealed)
		}
	}
	must(t, config(), m, newBox().says("echo", "hi"), turn.Messages, "more")
	if got := m.Requests()[3].Messages[1]; got.Sealed != nil || got.Reasoning != "why" {
		t.Errorf("in the next turn: %+v", got)
	}
}

// The tools stay in the last request, for providers that want them, and are
// forbidden there.
func TestTheLastRequestForbidsCalls(t *testing.T) {
	m := describing(replay.New(nativeCall("a", "echo", `{"text":"1"}`), replay.Text("done")), true)
	must(t, config(func(c *agent.Config) { c.MaxToolCalls = 1 }), m, newBox().says("echo", "hi"), nil, "go")
	reqs := m.Requests()
	if len(reqs) != 2 || reqs[0].NoCalls || !reqs[1].NoCalls || len(reqs[1].Tools) != len(reqs[0].Tools) {
		t.Errorf("%d requests: %v %v, %d tools", len(reqs), reqs[0].NoCalls, reqs[len(reqs)-1].NoCalls, len(reqs[len(reqs)-1].Tools))
	}
}

// A call that comes after the last one, from a provider that does not forbid calls, does
// not run: it is refused once, and the next reply ends the turn whatever it is.
func TestCallsAfterTheLastOneAreRefusedOnce(t *testing.T) {
	late := func(id, text string) replay.Reply {
		r := nativeCall(id, "echo", `{"text":"2"}`)
		r.Text = text
		return r
	}
	for _, c := range []struct {
		name   string
		then   []replay.Reply
		asked  int
		answer string
	}{
		{"the model listens", []replay.Reply{late("b", ""), replay.Text("done")}, 3, "done"},
		{"an announcement is no answer", []replay.Reply{late("b", "I look."), replay.Text("done")}, 3, "done"},
		{"text beside a call is the answer then", []replay.Reply{late("b", ""), late("c", "done")}, 3, "done"},
		{"the model never listens", []replay.Reply{late("b", ""), late("c", ""), replay.Text("more")}, 3, ""},
		{"an unknown tool", []replay.Reply{nativeCall("b", "ecko", "{"), replay.Text("done")}, 3, "done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := describing(replay.New(append([]replay.Reply{nativeCall("a", "echo", `{"text":"1"}`)}, c.then...)...), true)
			b := newBox().says("echo", "hi")
			turn, ev := must(t, config(func(c *agent.Config) { c.MaxToolCalls = 1 }), m, b, nil, "go")
			if len(b.called()) != 1 || len(m.Requests()) != c.asked || turn.Answer != c.answer || turn.Reason != agent.ReasonMaxCalls || turn.Stats.Calls != 1 {
				t.Errorf("%d calls, %d requests, %q: %s", len(b.called()), len(m.Requests()), turn.Answer, turn.Reason)
			}
			msgs := m.Requests()[2].Messages
			if i := len(msgs) - 1; msgs[i].Role != "tool" || msgs[i].CallID != "b" || !strings.Contains(msgs[i].Text, "not run") || !strings.Contains(msgs[i].Text, "Write the answer as text") {
				t.Errorf("the model reads %+v", msgs[i])
			}
			if ends := of[agent.CallEnd](ev); len(ends) != 2 || ends[1].Result.Err == nil || ends[1].Result.Err.Code != tool.Denied {
				t.Errorf("told %+v", ends)
			}
			again := describing(replay.New(replay.Text("ok")), true)
			must(t, config(), again, b, turn.Messages, "more") // every call that is stored has a result
		})
	}
}

// A malformed call after the last one is no answer either.
func TestAMalformedCallIsNoAnswer(t *testing.T) {
	m := replay.New(replay.Call("echo", `{"text":"1"}`), replay.Text(`<tool_call>{"tool_name":"ecko","arguments":{}}</tool_call>`), replay.Text("done"))
	turn, _ := must(t, config(func(c *agent.Config) { c.MaxToolCalls = 1 }), m, newBox().says("echo", "hi"), nil, "go")
	if turn.Answer != "done" {
		t.Errorf("answer %q", turn.Answer)
	}
}

// Retries are reported while the turn waits. A reply that was not read after its
// call has an estimated usage.
func TestRetriesAndEstimatesAreReported(t *testing.T) {
	talks := replay.Call("echo", `{"text":"x"}`)
	talks.Text += " And the result will be that everything is fine."
	talks.Chunk, talks.Usage = 10, &agent.Usage{Prompt: 7, Completion: 7}
	script := replay.New(talks, replay.Reply{Text: "done", Usage: &agent.Usage{Prompt: 5, Completion: 1}})
	m := repeating{script}
	turn, ev := must(t, config(), m, newBox().says("echo", "hi"), nil, "go")
	if got := of[agent.ModelRepeated](ev); len(got) != 2 || got[0].Wait != time.Second || !agent.IsModelCode(got[0].Err, agent.ModelRateLimited) {
		t.Errorf("told %+v", got)
	}
	if u := turn.Usage; !u.Estimated || u.Prompt < 100 || u.Completion < 10 {
		t.Errorf("usage %+v; want an estimate of the first reply and the count of the second", u)
	}
}

// repeating is a model whose provider refuses once before every reply.
type repeating struct{ *replay.Model }

func (m repeating) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		agent.Repeating(ctx, &agent.ModelError{Code: agent.ModelRateLimited}, time.Second)
		m.Model.Generate(ctx, r)(yield)
	}
}
