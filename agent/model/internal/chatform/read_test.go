package chatform

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Clients write the same in more than one way.
func TestReadKnowsHowClientsWrite(t *testing.T) {
	part := func(p Part) Message { return Message{Role: "user", Parts: []Part{p}} }
	call := func(args string) Message {
		return Message{Role: "assistant", Calls: []Call{{ID: "c", Name: "t", Arguments: args}}}
	}
	for body, want := range map[string]Message{
		`{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,QUJD"}]}`:                                          part(Part{Kind: Image, Media: "image/png", Data: "QUJD"}),
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"DATA:image/svg+xml;charset=utf-8,%3Csvg/%3E","detail":"auto"}}]}`: part(Part{Kind: Image, Media: "image/svg+xml", Data: "PHN2Zy8+"}),
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"HTTPS://e.com/x"}}]}`:                                             part(Part{Kind: Image, URL: "HTTPS://e.com/x"}),
		`{"role":"user","content":[{"type":"file","file":{"filename":"A.PDF","file_data":"QUJD"}}]}`:                                         part(Part{Kind: File, Name: "A.PDF", Media: "application/pdf", Data: "QUJD"}),
		`{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`:                                                                {Role: "assistant", Parts: []Part{{Kind: Text, Text: "No."}}},
		`{"role":"assistant","content":null,"refusal":"No.","reasoning":"hm"}`:                                                               {Role: "assistant", Parts: []Part{{Kind: Text, Text: "No."}}, Reasoning: "hm"},
		`{"role":"developer","content":"be brief"}`:                                                                                          {Role: "system", Parts: []Part{{Kind: Text, Text: "be brief"}}},
		`{"role":"assistant","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"t","arguments":{"a":1}}}]}`:             call(`{"a":1}`),
		`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"t","arguments":"{\"a\":"}}]}`:                                       call(`{"a":`),
	} {
		r, fault := Read(json.RawMessage(`{"messages":[` + body + `]}`))
		if fault != nil {
			t.Errorf("%s: %v", body, fault)
			continue
		}
		if d := cmp.Diff([]Message{want}, r.Messages, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Part{}, "Raw")); d != "" {
			t.Errorf("%s (-want +got):\n%s", body, d)
		}
	}
}

func TestArgumentsBecomeAnObject(t *testing.T) {
	for args, want := range map[string]string{
		``: `{}`, ` {"a": 1.50} `: `{"a": 1.50}`, `{"a":`: `{"_malformed":"{\"a\":"}`, `null`: `{"_malformed":"null"}`, `["<b>"]`: `{"_malformed":"[\"<b>\"]"}`,
	} {
		if got, _ := (Call{Arguments: args}).Object(); string(got) != want {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// Whatever a body is, it is read or refused, and what is built of it is JSON.
func FuzzRead(f *testing.F) {
	f.Add(`{"messages":[{"role":"user","content":[{"type":"image","source":{}},{"type":"text","text":"x"}]}],"tools":[{"type":"function","function":{"name":"x","parameters":{}}}],"tool_choice":{"type":"function","function":{"name":"x"}},"stop":"x"}`)
	f.Fuzz(func(t *testing.T, body string) {
		r, fault := Read(json.RawMessage(body))
		if fault != nil {
			return
		}
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				if p.Raw != nil && !json.Valid(Keep(p.Raw).Set("more", 1).Bytes()) {
					t.Errorf("%s", p.Raw)
				}
			}
			for _, c := range m.Calls {
				if args, _ := c.Object(); !json.Valid(args) {
					t.Errorf("%s", args)
				}
			}
		}
	})
}
