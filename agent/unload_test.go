package agent

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// A load under 1,000 characters stays in the conversation: its stub would save little, and
// take the line that the model was looking for.
func TestShortLoadsStay(t *testing.T) {
	for chars, folds := range map[int]bool{3: false, 999: false, 1000: true, 5000: true} {
		load := ResultEntry{Tool: "load_tool_history", Text: strings.Repeat("水", chars), Chars: chars, Ephemeral: true, KeepUntil: 4, Ref: &tool.Ref{UUID: "3f0c6a52-9a43-4a0e-9a51-0c1f6ad3f001"}}
		for turn, due := range map[int]bool{3: false, 4: true, 9: true} {
			msgs := []Message{{Role: RoleResults, Turn: 4, Results: []ResultEntry{load}}}
			if _, f := foldTurn(msgs, turn, 10000); (f.SavedChars > 0) != (folds && due) || msgs[0].Results[0].Folded != (folds && due) {
				t.Errorf("%d characters at the end of turn %d: folded %v", chars, turn, msgs[0].Results[0].Folded)
			}
		}
	}
}
