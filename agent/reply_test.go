package agent_test

import (
	"testing"

	"github.com/weirhost/weir/agent/model/replay"
)

// Empty lines in front of a reply are not part of the answer; those inside it are.
func TestEmptyLinesInFrontOfAReply(t *testing.T) {
	for reply, want := range map[string]string{
		"\n\nOne.\n\nTwo.\n": "One.\n\nTwo.\n",
		"\r\n\n One.":        " One.",
		"One.\n\n":           "One.\n\n",
	} {
		for _, native := range []bool{true, false} {
			turn, _ := must(t, config(), describing(replay.New(replay.Text(reply)), native), newBox().says("echo", "42"), nil, "go")
			if turn.Answer != want {
				t.Errorf("native %v: %q was answered, want %q", native, turn.Answer, want)
			}
		}
	}
}
