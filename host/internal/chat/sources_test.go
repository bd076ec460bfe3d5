package chat

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
)

// The sources are under the answer, without what could steer a terminal; with -q, the answer
// is alone.
func TestSourcesUnderAnAnswer(t *testing.T) {
	data, err := json.Marshal(api.ChatEnd{Reason: agent.ReasonAnswer, Sources: []agent.Source{
		{N: 2, Title: "Dams\x1b[31m\u202e", URL: "https://example.com/dams"}, {N: 3, URL: "https://example.com/x"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for quiet, want := range map[bool]string{
		false: "It holds [2].\n\nSources:\n[2] Dams\\u001b[31m\\u202e https://example.com/dams\n[3] https://example.com/x\n",
		true:  "It holds [2].\n",
	} {
		var out, errs bytes.Buffer
		turn := &Turn{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &errs}}, Quiet: quiet}
		turn.begin()
		for _, e := range []struct{ name, data string }{{api.EventText, `{"text":"It holds [2]."}`}, {api.EventEnd, string(data)}} {
			if err := turn.event(e.name, json.RawMessage(e.data)); err != nil {
				t.Fatal(err)
			}
		}
		turn.finish()
		if err := turn.Outcome(nil); err != nil || out.String() != want {
			t.Errorf("quiet %v: %v, %q", quiet, err, out.String())
		}
	}
}
