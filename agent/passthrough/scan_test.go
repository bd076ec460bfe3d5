package passthrough

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// What is taken apart is what encoding/json reads, whatever the values are.
func TestTakenApart(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) any {
		text := rapid.StringOf(rapid.SampledFrom([]rune(`ab"\{}[],: é`)))
		return rapid.SampledFrom([]any{nil, true, 1.5, -2e9, []any{}, map[string]any{}, text.Draw(t, "a"), []any{text.Draw(t, "b"), map[string]any{text.Draw(t, "c"): []any{1.0, text.Draw(t, "d")}}}}).Draw(t, "value")
	})
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(rapid.String(), value).Draw(t, "object")
		raw, err := json.Marshal(object)
		if rapid.Bool().Draw(t, "indented") && err == nil {
			raw, err = json.MarshalIndent(object, " ", "\t")
		}
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		if !eachMember(raw, func(name string, v json.RawMessage) bool {
			var x any
			if err := json.Unmarshal(v, &x); err != nil {
				t.Fatalf("%s of %s: %v", v, raw, err)
			}
			got[name] = x
			return true
		}) || !reflect.DeepEqual(got, object) {
			t.Fatalf("%s is read as %v", raw, got)
		}
		list, _ := json.Marshal(rapid.SliceOf(value).Draw(t, "list"))
		parts, ok := elements(list)
		var want []json.RawMessage
		if err := json.Unmarshal(list, &want); err != nil || ok != (string(list) != "null") || fmt.Sprintf("%s", parts) != fmt.Sprintf("%s", want) {
			t.Fatalf("%s is read as %s", list, parts)
		}
	})
}

// JSON that is not valid is taken apart without harm.
func FuzzTakenApart(f *testing.F) {
	for _, seed := range []string{`{"a":"\`, `[[`, `{"a":1`, `{"a" "b"}`, `"`, `{]`, ``, `[1,]2`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = elements(json.RawMessage(text))
		eachMember(json.RawMessage(text), func(string, json.RawMessage) bool { return true })
		_ = Text(json.RawMessage(text))
	})
}

// An answer and what clients send back of it have one digest, whatever they make of its form;
// another text or call has another one.
func TestDigestOfAnAnswer(t *testing.T) {
	var a Answer
	a.Add(json.RawMessage(`{"choices":[{"index":0,"delta":{"content":"I look.\n","reasoning_content":"Hm."}}]}`))
	a.Add(json.RawMessage(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}}]}}]}`))
	same := []string{
		`{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`,
		`{"tool_calls":[{"function":{"arguments":"{\"command\":\"ls\"}","name":"bash"},"id":"c1","type":"function"}],"content":[{"type":"text","text":"I look."}],"reasoning_content":"Hm.","role":"assistant"}`,
	}
	other := []string{
		`{"role":"assistant","content":"I looked.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`,
		`{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"rm\"}"}}]}`,
		`{"role":"assistant","content":"I look."}`,
		`{"role":"user","content":"I look."}`,
	}
	for i, raw := range append(same, other...) {
		b, err := ReadBody(json.RawMessage(`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},` + raw + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		h, ok := b.History()
		if !ok || h.System != "s" || len(h.Messages) != 2 {
			t.Fatalf("%v %+v", ok, h)
		}
		before := h
		before.Messages = h.Messages[:1]
		sent := a.Sent()
		if is := h.Messages[1].Digest == sent.Digest && h.Messages[1].Chain == before.Then(sent); is != (i < len(same)) {
			t.Errorf("%s: the same %v", raw, is)
		}
	}
}
