package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// clock is a Toolbox with one tool.
type clock struct{}

func (clock) Tools() []tool.Spec {
	return []tool.Spec{{Name: "now", Description: "Tells the time", Params: json.RawMessage(`{"type":"object"}`)}}
}

func (clock) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{CallID: c.ID, Tool: c.Tool, Shown: tool.View{Text: "12:00", TotalChars: 5, TotalLines: 1}}, nil
}

func ExampleLoop_Run() {
	// A scripted model is in for a real one.
	model := replay.New(replay.Call("now", `{}`), replay.Text("It is noon."))
	watch := agent.ObserverFunc(func(e agent.Event) {
		if end, ok := e.(agent.CallEnd); ok {
			fmt.Println(end.Result.Tool, "→", end.Result.Shown.Text)
		}
	})
	loop, err := agent.New(agent.Defaults(), model, clock{}, watch)
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := loop.Run(context.Background(), nil, "What time is it?")
	fmt.Println(turn.Answer, turn.Reason, err)
	// Output:
	// now → 12:00
	// It is noon. answer <nil>
}

// An echoModel is a Model that repeats the last message.
type echoModel struct{}

func (echoModel) Generate(_ context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		text := r.Messages[len(r.Messages)-1].Text
		if yield(agent.Delta{Text: "You said: " + text}, nil) {
			yield(agent.Delta{Finish: agent.FinishStop, Usage: &agent.Usage{Prompt: 5, Completion: 4}}, nil)
		}
	}
}

// A Model streams the pieces of a reply; the last one has Finish set.
func ExampleModel() {
	loop, err := agent.New(agent.Config{}, echoModel{}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := loop.Run(context.Background(), nil, "hello")
	fmt.Println(turn.Answer, turn.Usage.Prompt+turn.Usage.Completion, err)
	// Output: You said: hello 9 <nil>
}

// An Observer receives the events of a turn, in order.
func ExampleObserver() {
	calls := 0
	count := agent.ObserverFunc(func(e agent.Event) {
		switch e := e.(type) {
		case agent.CallStart:
			calls++
		case agent.TurnEnd:
			fmt.Println(calls, "call,", e.Rounds, "rounds,", e.Reason)
		}
	})
	model := replay.New(replay.Call("now", `{}`), replay.Text("It is noon."))
	loop, err := agent.New(agent.Defaults(), model, clock{}, count)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = loop.Run(context.Background(), nil, "What time is it?")
	fmt.Println(err)
	// Output:
	// 1 call, 2 rounds, answer
	// <nil>
}

// A placeholder replaces an archived result after its turn.
func ExamplePlaceholder() {
	ref := tool.Ref{UUID: "7c1d", Query: `{"pattern":"TODO"}`, Summary: "12 matches in 4 files", Chars: 52000, Lines: 800,
		CreatedAt: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)}
	first, _, _ := strings.Cut(agent.Placeholder(ref, "grep_search", tool.En), "\n")
	fmt.Println(first)
	// Output: 📎 [Tool result archived: 7c1d]
}
