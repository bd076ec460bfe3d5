package inner

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/passthrough"
)

func history(t *testing.T, msgs ...string) *History {
	t.Helper()
	var b passthrough.Body
	h, ok := Read(b.With("messages", []byte("["+strings.Join(msgs, ",")+"]")))
	if !ok {
		t.Fatalf("unread: %v", msgs)
	}
	return h
}

// A message that a client sends again in another form is the same, another one is not.
func TestTheSameMessage(t *testing.T) {
	for _, c := range []struct {
		what, a, b string
		same       bool
	}{
		{"a mark for the cache", `{"role":"user","content":"Q"}`, `{"role":"user","content":"Q","cache_control":{"type":"ephemeral"}}`, true},
		{"a text as parts, with a mark", `{"role":"tool","tool_call_id":"c","content":"\u00e4\n"}`, `{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"ä\n","cache_control":{"type":"ephemeral"}}]}`, true},
		{"a mark at a picture", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"},"cache_control":{}}]}`, true},
		{"a thought that is left out", `{"role":"assistant","content":"A","reasoning_content":"Hm."}`, `{"role":"assistant","content":"A"}`, true},
		{"a reminder in front", `{"role":"user","content":[{"type":"text","text":"<system-reminder>\nIt is Sunday.\n</system-reminder>"},{"type":"text","text":"Q"}]}`, `{"role":"user","content":"Q"}`, true},
		{"a reminder in front, in one text", `{"role":"user","content":"<system-reminder>a</system-reminder>\n\nQ"}`, `{"role":"user","content":"Q"}`, true},
		{"a reminder in a result", `{"role":"tool","content":"<system-reminder>a</system-reminder>R"}`, `{"role":"tool","content":"R"}`, false},
		{"two texts", `{"role":"user","content":[{"type":"text","text":"Q"},{"type":"text","text":"R"}]}`, `{"role":"user","content":"Q"}`, false},
		{"another text", `{"role":"user","content":"Q"}`, `{"role":"user","content":"q"}`, false},
		{"another picture", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"y"}}]}`, false},
		{"another call", `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"1"}}]}`, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"2"}}]}`, false},
		{"another role", `{"role":"user","content":"Q"}`, `{"role":"system","content":"Q"}`, false},
		{"another call's result", `{"role":"tool","tool_call_id":"c","content":"1"}`, `{"role":"tool","tool_call_id":"d","content":"1"}`, false},
	} {
		if same := history(t, c.a).end() == history(t, c.b).end(); same != c.same {
			t.Errorf("%s: the same is %v", c.what, same)
		}
	}
}

// A turn begins with a message of the user after an answer, and not with what a client adds to
// a result.
func TestTurns(t *testing.T) {
	h := history(t, plain("system"), plain("user"), plain("user"), plain("assistant"), plain("tool"), plain("user"), plain("assistant"), plain("system"), plain("user"), plain("assistant"))
	got := ""
	for _, m := range h.msgs {
		got += string(rune('0' + m.turn))
	}
	if got != "1111111122" || h.Turn() != 2 {
		t.Error(got)
	}
	for _, body := range []string{`{"messages":[1]}`, `{"messages":{}}`, `{"messages":[]}`, `{}`} {
		b, _ := passthrough.ReadBody([]byte(body))
		if _, ok := Read(b); ok {
			t.Errorf("%s was read", body)
		}
	}
}

func plain(role string) string { return `{"role":"` + role + `","content":"x"}` }
