package agent_test

import (
	"context"
	"encoding/json"
	"fmt"

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
