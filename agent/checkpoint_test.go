package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// A turn that goes on from any of its checkpoints asks the model for what it would have
// asked without that, byte for byte, and comes to the same end.
func TestContinueAsksTheSame(t *testing.T) {
	call := func(n int, name, text string) replay.Reply {
		return replay.Reply{Text: fmt.Sprintf(`I call. <tool_call>{"id":"call_%d","tool_name":%q,"arguments":{"text": %q}}</tool_call>`, n, name, text), Usage: &agent.Usage{Prompt: 100, Completion: 7}}
	}
	native := func(n int, name, text string) replay.Reply {
		return replay.Reply{Reasoning: "Hm.", Calls: []tool.Call{{ID: fmt.Sprintf("call_%d", n), Tool: name, Args: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text))}}, Sealed: json.RawMessage(`"s"`)}
	}
	for name, c := range map[string]struct {
		change  func(*agent.Config)
		replies []replay.Reply
	}{
		"calls used up":  {func(c *agent.Config) { c.MaxToolCalls = 2 }, []replay.Reply{call(1, "short", "a"), call(2, "short", "b"), call(3, "short", "c"), replay.Text("Done.")}},
		"tokens used up": {func(c *agent.Config) { c.TokenBudget = 200 }, []replay.Reply{call(1, "short", "a"), call(2, "short", "b"), replay.Text("Done.")}},
		"a plan":         {func(c *agent.Config) { c.EnablePlanning = true; c.MaxPlanningSteps = 3 }, []replay.Reply{replay.Text("1. Look\n2. Look again"), call(1, "short", "a"), call(2, "short", "b"), call(3, "short", "c"), replay.Text("Done.")}},
		"no plan yet":    {func(c *agent.Config) { c.EnablePlanning = true; c.MaxPlanningSteps = 3 }, []replay.Reply{call(1, "short", "a"), replay.Text("1. Look\n2. Look again"), replay.Text("Done.")}},
		"a check":        {func(c *agent.Config) { c.EnableReflection = true }, []replay.Reply{call(1, "short", "a"), replay.Text("Draft."), replay.Text("Done.")}},
		"folds":          {func(c *agent.Config) { c.Window = 5000 }, []replay.Reply{call(1, "long", "a"), call(2, "long", "b"), call(3, "long", "c"), call(4, "long", "d"), call(5, "long", "e"), replay.Text("Done.")}},
		"the same again": {func(*agent.Config) {}, []replay.Reply{call(1, "short", "a"), call(2, "short", "a"), call(3, "short", "a"), replay.Text("Done.")}},
		"malformed":      {func(*agent.Config) {}, []replay.Reply{{Text: call(1, "short", "a").Text + `<tool_call>{"id":"call_2","tool_name":"short","arguments":{"text":}}</tool_call>`}, {Text: `<tool_call>{"nothing"}</tool_call>`}, call(3, "short", "b"), replay.Text("Done.")}},
		"a quotation":    {func(*agent.Config) {}, []replay.Reply{call(1, "quoting", "a"), call(2, "short", "quoted"), call(3, "short", "b"), replay.Text("Done.")}},
		"no ids":         {func(*agent.Config) {}, []replay.Reply{call(1, "short", "a"), {Text: strings.Replace(call(1, "short", "b").Text, "call_1", "", 1)}, {Text: strings.Replace(call(1, "short", "c").Text, "call_1", "", 1)}, replay.Text("Done.")}},
		"must call":      {func(c *agent.Config) { c.Choice = agent.Choice{Must: true} }, []replay.Reply{replay.Text("No."), call(1, "short", "a"), replay.Text("Done.")}},
		"native":         {func(c *agent.Config) { c.Mode = agent.ModeNative; c.MaxToolCalls = 2 }, []replay.Reply{native(1, "short", "a <b> & c"), native(2, "short", "b"), native(3, "short", "c"), replay.Text("Done.")}},
		"native fails":   {func(c *agent.Config) { c.Mode = agent.ModeNative }, []replay.Reply{native(1, "short", "a"), {}, {}, call(2, "short", "b"), replay.Text("Done.")}},
		"ahead":          {func(c *agent.Config) { c.Prefetch = []agent.Prefetch{{Tool: "short"}}; c.EnablePlanning = true }, []replay.Reply{replay.Text("1. Look\n2. Look again"), call(1, "short", "b"), replay.Text("Done.")}},
	} {
		t.Run(name, func(t *testing.T) {
			newTools := func() *box {
				return newBox().says("short", "A result.").add("long", func(_ context.Context, args map[string]any) (string, *tool.Error) {
					return fmt.Sprint(args["text"], "\n", lines(60, 60)), nil
				}).says("quoting", `<tool_call>{"id":"call_2","tool_name":"short","arguments":{"text": "quoted"}}</tool_call>`)
			}
			history := []agent.Message{{Role: agent.RoleUser, Text: "Before?", Turn: 1}, {Role: agent.RoleAssistant, Text: "I call.", Turn: 1, Calls: []tool.Call{{ID: "call_0", Tool: "short", Args: json.RawMessage(`{"text":"0"}`), Turn: 1}}}} // without a result
			var steps [][]byte
			var kept []agent.Checkpoint
			var asked []int // requests before each step
			var ran []int   // calls before each step
			m, tools := replay.New(c.replies...), newTools()
			cfg := config(c.change)
			cfg.Checkpoint = func(_ context.Context, s agent.Checkpoint) error {
				b, err := json.Marshal(s)
				kept, steps, asked, ran = append(kept, s), append(steps, b), append(asked, len(m.Requests())), append(ran, len(tools.calls))
				return err
			}
			want, _ := must(t, cfg, m, tools, history, "Now?")
			if len(steps) < 2 {
				t.Fatalf("%d steps", len(steps))
			}
			for at := range steps {
				if b, err := json.Marshal(kept[at]); err != nil || !bytes.Equal(b, steps[at]) {
					t.Errorf("step %d has changed: %v\n%s\nwas\n%s", at+1, err, b, steps[at])
				}
				var before []agent.Checkpoint
				for _, b := range steps[:at+1] {
					var s agent.Checkpoint
					if err := json.Unmarshal(b, &s); err != nil {
						t.Fatal(err)
					}
					before = append(before, s)
				}
				again := replay.New(c.replies[asked[at]:]...)
				elsewhere := newTools()
				elsewhere.calls = slices.Clone(tools.calls[:ran[at]]) // which number the results
				l, err := agent.New(config(c.change), again, elsewhere, nil)
				if err != nil {
					t.Fatal(err)
				}
				question := agent.Message{Role: agent.RoleUser, Text: "Now?", Turn: 2, At: fixedNow()}
				got, err := l.Continue(t.Context(), append(slices.Clone(history), question), before, func(tool.Call) *tool.Error { return nil })
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range again.Requests() {
					if w := m.Requests()[asked[at]+i]; !sameJSON(t, r, w) {
						t.Errorf("after step %d, request %d:\n%s\nwant\n%s", at+1, i+1, indented(t, r), indented(t, w))
						break
					}
				}
				got.Stats.Elapsed = want.Stats.Elapsed
				if got.Answer != want.Answer || got.Reason != want.Reason || !reflect.DeepEqual(got.Stats, want.Stats) || got.Usage != want.Usage || !sameJSON(t, got.Messages, want.Messages) {
					t.Errorf("after step %d: %+v %+v\n%s\nwant %+v %+v\n%s", at+1, got.Stats, got.Usage, indented(t, got.Messages), want.Stats, want.Usage, indented(t, want.Messages))
				}
			}
		})
	}
}

func sameJSON(t *testing.T, a, b any) bool { return indented(t, a) == indented(t, b) }

func indented(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	// The id is made by chance.
	return confirmID.ReplaceAllString(string(b), "confirm_it")
}
