package turns

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// logOf returns the log of events at a level.
func logOf(level hclog.Level, f func(Log)) string {
	var b strings.Builder
	f(Log{Logger: hclog.New(&hclog.LoggerOptions{Level: level, Output: &b}), Conversation: "c1", Model: "m", End: &api.ChatEnd{}})
	return b.String()
}

// A call in a form that the prompt does not ask for is a warning that says so; others are not.
func TestMisuseIsAWarning(t *testing.T) {
	for format, want := range map[parse.Format]string{
		parse.FormatFence: "the call was in a code fence; it was run", parse.FormatJSON: "the call was bare JSON without tags; it was run",
		parse.FormatTag: "", parse.FormatMistral: "", "native": "", "prefetch": "",
	} {
		text := logOf(hclog.Info, func(l Log) {
			l.Observe(agent.CallStart{Call: tool.Call{ID: "k1", Tool: "calculator"}, Format: format})
		})
		if warned := strings.Contains(text, "[WARN]"); warned != (want != "") || !strings.Contains(text, want) || !strings.Contains(text, "id=k1") {
			t.Errorf("%s: %s", format, text)
		}
	}
}

func TestTurnLineHasToolsAndPrompt(t *testing.T) {
	text := logOf(hclog.Info, func(l Log) {
		l.Observe(agent.TurnStart{Turn: 1, Limit: 4000, Why: tool.Textf("the model's window is unknown"), Tools: 16, SystemChars: 9000})
	})
	if !strings.Contains(text, "tools=16") || !strings.Contains(text, "system_chars=9000") || !strings.Contains(text, "limit_chars=4000") {
		t.Error(text)
	}
}

// Only the level trace writes what a model replied and what a result begins with.
func TestContentsOnlyAtTrace(t *testing.T) {
	long := strings.Repeat("x", 199) + "yz"
	for level, want := range map[hclog.Level]bool{hclog.Trace: true, hclog.Debug: false, hclog.Info: false} {
		text := logOf(level, func(l Log) {
			l.Observe(agent.RoundEnd{Round: 1, Raw: "```tool_call\n{}\n```"})
			l.Result(Call{Out: api.ToolCallResult{ID: "k1", Tool: "read_file", Text: long}})
		})
		if got := strings.Contains(text, "tool_call") && strings.Contains(text, strings.Repeat("x", 199)); got != want || strings.Contains(text, "yz") {
			t.Errorf("%s: %s", level, text)
		}
	}
}
