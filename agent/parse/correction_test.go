package parse_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

func TestCorrection(t *testing.T) {
	tools := house().Tools
	for _, r := range []struct {
		why  string
		m    parse.Malformed
		l    tool.Locale
		want []string
	}{
		{"a name that is nearly right", parse.Malformed{Reason: parse.ReasonUnknownTool, Name: "web_search", Raw: `{"name":"web_search"}`}, tool.En,
			[]string{`{"name":"web_search"}`, `"web_search"`, "search_web", `<tool_call>{"id":"call_001","tool_name":"search_web","arguments":{"query":"…"}}</tool_call>`}},
		{"a misspelled name", parse.Malformed{Reason: parse.ReasonUnknownTool, Name: "get_wether"}, tool.En, []string{"get_weather"}},
		{"the same in Chinese", parse.Malformed{Reason: parse.ReasonUnknownTool, Name: "web_search", Raw: "x"}, tool.Zh, []string{"没有名为", "search_web", "<tool_call>"}},
		{"a name like none", parse.Malformed{Reason: parse.ReasonUnknownTool, Name: "zzzzzzzzzz"}, "", []string{`"zzzzzzzzzz"`, `"tool_name":"…"`}},
		{"broken JSON", parse.Malformed{Reason: parse.ReasonBadJSON, Name: "get_weather", Detail: "byte 3"}, tool.En, []string{"byte 3", `{"city":"…"}`}},
		{"cut off", parse.Malformed{Reason: parse.ReasonTruncated, Name: "write_file"}, tool.En, []string{"complete", `"path":"…","content":"…"`}},
		{"cut off, in Chinese", parse.Malformed{Reason: parse.ReasonTruncated, Name: "write_file"}, tool.Zh, []string{"没有写完"}},
		{"without arguments", parse.Malformed{Reason: parse.ReasonNoArgs, Name: "plot"}, tool.En, []string{"no arguments", `"points":[…]`}},
		{"without a name", parse.Malformed{Reason: parse.ReasonNoName}, tool.Zh, []string{"工具名称", `"tool_name":"…"`}},
		{"in a thought", parse.Malformed{Reason: parse.ReasonInThought, Name: "get_time"}, tool.En, []string{"thought", `"arguments":{}`}},
		{"no parameter required", parse.Malformed{Reason: parse.ReasonBadJSON, Name: "get_time"}, tool.En, []string{`"arguments":{}`}},
	} {
		got := parse.Correction(r.m, tools, r.l)
		for _, w := range r.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is missing in\n%s", r.why, w, got)
			}
		}
	}
}

// However long and odd the model's text is, the correction stays short, valid
// text on few lines.
func TestCorrectionIsBounded(t *testing.T) {
	for _, raw := range []string{strings.Repeat("x", 1<<20), strings.Repeat("\n天", 1<<16), "\xff\xfe", strings.Repeat("`", 500)} {
		for _, reason := range []parse.Reason{parse.ReasonUnknownTool, parse.ReasonBadJSON, parse.ReasonTruncated, parse.ReasonNoArgs, parse.ReasonNoName, parse.ReasonInThought, "other"} {
			for _, l := range []tool.Locale{tool.En, tool.Zh} {
				got := parse.Correction(parse.Malformed{Reason: reason, Name: raw, Raw: raw, Detail: raw}, house().Tools, l)
				if n := utf8.RuneCountInString(got); n > 700 || !utf8.ValidString(got) || strings.Count(got, "\n") > 2 {
					t.Fatalf("%s %s: %d characters: %q", reason, l, n, got)
				}
			}
		}
	}
}

// The form that a correction shows is one that the parser itself reads.
func TestCorrectionShowsAFormThatIsRead(t *testing.T) {
	got := parse.Correction(parse.Malformed{Reason: parse.ReasonNoArgs, Name: "get_weather"}, house().Tools, tool.En)
	form := got[strings.Index(got, "<tool_call>"):]
	if s := show(parse.All(house(), form)); s != `get_weather{"city":"…"}` {
		t.Error(s)
	}
}
