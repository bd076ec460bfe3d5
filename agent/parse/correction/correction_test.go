package correction_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/correction"
	"github.com/weirhost/weir/sdk/tool"
)

// house is a set of tools.
func house() []tool.Spec {
	spec := func(name, props, required string) tool.Spec {
		return tool.Spec{Name: name, Params: json.RawMessage(`{"type":"object","properties":{` + props + `},"required":[` + required + `]}`)}
	}
	return []tool.Spec{
		spec("search_web", `"query":{"type":"string"},"max_results":{"type":"integer"}`, `"query"`), spec("get_weather", `"city":{"type":"string"},"days":{"type":"integer"}`, `"city"`),
		spec("get_time", "", ""), spec("write_file", `"path":{"type":"string"},"content":{"type":"string"}`, `"path","content"`),
		spec("plot", `"points":{"type":"array","items":{"type":"number"}}`, `"points"`),
	}
}

func TestCorrection(t *testing.T) {
	tools := house()
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
		{"a name like none", parse.Malformed{Reason: parse.ReasonUnknownTool, Name: "zzzzzzzzzz"}, "", []string{`"zzzzzzzzzz"`, "The tools are: search_web, get_weather, get_time, write_file, plot."}},
		{"a name like none, in Chinese", parse.Malformed{Reason: parse.ReasonUnknownTool, Name: "zzzzzzzzzz"}, tool.Zh, []string{"可用的工具：search_web、get_weather"}},
		{"broken JSON", parse.Malformed{Reason: parse.ReasonBadJSON, Name: "get_weather", Detail: "byte 3"}, tool.En, []string{"byte 3", `{"city":"…"}`}},
		{"cut off", parse.Malformed{Reason: parse.ReasonTruncated, Name: "write_file"}, tool.En, []string{"complete", `"path":"…","content":"…"`}},
		{"cut off, in Chinese", parse.Malformed{Reason: parse.ReasonTruncated, Name: "write_file"}, tool.Zh, []string{"没有写完"}},
		{"without arguments", parse.Malformed{Reason: parse.ReasonNoArgs, Name: "plot"}, tool.En, []string{"no arguments", `"points":[…]`}},
		{"without a name", parse.Malformed{Reason: parse.ReasonNoName}, tool.Zh, []string{"工具名称", `"tool_name":"…"`}},
		{"in a thought", parse.Malformed{Reason: parse.ReasonInThought, Name: "get_time"}, tool.En, []string{"thought", `"arguments":{}`}},
		{"in a sentence", parse.Malformed{Reason: parse.ReasonInText, Name: "get_weather"}, tool.En, []string{"write it alone", "answer in words", `{"city":"…"}`}},
		{"no parameter required", parse.Malformed{Reason: parse.ReasonBadJSON, Name: "get_time"}, tool.En, []string{`"arguments":{}`}},
	} {
		got := correction.For(r.m, tools, r.l)
		for _, w := range r.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is missing in\n%s", r.why, w, got)
			}
		}
	}
}

// A model that names an unknown tool knows how to write a call: it is told names, also
// with a provider's own tool calling, and few of many.
func TestCorrectionOfAnUnknownName(t *testing.T) {
	tools := house()
	for i := range 30 {
		tools = append(tools, tool.Spec{Name: fmt.Sprintf("further_%02d", i)})
	}
	for _, format := range []parse.Format{parse.FormatTag, "native"} {
		for name, want := range map[string]string{"launch_rocket": "plot, further_00", "web_search": "The nearest names are: search_web."} {
			got := correction.For(parse.Malformed{Reason: parse.ReasonUnknownTool, Name: name, Format: format}, tools, tool.En)
			if !strings.Contains(got, want) || strings.Contains(got, "fence") || strings.Contains(got, "further_29") || strings.Contains(got, "<tool_call>") == (format == "native" || name == "launch_rocket") {
				t.Errorf("%s %s: %s", format, name, got)
			}
			if name == "launch_rocket" && !strings.Contains(got, " 23 more are not listed.") {
				t.Error(got)
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
				got := correction.For(parse.Malformed{Reason: reason, Name: raw, Raw: raw, Detail: raw}, house(), l)
				if n := utf8.RuneCountInString(got); n > 700 || !utf8.ValidString(got) || strings.Count(got, "\n") > 2 {
					t.Fatalf("%s %s: %d characters: %q", reason, l, n, got)
				}
			}
		}
	}
}

// The form that a correction shows is one that the parser itself reads.
func TestCorrectionShowsAFormThatIsRead(t *testing.T) {
	got := correction.For(parse.Malformed{Reason: parse.ReasonNoArgs, Name: "get_weather"}, house(), tool.En)
	form := got[strings.Index(got, "<tool_call>"):]
	calls := parse.Calls(parse.All(parse.Options{Tools: house()}, form))
	if len(calls) != 1 || calls[0].Name != "get_weather" || string(calls[0].Args) != `{"city":"…"}` {
		t.Error(calls)
	}
}

// For returns the note to a model whose call could not be read.
func ExampleFor() {
	weather := tool.Spec{Name: "get_weather", Params: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
	m := parse.Malformed{Reason: parse.ReasonUnknownTool, Name: "weather", Raw: `<tool_call>{"name":"weather"}</tool_call>`}
	fmt.Println(correction.For(m, []tool.Spec{weather}, tool.En))
	// Output:
	// Your call was not run: <tool_call>{"name":"weather"}</tool_call>
	// There is no tool named "weather". The nearest names are: get_weather.
	// It is called like this: <tool_call>{"id":"call_001","tool_name":"get_weather","arguments":{"city":"…"}}</tool_call>
}

// What the parser says about a broken call is Chinese in a Chinese correction, whichever of
// its sentences it is.
func TestDetailsAreInTheLanguageOfTheCorrection(t *testing.T) {
	said := []string{`byte 12, after "{\"city\""`}
	for _, file := range []string{"../item.go", "../calls.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:Reason\w+, |Detail: |unescaped = )"([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
			said = append(said, m[1])
		}
	}
	if len(said) < 6 {
		t.Fatalf("only %q were found in the parser", said)
	}
	english := regexp.MustCompile(`[A-Za-z]+ [A-Za-z]+`)
	for _, detail := range said {
		for _, reason := range []parse.Reason{parse.ReasonBadJSON, parse.ReasonNoArgs} {
			got := correction.For(parse.Malformed{Reason: reason, Detail: detail, Format: "native"}, nil, tool.Zh)
			if scrap := english.FindString(got); scrap != "" {
				t.Errorf("%q has %q", got, scrap)
			}
		}
	}
}
