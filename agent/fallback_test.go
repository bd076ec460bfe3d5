package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// failure is a reply that fails before anything of it comes.
func failure(code agent.ModelCode, status int) replay.Reply {
	e := agent.NewModelError(code, "first", tool.Textf("it failed (%s)", string(code)), tool.Text{})
	e.Status = status
	return replay.Reply{Err: e}
}

// named is a model with a name and a window.
func named(name string, window int, native bool, replies ...replay.Reply) *replay.Model {
	return replay.New(replies...).Describing(agent.ModelInfo{Name: name, Window: window, NativeTools: &native})
}

// seen are the events of a turn about models, in short.
func seen(list *[]string) agent.Observer {
	return agent.ObserverFunc(func(e agent.Event) {
		switch e := e.(type) {
		case agent.ModelSwitched:
			*list = append(*list, fmt.Sprintf("%s → %s %s %d %d", e.From, e.To, e.Mode, e.Window, e.Limit))
		case agent.ModelPassed:
			*list = append(*list, "not "+e.Model)
		case agent.TurnEnd:
			for _, b := range e.Before {
				*list = append(*list, fmt.Sprintf("%s used %d", b.Model, b.Usage.Prompt))
			}
		}
	})
}

func alternative(m *replay.Model) agent.Alternative {
	info, _ := m.Describe(context.Background())
	return agent.Alternative{Name: info.Name, Model: m}
}

func TestWhenAnotherModelAnswers(t *testing.T) {
	cut := failure(agent.ModelCut, 0)
	cut.Text = "It is"
	thought := failure(agent.ModelCut, 0)
	thought.Reasoning = "Hm."
	blank := failure(agent.ModelCut, 0)
	blank.Text = "\n\n"
	for _, c := range []struct {
		name  string
		reply replay.Reply
		falls bool
	}{
		{"no connection", failure(agent.ModelUnreachable, 0), true},
		{"after empty lines", blank, true},
		{"5xx", failure(agent.ModelOverloaded, 503), true},
		{"429", failure(agent.ModelRateLimited, 429), true},
		{"a used-up quota", failure(agent.ModelRateLimited, 403), true},
		{"a stream without a first piece", failure(agent.ModelCut, 0), true},
		{"an address that a server corrects", failure(agent.ModelUnreachable, 400), false},
		{"400", failure(agent.ModelBadRequest, 400), false},
		{"401", failure(agent.ModelAuth, 401), false},
		{"404", failure(agent.ModelNotFound, 404), false},
		{"a prompt that is too long", failure(agent.ModelWindow, 400), false},
		{"no error of a model, as a quota of a user", replay.Reply{Err: errors.New("quota")}, false},
		{"after the first character", cut, false},
		{"after a thought", thought, false},
	} {
		var events []string
		cfg := agent.Defaults()
		second := named("second", 8192, false, replay.Text("from the second"))
		cfg.Fallback = []agent.Alternative{alternative(second)}
		loop, err := agent.New(cfg, named("first", 32768, false, c.reply), newBox().says("clock", "noon"), seen(&events))
		if err != nil {
			t.Fatal(err)
		}
		turn, err := loop.Run(t.Context(), nil, "hi")
		if fell := turn.Answer == "from the second"; fell != c.falls || fell != (err == nil) || fell != (len(events) == 1) {
			t.Errorf("%s: %q, %v, %v", c.name, turn.Answer, err, events)
		}
		if last := turn.Messages[len(turn.Messages)-1]; c.falls && last.Model != "second" {
			t.Errorf("%s: the answer is said to be of %q", c.name, last.Model)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cfg := agent.Defaults()
	second := named("second", 8192, false, replay.Text("from the second"))
	cfg.Fallback = []agent.Alternative{alternative(second)}
	loop, _ := agent.New(cfg, replay.Func(func(int, agent.Request) replay.Reply { cancel(); return failure(agent.ModelOverloaded, 503) }), newBox(), nil)
	if turn, err := loop.Run(ctx, nil, "hi"); !errors.Is(err, context.Canceled) || turn.Reason != agent.ReasonCancelled || len(second.Requests()) > 0 {
		t.Errorf("after a cancel: %v, %s", err, turn.Reason)
	}
}

// What a turn runs with is decided again for the model that answers; one whose window is too
// small is passed over.
func TestTheModelThatAnswersDecides(t *testing.T) {
	var events []string
	cfg := agent.Defaults()
	long := strings.Repeat("a long question about rivers ", 400)
	small, second := named("small", 2048, false, replay.Text("no")), named("second", 16384, true, replay.Reply{Text: "yes", Usage: &agent.Usage{Prompt: 7, Completion: 1}})
	cfg.Fallback = []agent.Alternative{alternative(small), alternative(second)}
	first := named("first", 32768, false, failure(agent.ModelOverloaded, 503))
	loop, err := agent.New(cfg, first, newBox().says("clock", "noon"), seen(&events))
	if err != nil {
		t.Fatal(err)
	}
	turn, err := loop.Run(t.Context(), nil, long)
	if err != nil || turn.Answer != "yes" || len(small.Requests()) != 0 {
		t.Fatal(turn.Answer, err, len(small.Requests()))
	}
	if len(events) != 2 || events[0] != "not small" || !strings.HasPrefix(events[1], "first → second native 16384 ") {
		t.Errorf("%q", events)
	}
	if a, b := first.Requests()[0], second.Requests()[0]; len(a.Tools) != 0 || len(b.Tools) != 1 || b.Window != 16384 || !strings.Contains(a.System, "<tool_call>") || strings.Contains(b.System, "<tool_call>") {
		t.Errorf("%d and %d tools, a window of %d", len(a.Tools), len(b.Tools), b.Window)
	}
}

// A turn goes on with the results that it has, and stays with the model that answers: in the
// next rounds, after a restart of the process, and when a caller brings results.
func TestATurnStaysWithTheModelThatAnswers(t *testing.T) {
	call := replay.Call("clock", `{"text":"x"}`)
	call.Usage = &agent.Usage{Prompt: 100, Completion: 5}
	var events []string
	var steps []agent.Checkpoint
	cfg := agent.Defaults()
	cfg.Checkpoint = func(_ context.Context, c agent.Checkpoint) error { steps = append(steps, c); return nil }
	second := named("second", 16384, false, replay.Call("clock", `{"text":"y"}`), replay.Text("noon"), replay.Text("noon again"))
	cfg.Fallback = []agent.Alternative{alternative(second)}
	first := named("first", 32768, false, call, failure(agent.ModelOverloaded, 503), replay.Text("I am back"))
	box := newBox().says("clock", "noon")
	loop, err := agent.New(cfg, first, box, seen(&events))
	if err != nil {
		t.Fatal(err)
	}
	turn, err := loop.Run(t.Context(), nil, "what time is it?")
	if err != nil || turn.Answer != "noon" || len(first.Requests()) != 2 || len(second.Requests()) != 2 || len(box.calls) != 2 {
		t.Fatal(turn.Answer, err, len(first.Requests()), len(second.Requests()), len(box.calls))
	}
	if !strings.Contains(fmt.Sprint(second.Requests()[0].Messages), "noon") {
		t.Error("the second model has not read the result")
	}
	if len(events) != 2 || events[1] != "first used 100" {
		t.Errorf("%q", events)
	}
	raw, err := json.Marshal(steps)
	if err == nil {
		steps = nil
		err = json.Unmarshal(raw, &steps)
	}
	if err != nil {
		t.Fatal(err)
	}
	turn, err = loop.Continue(t.Context(), turn.Messages[:1], steps, func(tool.Call) *tool.Error { return nil })
	if err != nil || turn.Answer != "noon again" || len(first.Requests()) != 2 {
		t.Errorf("after a restart: %q, %v", turn.Answer, err)
	}

	cfg = agent.Defaults()
	cfg.EnableToolCalling = false
	cfg.Caller = []tool.Spec{{Name: "weather", Description: "The weather.", Params: json.RawMessage(`{"type":"object","properties":{}}`)}}
	second = named("second", 16384, true, replay.Reply{Calls: []tool.Call{{ID: "c1", Tool: "weather", Args: json.RawMessage(`{}`)}}}, replay.Text("sunny"))
	cfg.Fallback = []agent.Alternative{alternative(second)}
	first = named("first", 32768, true, failure(agent.ModelUnreachable, 0), replay.Text("I am back"))
	if loop, err = agent.New(cfg, first, nil, nil); err != nil {
		t.Fatal(err)
	}
	if turn, err = loop.Run(t.Context(), nil, "the weather?"); err != nil || len(turn.Pending) != 1 {
		t.Fatal(turn.Pending, err)
	}
	answer := tool.Result{CallID: "c1", Tool: "weather", Shown: tool.View{Text: "sun", TotalChars: 3, TotalLines: 1}}
	if turn, err = loop.Resume(t.Context(), turn.Messages, []tool.Result{answer}); err != nil || turn.Answer != "sunny" || len(first.Requests()) != 1 {
		t.Errorf("with the caller's result: %q, %v", turn.Answer, err)
	}
}

// When no model can answer, the error says of each why.
func TestNoModelAnswers(t *testing.T) {
	cfg := agent.Defaults()
	gone := agent.NewModelError(agent.ModelUnreachable, "second", tool.Textf("no server"), tool.Textf("start it"))
	cfg.Fallback = []agent.Alternative{
		alternative(named("tiny", 300, false)), alternative(named("second", 16384, false, replay.Reply{Err: gone})),
	}
	loop, err := agent.New(cfg, named("first", 32768, false, failure(agent.ModelOverloaded, 503)), newBox().says("clock", "noon"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = loop.Run(t.Context(), nil, "hi")
	for _, want := range []string{"model second: no server; before it, model first: it failed (overloaded); model tiny was not asked: the question with its results needs about ", "; start it"} {
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, gone) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
