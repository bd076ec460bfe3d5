package chat

import (
	"encoding/json"
	"strings"
	"testing"

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
