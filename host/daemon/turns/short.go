package turns

import (
	"encoding/json"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
)

// shortResults returns the results that messages hold and the archive does not.
func shortResults(messages []agent.Message) (out []host.ShortResult) {
	args := map[string]json.RawMessage{} // by id of the call
	for _, m := range messages {
		for _, c := range m.Calls {
			args[c.ID] = c.Args
		}
		for _, e := range m.Results {
			if e.Ref == nil && !e.Ephemeral && !e.Err {
				out = append(out, host.ShortResult{Tool: e.Tool, Args: args[e.CallID], Text: e.Text, At: m.At})
			}
		}
	}
	return out
}
