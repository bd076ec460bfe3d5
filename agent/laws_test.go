package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// anyReply draws what a model may come up with, good and bad.
func anyReply(t *rapid.T, native bool) replay.Reply {
	arg := fmt.Sprintf(`{"text":"%d"}`, rapid.IntRange(0, 5).Draw(t, "arg"))
	name := rapid.SampledFrom([]string{"short", "long", "fails", "nope", "load_tool_history"}).Draw(t, "tool")
	call := replay.Call(name, arg).Text
	kind := rapid.SampledFrom([]string{"call", "call", "call", "group", "text", "empty", "broken", "cut", "length", "error", "thought", "native"}).Draw(t, "kind")
	switch kind {
	case "call":
		return replay.Reply{Text: "I look. " + call, Chunk: rapid.IntRange(0, 7).Draw(t, "chunk")}
	case "group":
		return replay.Text(call + "\n" + replay.Call("short", `{"text":"x"}`).Text + call + "\nmade up result " + call)
	case "text":
		return replay.Reply{Text: "An answer.", Usage: &agent.Usage{Prompt: rapid.IntRange(0, 9000).Draw(t, "usage")}}
	case "empty":
		return replay.Text("")
	case "broken":
		return replay.Text(`<tool_call>{"id":"call_001","tool_name":"short","arguments":{"text":`)
	case "cut":
		return replay.Reply{Text: "half " + call, Cut: true}
	case "length":
		return replay.Reply{Text: call[:len(call)-9], Finish: agent.FinishLength}
	case "error":
		code := rapid.SampledFrom([]agent.ModelCode{agent.ModelBadRequest, agent.ModelGarbage, agent.ModelWindow, agent.ModelOverloaded}).Draw(t, "code")
		return replay.Reply{Text: rapid.SampledFrom([]string{"", "part"}).Draw(t, "said"), Err: &agent.ModelError{Code: code, Model: "m", Msg: "no tools here"}}
	case "thought":
		return replay.Reply{Reasoning: "hmm " + call, Text: "Thought about it."}
	}
	if !native {
		return replay.Text("plain")
	}
	bad := rapid.SampledFrom([]string{arg, "", "[", "null"}).Draw(t, "args")
	return replay.Reply{Calls: []tool.Call{{ID: "same", Tool: name, Args: json.RawMessage(bad)}, {ID: "same", Tool: "short", Args: json.RawMessage(arg)}}}
}

// Whatever model and tools do, a turn keeps its promises.
func TestLawsOfATurn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		native := rapid.Bool().Draw(rt, "native")
		b := newBox().says("short", "hi").says("long", lines(rapid.IntRange(10, 800).Draw(rt, "lines"), 30)).loads().
			add("fails", func(context.Context, map[string]any) (string, *tool.Error) {
				return "", tool.Errorf(tool.Failed, "", "no")
			})
		cfg := config(func(c *agent.Config) {
			c.Window = rapid.SampledFrom([]int{0, 4096, 32768}).Draw(rt, "window")
			c.MaxToolCalls = rapid.IntRange(1, 8).Draw(rt, "calls")
			c.EnablePlanning = rapid.Bool().Draw(rt, "plan")
			c.EnableReflection = rapid.Bool().Draw(rt, "reflect")
			c.MemoryLimit = rapid.SampledFrom([]int{0, 4, -1}).Draw(rt, "memory")
			if native {
				c.Mode = agent.ModeNative
			}
		})
		var history []agent.Message
		for turnNo := range rapid.IntRange(1, 3).Draw(rt, "turns") {
			m := replay.Func(func(int, agent.Request) replay.Reply { return anyReply(rt, native) })
			ev := &events{}
			l, err := agent.New(cfg, m, b, ev)
			if err != nil {
				rt.Fatal(err)
			}
			turn, err := l.Run(t.Context(), history, "question "+fmt.Sprint(turnNo))
			checkTurn(rt, cfg, turn, ev, m, history, err)
			history = turn.Messages
		}
	})
}

func checkTurn(t *rapid.T, cfg agent.Config, turn agent.Turn, ev *events, m *replay.Model, history []agent.Message, err error) {
	if turn.Reason == "" {
		t.Fatal("the turn does not say why it ended")
	}
	if err != nil && turn.Reason != agent.ReasonModel && turn.Reason != agent.ReasonWindow {
		t.Fatalf("reason %s with the error %v", turn.Reason, err)
	}
	if len(of[agent.TurnStart](ev)) != 1 || len(of[agent.TurnEnd](ev)) != 1 {
		t.Fatal("a turn has one start and one end")
	}
	open := map[string]bool{}
	for _, e := range ev.all {
		switch e := e.(type) {
		case agent.CallStart:
			open[e.Call.ID] = true
		case agent.CallEnd:
			if !open[e.Result.CallID] {
				t.Fatalf("call %s ends without a start", e.Result.CallID)
			}
			delete(open, e.Result.CallID)
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls %v never end", open)
	}
	if turn.Stats.Calls > cfg.MaxToolCalls {
		t.Fatalf("%d calls, the limit is %d", turn.Stats.Calls, cfg.MaxToolCalls)
	}
	if n := len(m.Requests()); n > cfg.MaxToolCalls+agent.DefaultMaxCorrections+12 {
		t.Fatalf("%d requests", n)
	}
	ids := map[string]bool{}
	for i, msg := range turn.Messages {
		for j, c := range msg.Calls {
			if ids[c.ID] || !json.Valid(c.Args) {
				t.Fatalf("call %+v: its id is not new or its arguments are no JSON", c)
			}
			ids[c.ID] = true
			if res := turn.Messages[i+1].Results; len(res) != len(msg.Calls) || res[j].CallID != c.ID {
				t.Fatalf("the calls of message %d are not answered in order: %+v", i, res)
			}
		}
		if i < turn.From && !reflect.DeepEqual(msg, history[i]) {
			t.Fatalf("message %d changed, in front of From = %d", i, turn.From)
		}
	}
	raw, jsonErr := json.Marshal(turn.Messages)
	var back []agent.Message
	if jsonErr != nil || json.Unmarshal(raw, &back) != nil || len(back) != len(turn.Messages) {
		t.Fatalf("the messages do not survive storage: %v", jsonErr)
	}
	if cfg.Mode != agent.ModeNative && (strings.Contains(turn.Answer, "made up result") || strings.Contains(ev.text(), "made up result")) {
		t.Fatal("what stands behind a group of calls was shown as text")
	}
	grown(t, ev, m.Requests())
}

// grown checks that requests only grow, but for folds and a switch of mode.
func grown(t *rapid.T, ev *events, reqs []agent.Request) {
	allowed := len(of[agent.ModeSwitched](ev))
	for _, f := range of[agent.Folded](ev) {
		if f.MidTurn {
			allowed++
		}
	}
	broken := 0
	for i := 1; i < len(reqs); i++ {
		if !strings.HasPrefix(flat(reqs[i]), flat(reqs[i-1])) {
			broken++
		}
	}
	if broken > allowed {
		t.Fatalf("%d requests do not begin with the one before; %d folds and switches happened", broken, allowed)
	}
}
