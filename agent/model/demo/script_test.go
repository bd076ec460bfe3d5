package demo

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// TestRunsAScript: a question that needs many results is answered by one script, where
// scripts are offered.
func TestRunsAScript(t *testing.T) {
	offered := append(shipped(t), tool.Spec{Name: tool.RunScript, Description: "Runs a script."})
	for question, pattern := range map[string]string{
		`How many lines with "TODO" are there in each file?`: `pattern: "TODO"`,
		"每个文件里有多少个 ErrClosed？":                               `pattern: "ErrClosed"`,
	} {
		b := &box{specs: offered, says: map[string]string{tool.RunScript: "a.go: 3\nb.go: 1"}}
		turn := ask(t, b, nil, question)
		if len(b.calls) != 1 || !strings.HasPrefix(b.calls[0], tool.RunScript) || !strings.Contains(strings.ReplaceAll(b.calls[0], `\"`, `"`), pattern) || !strings.Contains(turn.Answer, "a.go: 3") {
			t.Errorf("%s: calls %v, answer %s", question, b.calls, turn.Answer)
		}
		b = &box{specs: shipped(t), says: map[string]string{"grep_search": "a.go:1: TODO"}}
		if ask(t, b, nil, question); strings.Contains(strings.Join(b.calls, " "), tool.RunScript) {
			t.Errorf("%s: without scripts it calls %v", question, b.calls)
		}
	}
}
