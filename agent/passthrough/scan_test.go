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

// A message is the same with and without what clients add to it; nothing else is.
func TestDigestOfAQuestion(t *testing.T) {
	of := func(raw string) string {
		b, err := ReadBody(json.RawMessage(`{"messages":[` + raw + `]}`))
		h, ok := b.History()
		if err != nil || !ok || len(h.Messages) != 1 {
			t.Fatalf("%s: %v %+v", raw, err, h)
		}
		return h.Messages[0].Digest
	}
	question := of(`{"role":"user","content":"Turn 2"}`)
	for raw, same := range map[string]bool{
		`{"role":"user","content":[{"type":"text","text":"Turn 2"}]}`: true,
		`{"content":[{"type":"text","text":"<system-reminder>\nIt is Sunday.\n</system-reminder>"},{"type":"text","text":"Turn 2","cache_control":{"type":"ephemeral"}}],"role":"user"}`: true,
		`{"role":"user","content":"<system-reminder>a</system-reminder>\n\n<system-reminder>b</system-reminder>\nTurn 2"}`:                                                               true,
		`{"role":"user","content":"<system-reminder>Turn 2"}`:                                                           false,
		`{"role":"user","content":"<system-reminder>Turn 2</system-reminder>"}`:                                         false,
		`{"role":"user","content":"Turn 22"}`:                                                                           false,
		`{"role":"user","content":[{"type":"text","text":"Turn"},{"type":"text","text":" 2"}]}`:                         false,
		`{"role":"user","content":[{"type":"text","text":"Turn 2"},{"type":"image_url","image_url":{"url":"data:,"}}]}`: false,
		`{"role":"tool","tool_call_id":"a","content":"Turn 2"}`:                                                         false,
		`{"role":"user"}`: false,
	} {
		if is := of(raw) == question; is != same {
			t.Errorf("%s: the same %v", raw, is)
		}
	}
	if of(`{"role":"tool","tool_call_id":"a","content":"ok"}`) == of(`{"role":"tool","tool_call_id":"b","content":"ok"}`) || of(`{"role":"user","content":null}`) == of(`{"role":"user","content":""}`) {
		t.Error("different messages have one digest")
	}
}
