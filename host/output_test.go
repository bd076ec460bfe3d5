package host

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/sdk/tool"
)

func TestReadMCP(t *testing.T) {
	tests := []struct {
		name, answer string
		whole        string
		code         tool.Code
		check        func(output) bool // nil: nothing else
	}{
		{"text", `{"content":[{"type":"text","text":"a"}]}`, "a", "", nil},
		{"two texts", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb", "", nil},
		{"nothing", `{"content":[]}`, "", "", nil},
		{"no answer at all", "  ", "", "", nil},
		{"normalised", "{\"content\":[{\"type\":\"text\",\"text\":\"\\u001b[1ma\\u001b[0m\"}]}", "a", "", func(o output) bool { return string(o.raw) == "\x1b[1ma\x1b[0m" }},
		{"structured alone", `{"structuredContent":{"a":[1,2]}}`, `{"a":[1,2]}`, "", nil},
		{"structured beside text", `{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1}}`, "a\n[part structured.json: application/json, 7 bytes]", "",
			func(o output) bool { return len(o.parts) == 1 && string(o.parts[0].Data) == `{"a":1}` }},
		{"structured, and the same as text", `{"content":[{"type":"text","text":"{\"b\":2, \"a\": 1}"}],"structuredContent":{"a":1,"b":2}}`, `{"b":2, "a": 1}`, "", func(o output) bool { return len(o.parts) == 0 }},
		{"structured beside an error", `{"isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":{"a":1}}`, "", tool.Failed, func(o output) bool { return o.err.Msg == "no" }},
		{"text without its type", `{"content":[{"text":"a"}]}`, "a", "", nil},
		{"text that is called a resource", `{"content":[{"type":"resource","text":"a"}]}`, "a", "", nil},
		{"an image", `{"content":[{"type":"image","data":"AQID","mimeType":"image/png","name":"x.png"}]}`, "[part x.png: image/png, 3 bytes]", "",
			func(o output) bool { return len(o.parts) == 1 && string(o.parts[0].Data) == "\x01\x02\x03" }},
		{"a part that says nothing of itself", `{"content":[{"type":"hologram","data":"AQID"}]}`, "[part –: application/octet-stream, 3 bytes]", "", nil},
		{"a text resource", `{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}]}`, "inside", "", nil},
		{"a binary resource", `{"content":[{"type":"resource","resource":{"uri":"file:///d/a.bin","mimeType":"x/y","blob":"AQID"}}]}`, "[part a.bin: x/y, 3 bytes]", "", nil},
		{"a link", `{"content":[{"type":"resource_link","uri":"https://x.com/a","name":"A"}]}`, "A https://x.com/a", "",
			func(o output) bool { return len(o.sources) == 1 && o.sources[0].URL == "https://x.com/a" }},
		{"a part's name over lines", `{"content":[{"type":"image","mimeType":"a/b\n[x]","name":"a\nb","data":""}]}`, "[part a b: a/b [x], 0 bytes]", "", nil},
		{"an error", `{"isError":true,"content":[{"type":"text","text":"no such city"}]}`, "", tool.Failed, func(o output) bool { return o.err.Msg == "no such city" }},
		{"an error without words", `{"isError":true}`, "", tool.Failed, func(o output) bool { return o.err.Msg != "" }},
		{"an error of its own code", `{"error":{"code":"rate_limited","message":"slow\ndown","hint":"wait"}}`, "", tool.RateLimited, func(o output) bool { return o.err.Msg == "slow down" && o.err.Hint == "wait" }},
		{"an error that claims what only a host knows", `{"error":{"code":"out_of_memory","message":"x"}}`, "", tool.Failed, nil},
		{"an error with a long text", `{"isError":true,"content":[{"type":"text","text":"` + strings.Repeat("x", 2000) + `"}]}`, strings.Repeat("x", 2000), tool.Failed,
			func(o output) bool { return len([]rune(o.err.Msg)) == maxError }},
		{"a claim", `{"content":[{"type":"text","text":"a"}],"more":{"shown":1,"total":3,"args":{"offset":1}}}`, "a", "", func(o output) bool { return o.more.Total == 3 }},
		{"a claim with arguments that are none", `{"content":[{"type":"text","text":"a"}],"more":{"shown":1,"args":[1]}}`, "a", "", func(o output) bool { return o.more != nil && o.more.Args == nil }},
		{"a claim below zero", `{"content":[{"type":"text","text":"a"}],"more":{"shown":-1}}`, "a", "", func(o output) bool { return o.more == nil }},
		{"sources over lines", `{"content":[{"type":"text","text":"a"}],"sources":[{"title":"a\nb","url":"u"},{}]}`, "a", "", func(o output) bool { return len(o.sources) == 1 && o.sources[0].Title == "a b" }},
		{"plain text", "hello", "", tool.Failed, nil},
		{"a list", "[]", "", tool.Failed, nil},
		{"two objects", `{"content":[]}{"content":[]}`, "", tool.Failed, nil},
		{"cut short", `{"content":[{"type":"text","te`, "", tool.Failed, nil},
		{"data that is not base64", `{"content":[{"type":"image","data":"***"}]}`, "", tool.Failed, nil},
	}
	for _, tt := range tests {
		o := read([]byte(tt.answer), registry.FormatMCP, english)
		code := tool.Code("")
		if o.err != nil {
			code = o.err.Code
		}
		if o.whole != tt.whole || code != tt.code || tt.check != nil && !tt.check(o) {
			t.Errorf("%s: whole %.80q, err %v, %+v", tt.name, o.whole, o.err, o.parts)
		}
	}
}

func FuzzReadMCP(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a"},{"type":"resource","resource":{"uri":"part:x","blob":"AQ=="}}],"sources":[{"url":"u"}],"more":{"shown":1},"isError":true,"error":{"message":"m"}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		o := read(answer, registry.FormatMCP, chinese)
		if o.err != nil && (o.err.Msg == "" || strings.ContainsAny(o.err.Msg+o.err.Hint, "\n\x1b") || !ownCodes[o.err.Code]) {
			t.Errorf("%+v", o.err)
		}
		if o.whole != textOutput([]byte(o.whole)).whole {
			t.Errorf("%q is not normalised", o.whole)
		}
	})
}

// FuzzDecodeArgs: what is accepted is one JSON object, and writing it again
// changes nothing of it.
func FuzzDecodeArgs(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,{"b":null}],"c":"x"}`, `{"a":1,"a":2}`, `{"a":1e999}`, `[]`, ``, `{} {}`, ` {"a" : -0.5, "b":[true,false ,null]}`, `{"a":01}`, `{"b":1,"a":2}`, `{"a":[1,]}`, `{"a":1,}`, "{\"a\":\"\u2028\"}", `{"a":tru}`, `{"a":1.}`, `{"a":{}}`} {
		f.Add([]byte(s))
	}
	for _, s := range []string{`{"a":"bcd", "bcd" : "efg"}`, `{"a":"bcd""e":1}`, `{"a":"\u0000bcd","b":"xyz"}`, `{"a":"b\"c","b":["de\n","fgh"]}`, `{"abc":"de","abc":"fg"}`, "{\"a\":\"b\xffc\"}", "{\"a\":\"b\x01c\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, canonical, err := decodeArgs(raw)
		if whole, slow := decodeWhole(raw); (err == nil) != (slow == nil) || err == nil && !reflect.DeepEqual(args, whole) {
			t.Fatalf("%q is read as %v, %v, and as %v, %v step by step", raw, args, err, whole, slow)
		}
		// Long ones are read in another way, with the same outcome.
		if quick, ok := decodeLong(raw, 2); ok && (err != nil || !reflect.DeepEqual(quick, args)) {
			t.Fatalf("%q is read as %v at once, and as %v, %v", raw, quick, args, err)
		}
		if err != nil {
			if e := english.badArgs(err); e.Code != tool.BadArgs || e.Msg == "" || strings.Contains(e.Msg, "%!") {
				t.Errorf("%+v", e)
			}
			return
		}
		text, err := encodeArgs(args)
		if err != nil {
			t.Fatal(err)
		}
		if canonical != nil && string(canonical) != string(text) {
			t.Errorf("%s is said to be %s", text, canonical)
		}
		again, _, err := decodeArgs(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if twice, _ := encodeArgs(again); string(twice) != string(text) {
			t.Errorf("%s became %s", text, twice)
		}
		if len(strings.TrimSpace(string(raw))) > 0 && !json.Valid(raw) {
			t.Errorf("%q was accepted", raw)
		}
	})
}

// FuzzRead: an answer that is one text comes to the same, however it is read.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"content":[{"type":"text","text":"a\n<b>"}],"isError":false}`, `{"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"a","type":"b"}]}`,
		`{"content":[{"type":"text","text":""}]}`, `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}", `{"content":[{"type":"text","text":"\ud800"}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		quick := read(answer, registry.FormatMCP, english)
		whole := read(append([]byte(" "), answer...), registry.FormatMCP, english) // which is not read at a look
		whole.rawSize = len(answer)
		if !reflect.DeepEqual(quick, whole) {
			t.Errorf("%q is read as %+v, and step by step as %+v", answer, quick, whole)
		}
	})
}
