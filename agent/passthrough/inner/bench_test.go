package inner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/passthrough"
)

// BenchmarkApply is what fold computes for one request of 1 MB.
func BenchmarkApply(b *testing.B) {
	msgs := []json.RawMessage{line("user", "Q", "")}
	for i := range 30 {
		msgs = append(msgs, line("assistant", "", fmt.Sprintf(`,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"read","arguments":"{}"}}]`, i)),
			line("tool", strings.Repeat("a line of \"text\"\n", 2000), fmt.Sprintf(`,"tool_call_id":"c%d"`, i)))
	}
	var body passthrough.Body
	body = body.With("messages", joined(msgs))
	b.SetBytes(int64(len(body.Bytes())))
	for b.Loop() {
		h, ok := Read(body)
		if !ok {
			b.Fatal("unread")
		}
		h.Undecided(Known{}, Limits{32768, 10000})
		s := h.Apply(Known{})
		s.With(nil)
	}
}
