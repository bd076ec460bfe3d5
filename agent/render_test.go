package agent

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/sdk/tool"
)

func TestResultsMessageGolden(t *testing.T) {
	m := Message{Role: RoleResults, Results: []ResultEntry{
		{CallID: "call_001", Tool: "grep_search", Text: "a.go:1: match\n"}, {CallID: "call_002", Tool: "now", Text: "noon"},
		{CallID: "call_003", Tool: "now", Text: "later"}}}
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		m.Locale = l
		want, err := os.ReadFile(fmt.Sprintf("testdata/results_%s.txt", l))
		if err != nil {
			t.Fatal(err)
		}
		if got := resultsText(m); got != string(want) {
			t.Errorf("%s: got %s\nwant %s", l, got, want)
		}
	}
}

func TestNeighboursOfOneRoleAreJoined(t *testing.T) {
	got := chatMessages([]Message{
		{Role: RoleUser, Text: "q"}, {Role: RoleNote, Text: "n"}, {Role: RoleAssistant, Text: "a"},
		{Role: RoleAssistant, Text: ""}, {Role: RoleNote, Text: "m"}, {Role: RoleUser, Text: "p"},
	}, ModePrompt, nil)
	want := []ChatMessage{{Role: "user", Text: "q\n\nn"}, {Role: "assistant", Text: "a"}, {Role: "user", Text: "m\n\np"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
