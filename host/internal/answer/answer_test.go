package answer

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

func TestDecodeMCP(t *testing.T) {
	tests := []struct {
		name, answer string
		whole        string
		code         tool.Code
		check        func(Answer) bool // nil: nothing else
	}{
		{"text", `{"content":[{"type":"text","text":"a"}]}`, "a", "", nil},
		{"two texts", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb", "", nil},
		{"nothing", `{"content":[]}`, "", "", nil},
		{"no answer at all", "  ", "", "", nil},
		{"normalised", "{\"content\":[{\"type\":\"text\",\"text\":\"\\u001b[1ma\\u001b[0m\"}]}", "a", "", func(o Answer) bool { return string(o.Raw) == "\x1b[1ma\x1b[0m" }},
		{"structured alone", `{"structuredContent":{"a":[1,2]}}`, `{"a":[1,2]}`, "", nil},
		{"structured beside text", `{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1}}`, "a\n[part structured.json: application/json, 7 bytes]", "",
			func(o Answer) bool { return len(o.Parts) == 1 && string(o.Parts[0].Data) == `{"a":1}` }},
		{"structured, and the same as text", `{"content":[{"type":"text","text":"{\"b\":2, \"a\": 1}"}],"structuredContent":{"a":1,"b":2}}`, `{"b":2, "a": 1}`, "", func(o Answer) bool { return len(o.Parts) == 0 }},
		{"structured beside an error", `{"isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":{"a":1}}`, "no\n[part structured.json: application/json, 7 bytes]", tool.Failed,
			func(o Answer) bool { return o.Err.Msg == "no" && o.Err.InText && len(o.Parts) == 1 }},
		{"text without its type", `{"content":[{"text":"a"}]}`, "a", "", nil},
		{"text that is called a resource", `{"content":[{"type":"resource","text":"a"}]}`, "a", "", nil},
		{"an image", `{"content":[{"type":"image","data":"AQID","mimeType":"image/png","name":"x.png"}]}`, "[part x.png: image/png, 3 bytes]", "",
			func(o Answer) bool { return len(o.Parts) == 1 && string(o.Parts[0].Data) == "\x01\x02\x03" }},
		{"a part that says nothing of itself", `{"content":[{"type":"hologram","data":"AQID"}]}`, "[part –: application/octet-stream, 3 bytes]", "", nil},
		{"a text resource", `{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}]}`, "file:///a:\ninside", "", nil},
		{"a text of a part", `{"content":[{"type":"resource","resource":{"uri":"part:a","text":"inside"}}]}`, "inside", "", nil},
		{"a link that says more", `{"content":[{"type":"resource_link","uri":"x://a","name":"A","mimeType":"a/b","size":3,"description":"all\nof it"}]}`, "A x://a (a/b, 3 B): all\nof it", "", nil},
		{"an error of lines", `{"isError":true,"content":[{"type":"text","text":"no\n  such"}]}`, "no\n  such", tool.Failed, func(o Answer) bool { return o.Err.Msg == "no such" && o.Err.InText }},
		{"parts that are told apart", `{"content":[{"type":"text","text":"\u001b[1ma"},{"type":"image","mimeType":"a/b","data":""},{"type":"text","text":"b\nc"}]}`, "a\n[part –: a/b, 0 bytes]\nb\nc", "",
			func(o Answer) bool {
				return len(o.Blocks) == 3 && o.Blocks[0].Text == "a" && o.Blocks[1].Part == 1 && o.Blocks[2].Text == "b\nc"
			}},
		{"a binary resource", `{"content":[{"type":"resource","resource":{"uri":"file:///d/a.bin","mimeType":"x/y","blob":"AQID"}}]}`, "[part a.bin: x/y, 3 bytes]", "", nil},
		{"a link", `{"content":[{"type":"resource_link","uri":"https://x.com/a","name":"A"}]}`, "A https://x.com/a", "",
			func(o Answer) bool { return len(o.Sources) == 1 && o.Sources[0].URL == "https://x.com/a" }},
		{"a part's name over lines", `{"content":[{"type":"image","mimeType":"a/b\n[x]","name":"a\nb","data":""}]}`, "[part a b: a/b [x], 0 bytes]", "", nil},
		{"an error", `{"isError":true,"content":[{"type":"text","text":"no such city"}]}`, "", tool.Failed, func(o Answer) bool { return o.Err.Msg == "no such city" }},
		{"an error without words", `{"isError":true}`, "", tool.Failed, func(o Answer) bool { return o.Err.Msg != "" }},
		{"an error of its own code", `{"error":{"code":"rate_limited","message":"slow\ndown","hint":"wait"}}`, "", tool.RateLimited, func(o Answer) bool { return o.Err.Msg == "slow down" && o.Err.Hint == "wait" }},
		{"an error that claims what only a host knows", `{"error":{"code":"out_of_memory","message":"x"}}`, "", tool.Failed, nil},
		{"an error with a long text", `{"isError":true,"content":[{"type":"text","text":"` + strings.Repeat("x", 2000) + `"}]}`, strings.Repeat("x", 2000), tool.Failed,
			func(o Answer) bool { return len([]rune(o.Err.Msg)) == maxErrorChars }},
		{"a claim", `{"content":[{"type":"text","text":"a"}],"more":{"shown":1,"total":3,"args":{"offset":1}}}`, "a", "", func(o Answer) bool { return o.More.Total == 3 }},
		{"a claim with arguments that are none", `{"content":[{"type":"text","text":"a"}],"more":{"shown":1,"args":[1]}}`, "a", "", func(o Answer) bool { return o.More != nil && o.More.Args == nil }},
		{"a claim below zero", `{"content":[{"type":"text","text":"a"}],"more":{"shown":-1}}`, "a", "", func(o Answer) bool { return o.More == nil }},
		{"sources over lines", `{"content":[{"type":"text","text":"a"}],"sources":[{"title":"a\nb","url":"u"},{}]}`, "a", "", func(o Answer) bool { return len(o.Sources) == 1 && o.Sources[0].Title == "a b" }},
		{"a claim with long arguments", `{"content":[{"text":"a"}],"more":{"shown":1,"args":{"a":"` + strings.Repeat("x", maxMoreArgs) + `"}}}`, "a", "", func(o Answer) bool { return o.More.Args == nil }},
		{"parts up to the bound", `{"content":[` + strings.Repeat("{},", maxParts-1) + `{"text":"a"}]}`, strings.Repeat("[part –: application/octet-stream, 0 bytes]\n", maxParts-1) + "a", "", nil},
		{"more parts", `{"content":[` + strings.Repeat("{},", maxParts) + `{"text":"a"}]}`, "", tool.TooLarge, nil},
		{"more sources", `{"Sources":[` + strings.Repeat(`{"url":"u"},`, maxSources) + `{}]}`, "", tool.TooLarge, nil},
		{"plain text", "hello", "", tool.Failed, nil},
		{"a list", "[]", "", tool.Failed, nil},
		{"two objects", `{"content":[]}{"content":[]}`, "", tool.Failed, nil},
		{"cut short", `{"content":[{"type":"text","te`, "", tool.Failed, nil},
		{"data that is not base64", `{"content":[{"type":"image","data":"***"}]}`, "", tool.Failed, nil},
	}
	for _, tt := range tests {
		o := DecodeMCP([]byte(tt.answer), tool.En)
		code := tool.Code("")
		if o.Err != nil {
			code = o.Err.Code
		}
		if o.Text != tt.whole || code != tt.code || tt.check != nil && !tt.check(o) {
			t.Errorf("%s: whole %.80q, err %v, %+v", tt.name, o.Text, o.Err, o.Parts)
		}
	}
}

func FuzzDecodeMCP(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a"},{"type":"resource","resource":{"uri":"part:x","blob":"AQ=="}}],"sources":[{"url":"u"}],"more":{"shown":1},"isError":true,"error":{"message":"m"}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		o := DecodeMCP(answer, tool.Zh)
		if o.Err != nil && (o.Err.Msg == "" || strings.ContainsAny(o.Err.Msg+o.Err.Hint, "\n\x1b") || !toolCode(o.Err.Code)) {
			t.Errorf("%+v", o.Err)
		}
		if o.Text != DecodeText([]byte(o.Text)).Text {
			t.Errorf("%q is not normalised", o.Text)
		}
	})
}

// FuzzSingleText: an answer that is one text has the same result with and without
// the fast path.
func FuzzSingleText(f *testing.F) {
	for _, s := range []string{`{"content":[{"type":"text","text":"a\n<b>"}],"isError":false}`, `{"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"a","type":"b"}]}`,
		`{"content":[{"type":"text","text":""}]}`, `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}", `{"content":[{"type":"text","text":"\ud800"}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		quick := DecodeMCP(answer, tool.En)
		whole := DecodeMCP(append([]byte(" "), answer...), tool.En) // not the form of the fast path
		whole.RawSize = len(answer)
		if !reflect.DeepEqual(quick, whole) {
			t.Errorf("%q is read as %+v, and step by step as %+v", answer, quick, whole)
		}
	})
}

// TestTextIsCopiedOnce: a long text is in memory once beside the answer that holds it.
func TestTextIsCopiedOnce(t *testing.T) {
	raw := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat(`a line of a log, as it comes\n`, 8<<20/30) + `"}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a := DecodeMCP(raw, tool.En)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; a.Err != nil || len(a.Text) < 7<<20 || used > 10<<20 {
		t.Errorf("%d bytes needed %d of memory, %v", len(a.Text), used, a.Err)
	}
}
