// Command model teaches weir a model of your own: whatever gives a text for a
// text can call tools, here a few rules that answer questions about a shop. The
// tool is a Go function, for the agent works with any Toolbox, a host or not.
//
//	go run ./examples/model "What does a kettle cost?"
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func main() {
	question := cmp.Or(strings.Join(os.Args[1:], " "), "What does a kettle cost?")
	if err := run(context.Background(), os.Stdout, question); err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, question string) error {
	loop, err := agent.New(agent.Defaults(), rules{}, shop{}, agent.ObserverFunc(func(e agent.Event) {
		if call, ok := e.(agent.CallStart); ok {
			fmt.Fprintf(out, "calls  %s %s\n", call.Call.Tool, call.Call.Args)
		}
	}))
	if err != nil {
		return err
	}
	turn, err := loop.Run(ctx, nil, question)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "answer %s\n", turn.Answer)
	return nil
}

// rules is the model. The system prompt of a request describes the tools and how
// they are called; a model that reads it needs no tool API.
type rules struct{}

// Generate implements agent.Model. A model that streams yields as it reads.
func (rules) Generate(_ context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		yield(agent.Delta{Text: reply(r.Messages[len(r.Messages)-1].Text), Finish: agent.FinishStop}, nil)
	}
}

// reply is what a model would make of the last message: a question, or a result.
func reply(last string) string {
	if _, price, ok := strings.Cut(last, "price: "); ok {
		price, _, _ = strings.Cut(price, "\n")
		return "It costs " + price + "."
	}
	if strings.Contains(last, "not sold") {
		return "It is not sold here."
	}
	for _, item := range []string{"kettle", "teapot"} {
		if strings.Contains(last, item) {
			return fmt.Sprintf(`<tool_call>{"tool_name": "price", "arguments": {"item": %q}}</tool_call>`, item)
		}
	}
	return "I only know what things cost."
}

// shop is the Toolbox.
type shop struct{}

func (shop) Tools() []tool.Spec {
	return []tool.Spec{{
		Name: "price", Description: "Returns the price of an item.",
		Params: json.RawMessage(`{"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}`),
	}}
}

func (shop) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	var args struct{ Item string }
	r := tool.Result{CallID: c.ID, Tool: c.Tool}
	if err := json.Unmarshal(c.Args, &args); err != nil || args.Item != "kettle" {
		r.Err = tool.Errorf(tool.BadArgs, "Ask for a kettle.", "%q is not sold here.", args.Item)
		return r, nil
	}
	whole := "price: 20 dollars\n"
	r.Shown = limit.Apply(whole, tool.Limits{MaxChars: tool.DefaultMaxChars, MaxLines: tool.DefaultMaxLines}, limit.By{})
	return r.WithWhole(whole), nil
}
