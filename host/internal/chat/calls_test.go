package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
)

// A call of a tool that is not there, or that waits, could be read: a person needs to
// know what keeps the tool out.
func TestACallOfAToolThatIsNotThere(t *testing.T) {
	for reason, want := range map[string]string{
		"unknown_tool": "✗ fetch_url cannot be called; `weir plugin list` says why\n",
		"bad_json":     "✗ a call could not be read: bad_json fetch_url\n",
	} {
		var out strings.Builder
		turn := &Turn{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}}
		turn.call("tool_call.malformed", json.RawMessage(`{"tool":"fetch_url","reason":"`+reason+`"}`))
		if out.String() != want {
			t.Errorf("%q; want %q", out.String(), want)
		}
	}
}

// One empty line is between the text in front of a call and what follows, with the line of
// the call and without it.
func TestTextAroundACall(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		var out, calls strings.Builder
		turn := &Turn{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &calls}}, Quiet: quiet, calls: map[string]api.ToolCallStart{}}
		for _, e := range [][2]string{
			{"message.delta", `{"text":"好的"}`}, {"tool_call.start", `{"id":"a","tool":"calculator","arguments":{}}`},
			{"tool_call.result", `{"id":"a","tool":"calculator","produced":2,"shown":2}`}, {"message.delta", `{"text":"\n\n三"}`},
		} {
			if err := turn.event(e[0], json.RawMessage(e[1])); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.String(); got != "好的\n\n三" {
			t.Errorf("quiet %v: %q", quiet, got)
		}
	}
}
