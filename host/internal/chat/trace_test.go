package chat

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// A trace shows what was searched for, found and called.
func TestTraceShowsSearches(t *testing.T) {
	tr := api.Trace{Suggested: []string{"a", "b"}, Rounds: []api.TraceRound{{Round: 1, Calls: []api.TraceCall{
		{ToolCallStart: api.ToolCallStart{Tool: tool.FindTools}, Found: []string{"c", "d"}}, {ToolCallStart: api.ToolCallStart{Tool: tool.FindTools}}, {ToolCallStart: api.ToolCallStart{Tool: "d"}, FoundRank: 2},
	}}}}
	for l, want := range map[tool.Locale][]string{
		tool.En: {"tools found by the question: a, b", "found: c, d", "found at place 2", "found: no tool"}, tool.Zh: {"根据问题找到的工具：a, b", "找到的工具：c, d", "查找结果第 2 位", "没有找到工具"},
	} {
		got := TraceText(&term.Printer{Language: func() tool.Locale { return l }}, tr)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q in %s", l, w, got)
			}
		}
	}
}

// A trace shows the calls of a script below it.
func TestTraceShowsCallsOfScripts(t *testing.T) {
	tr := api.Trace{Rounds: []api.TraceRound{{Round: 1, Calls: []api.TraceCall{{
		ToolCallStart: api.ToolCallStart{Tool: tool.RunScript},
		Calls:         []api.ScriptCall{{Tool: "grep_search", Produced: 1234, ElapsedMS: 5, UUID: "u-1"}, {Tool: "put", Code: "denied"}},
	}}}}}
	got := TraceText(&term.Printer{Language: func() tool.Locale { return tool.En }}, tr)
	for _, want := range []string{"\n   ├ grep_search  1,234 characters · 5 ms  u-1", "\n   └ put  ✗ denied"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}
