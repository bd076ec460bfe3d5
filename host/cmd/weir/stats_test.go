package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/chat"
	"github.com/weirhost/weir/host/internal/term"
)

func TestShowStats(t *testing.T) {
	for _, row := range []struct {
		name  string
		stats store.Stats
		want  []string // fields of each line, in order
	}{
		{"nothing yet", store.Stats{}, []string{"No tool was called yet."}},
		{"a name that a model made up", store.Stats{Tools: []store.ToolStats{{Tool: "a\x1b[2J\nb\tc\u202e", Calls: 1}}}, []string{
			"TOOL CALLS FAILED CUT LOADED BACK PRODUCED SHOWN SAVED", `a\u001b[2J b c\u202e 1 0 0 % 0 % 0 0 0`,
		}},
		{"a model that never wrote a call one can read", store.Stats{Models: []store.ModelStats{
			{Model: "m", Format: "json", Malformed: 2, Outcomes: map[string]int{"malformed:truncated": 2}},
		}}, []string{"No tool was called yet.", "", "MODEL CALL WRITTEN AS OUTCOME TIMES", "m json malformed: truncated 2", "", "MODEL CALLS MISUSED", "m 2 0 %"}},
		{"the most frequent outcome comes first, then by name", store.Stats{
			Tools: []store.ToolStats{{Tool: "grep", Calls: 4, Failed: 1, Cut: 2, LoadedBack: 1, Produced: 1000, Shown: 300, Saved: 720}},
			Models: []store.ModelStats{
				{Model: "m", Format: "fence", Calls: 4, Failed: 1, Malformed: 1, Misused: 5, Outcomes: map[string]int{"malformed:bad_json": 1, "failed": 1, "ok": 3}},
				{Model: "m", Format: "tool_call", Calls: 45, Outcomes: map[string]int{"ok": 45}},
				{Model: "n", Format: "fence", Calls: 1, Misused: 1, Outcomes: map[string]int{"ok": 1}},
				{Model: "n", Format: "tool_call", Calls: 19, Outcomes: map[string]int{"ok": 19}},
			},
		}, []string{
			"TOOL CALLS FAILED CUT LOADED BACK PRODUCED SHOWN SAVED", "grep 4 1 50 % 25 % 1000 300 720", "",
			"MODEL CALL WRITTEN AS OUTCOME TIMES", "m fence ok 3", "m fence failed 1", "m fence malformed: bad_json 1", "m tool_call ok 45", "n fence ok 1", "n tool_call ok 19", "",
			"MODEL CALLS MISUSED", "m 50 10 %", "n 20 5 %",
			"m often writes calls in a code fence, as bare JSON or in another form. weir runs those that it can read. To lower the share: set native_tools = true in [models.m] if its server calls tools, remove code fences from system in [agent], or use a larger model",
		}},
	} {
		var out bytes.Buffer
		chat.ShowStats(newCLI(term.Env{Out: &out}).Printer, row.stats)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		for i := range lines {
			lines[i] = strings.Join(strings.Fields(lines[i]), " ")
		}
		if got, want := strings.Join(lines, "\n"), strings.Join(row.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", row.name, got, want)
		}
	}
}
