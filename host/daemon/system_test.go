package daemon

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/model/replay"
)

// System messages of a client reach the model with every question.
func TestSystemMessages(t *testing.T) {
	m := replay.New(replay.Text("One."), replay.Text("Two."))
	s := newServer(t, m)
	c := &talker{s: s}
	for i, text := range []string{"Be brief.", "Be verbose."} {
		c.messages = append([]map[string]string{{"role": "system", "content": text}, {"role": "developer", "content": "Never sing."}}, c.messages[min(2*i, len(c.messages)):]...)
		c.ask("hm?")
		r := m.Requests()[i]
		all := r.System
		for _, msg := range r.Messages {
			all += "\n" + msg.Role + ": " + msg.Text
		}
		for part, want := range map[string]bool{"Be brief.": i == 0, "Be verbose.": i == 1, "Never sing.": true} {
			if strings.Contains(all, part) != want {
				t.Errorf("request %d holds %q: %v", i, part, !want)
			}
		}
	}
}
