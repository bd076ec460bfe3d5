package openai

import (
	"encoding/json"
	"testing"
	"time"
)

// Of the messages to answer, the last one is the question, which a person may have typed; those
// in front of it are not.
func TestQuestionAndWhatIsBefore(t *testing.T) {
	for name, c := range map[string]struct{ messages, before, question string }{
		"one":           {`[{"role":"user","content":"a"}]`, "", "a"},
		"two":           {`[{"role":"user","content":"a"},{"role":"user","content":"b"}]`, "a", "b"},
		"three":         {`[{"role":"user","content":"a"},{"role":"system","content":"s"},{"role":"user","content":"b"},{"role":"user","content":"c"}]`, "a\n\nb", "c"},
		"after a reply": {`[{"role":"user","content":"a"},{"role":"assistant","content":"x"},{"role":"user","content":"b"}]`, "", "b"},
		"results":       {`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"k","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"k","content":"r"}]`, "", ""},
	} {
		var messages []AskedMessage
		if err := json.Unmarshal([]byte(c.messages), &messages); err != nil {
			t.Fatal(err)
		}
		got, err := readMessages(messages, time.Now)
		if err != nil || got.before != c.before || got.question != c.question {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
