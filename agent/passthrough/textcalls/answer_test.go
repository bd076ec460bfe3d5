package textcalls_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough/textcalls"
	"github.com/weirhost/weir/sdk/tool"
)

func textf(s string) tool.Text { return tool.Textf("%s", s) }

const (
	paris   = `<tool_call>{"id":"call_001","tool_name":"get_weather","arguments":{"city":"Paris"}}</tool_call>`
	rome    = `<tool_call>{"id":"call_002","tool_name":"get_weather","arguments":{"city":"Rome"}}</tool_call>`
	unknown = `<tool_call>{"id":"call_001","tool_name":"nope","arguments":{"a":1}}</tool_call>`
)

// A stream is the same however it is cut, and so is a whole answer.
func TestAnswers(t *testing.T) {
	for _, r := range []struct{ why, text, want string }{
		{"text", "It is four.\n\nOr five.", `"It is four.\n\nOr five."  stop`},
		{"text that begins with line ends", "\n\nFour.", `"\n\nFour."  stop`},
		{"nothing", "", `""  stop`},
		{"line ends alone", "\n\n", `"\n\n"  stop`},
		{"a call", paris, `"" get_weather{"city":"Paris"} tool_calls`},
		{"text and a call", "I look it up.\n\n" + paris, `"I look it up.\n\n" get_weather{"city":"Paris"} tool_calls`},
		{"two calls", paris + "\n" + rome, `"" get_weather{"city":"Paris"} get_weather{"city":"Rome"} tool_calls`},
		{"text between two calls", paris + "\nAnd the other:\n" + rome, `"And the other:\n" get_weather{"city":"Paris"} get_weather{"city":"Rome"} tool_calls`},
		{"what comes next", "I look." + paris + "\nThen I will tell you.", `"I look.\n\nThen I will tell you." get_weather{"city":"Paris"} tool_calls`},
		{"a thought", "<think>Hm.</think>\n\nFour.", `«Hm.» "Four."  stop`},
		{"a thought and a call", "<think>Hm.</think>\n\n" + paris, `«Hm.» "" get_weather{"city":"Paris"} tool_calls`},
		{"a fenced example with words behind", "The call would be:\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```\nShall I run it?",
			`"The call would be:\n` + "```" + `json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n` + "```" + `\nShall I run it?"  stop`},
		{"an example in two fences", "One:\n```json\n{\"name\":\"get_time\",\"arguments\":{}}\n```\nTwo:\n```python\nget_time()\n```\nWhich?",
			`"One:\n` + "```" + `json\n{\"name\":\"get_time\",\"arguments\":{}}\n` + "```" + `\nTwo:\n` + "```" + `python\nget_time()\n` + "```" + `\nWhich?"  stop`},
		{"a tag in a fence with words behind", "```xml\n" + paris + "\n```\nShall I run it?", `"` + "```" + `xml\n` + strings.ReplaceAll(paris, `"`, `\"`) + `\n` + "```" + `\nShall I run it?"  stop`},
		{"a fenced call of an unknown tool with words behind", "```json\n{\"name\":\"nope\",\"arguments\":{}}\n```\nShall I run it?", `"` + "```" + `json\n{\"name\":\"nope\",\"arguments\":{}}\n` + "```" + `\nShall I run it?"  stop`},
		{"a call in a fence", "I look.\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```\n", `"I look.\n" get_weather{"city":"Paris"} tool_calls`},
		{"a call behind one in a fence", "```json\n{\"name\":\"get_time\",\"arguments\":{}}\n```\n" + paris, `"" get_time{} get_weather{"city":"Paris"} tool_calls`},
		{"calls in two fences", "```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```\n```json\n{\"name\":\"get_time\",\"arguments\":{}}\n```\n", `"" get_weather{"city":"Paris"} get_time{} tool_calls`},
		{"tags in a fence with words behind", "```xml\n" + paris + "\n" + rome + "\n```\nShall I run them?", `"` + "```" + `xml\n` + strings.ReplaceAll(paris, `"`, `\"`) + `\n` + strings.ReplaceAll(rome, `"`, `\"`) + `\n` + "```" + `\nShall I run them?"  stop`},
		{"a call inside a sentence", "The form `" + paris + "` is right.", `"The form ` + "`" + strings.ReplaceAll(paris, `"`, `\"`) + "`" + ` is right."  stop`},
		{"a call that ends a sentence about it", `The call would be {"name":"get_weather","arguments":{"city":"Paris"}}`, `"The call would be {\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}"  stop`},
		{"an unknown tool behind a call", paris + "\n" + unknown, `"{\"id\":\"call_001\",\"tool_name\":\"nope\",\"arguments\":{\"a\":1}}" get_weather{"city":"Paris"} tool_calls`},
		{"an unknown tool in front of a call", "One.\n" + unknown + "\n" + paris, `"One.\n` + strings.ReplaceAll(unknown, `"`, `\"`) + `" get_weather{"city":"Paris"} tool_calls`},
	} {
		for _, p := range []reply{says(r.text), says(letters(r.text)...), {texts: []string{r.text}, whole: true}} {
			f := &fake{replies: []reply{p}}
			if g := ask(t, f, textcalls.Options{}, question("Weather?", "")); g.String() != r.want || len(f.bodies) != 1 {
				t.Errorf("%s (whole: %v, %d pieces, %d requests):\ngot  %s\nwant %s", r.why, p.whole, len(p.texts), len(f.bodies), g, r.want)
			}
		}
	}
}

// Every format that the recogniser knows comes out as a call, wherever the stream is cut, and
// nothing of it as content.
func TestEveryFormat(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)````text\n(.*?)\n  ````").FindAllStringSubmatch(string(page), -1)
	if len(examples) < 20 {
		t.Fatalf("%d formats on the page", len(examples))
	}
	for _, e := range examples {
		text := regexp.MustCompile(`(?m)^  `).ReplaceAllString(e[1], "")
		for _, p := range []reply{says(letters(text)...), {texts: []string{text}, whole: true}} {
			f := &fake{replies: []reply{p}}
			g := ask(t, f, textcalls.Options{}, question("Weather?", ""))
			if g.String() != `"" get_weather{"city":"Oslo"} tool_calls` || g.end != agent.FinishCalls {
				t.Errorf("%q: %s", text, g)
			}
		}
		for at := range len(text) {
			if at > 0 && text[at]&0xC0 == 0x80 {
				continue
			}
			f := &fake{replies: []reply{says(text[:at], text[at:])}}
			if g := ask(t, f, textcalls.Options{}, question("Weather?", "")); g.String() != `"" get_weather{"city":"Oslo"} tool_calls` {
				t.Errorf("%q, cut at %d: %s", text, at, g)
			}
		}
	}
}

// Plain text is passed on chunk by chunk, as it came and when it came.
func TestPlainTextStaysAsItCame(t *testing.T) {
	f := &fake{replies: []reply{{texts: []string{"It ", "is ", "four", "."}, thoughts: []string{"Hm", "."}, usage: `{"prompt_tokens":9,"completion_tokens":3}`}}}
	g := ask(t, f, textcalls.Options{}, question("2+2?", ""))
	want := f.replies[0].chunks(0)
	if len(g.chunks) != len(want) {
		t.Fatalf("%d chunks, want %d", len(g.chunks), len(want))
	}
	for i, c := range g.chunks {
		if string(c.Data) != string(want[i].Data) || c.Model != want[i].Model || c.Finish != want[i].Finish {
			t.Errorf("chunk %d: %s\nwant %s", i, c.Data, want[i].Data)
		}
	}
}

func TestAReplyThatIsCut(t *testing.T) {
	for _, r := range []struct{ text, want string }{
		{`Hi. <tool_call>{"name":"get_weather","arguments":{"ci`, `"Hi. <tool_call>{\"name\":\"get_weather\",\"arguments\":{\"ci"  length`},
		{"Hi.\n" + unknown, `"Hi.\n` + strings.ReplaceAll(unknown, `"`, `\"`) + `"  length`},
		{paris + `<tool_call>{"name":"get_w`, `"{\"name\":\"get_w" get_weather{"city":"Paris"} length`},
	} {
		for _, p := range []reply{{texts: letters(r.text), finish: "length"}, {texts: []string{r.text}, finish: "length", whole: true}} {
			f := &fake{replies: []reply{p}}
			if g := ask(t, f, textcalls.Options{}, question("Weather?", "")); g.String() != r.want || len(f.bodies) != 1 || g.end != agent.FinishLength {
				t.Errorf("%q: %s\nwant %s", r.text, g, r.want)
			}
		}
	}
}

// A stream that breaks delivers what there is, and the error.
func TestABrokenStream(t *testing.T) {
	broke := errors.New("broke")
	f := &fake{replies: []reply{{texts: []string{"Hi.\n<tool_call>{\"na"}, err: broke}}}
	g := ask(t, f, textcalls.Options{}, question("Weather?", ""))
	if !errors.Is(g.err, broke) || g.content != "Hi.\n<tool_call>{\"na" || g.finish != "" {
		t.Error(g)
	}
}

func TestThoughts(t *testing.T) {
	start := textcalls.Options{StartInThought: true}
	for _, r := range []struct {
		p    reply
		want string
	}{
		{says(letters("Hm. " + paris + "</think>\nFour.")...), `«Hm. ` + paris + `» "Four."  stop`},
		{reply{texts: []string{"Four."}, thoughts: []string{"Hm."}}, `«Hm.» "Four."  stop`},
		{says("Four."), `«Four.» "Four."  stop`},
	} {
		if g := ask(t, &fake{replies: []reply{r.p}}, start, question("2+2?", "")); g.String() != r.want {
			t.Errorf("got %s, want %s", g, r.want)
		}
	}
}

func TestIDsAreUnique(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_001","type":"function","function":{"name":"get_time","arguments":"{}"}},{"id":"call_003","type":"function","function":{"name":"get_time","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_001","content":"1"}],"tools":[` + weather + `,` + clock + `]}`
	f := &fake{replies: []reply{says(paris + rome + `<tool_call>{"id":"call_002","tool_name":"get_time","arguments":{}}</tool_call>`)}}
	g := ask(t, f, textcalls.Options{}, body)
	if got := strings.Join(g.ids, " "); got != "call_002 call_004 call_005" {
		t.Error(got)
	}
}

// A reply that goes on with results that it invents is left. What came of them is no content.
func TestInventedResults(t *testing.T) {
	text := paris + "\n<tool_result>20 degrees</tool_result>\nIt is 20 degrees. And so on."
	for _, whole := range []bool{false, true} {
		f := &fake{replies: []reply{{texts: letters(text), whole: whole, usage: `{"prompt_tokens":10,"completion_tokens":90}`}}}
		g := ask(t, f, textcalls.Options{}, question("Weather?", `,"stream_options":{"include_usage":true}`))
		if g.content != "" || strings.Join(g.calls, " ") != `get_weather{"city":"Paris"}` || g.finish != "tool_calls" || g.end != agent.FinishCalls || !strings.Contains(g.thought, "<tool_result>") {
			t.Errorf("whole %v: %s", whole, g)
		}
		if left := f.left == 1; left == whole || left != g.counted.Estimated || left == strings.Contains(g.thought, "It is 20") {
			t.Errorf("whole %v: left %d times, %s, %+v", whole, f.left, g, g.counted)
		}
		if n := gjson.Get(g.usage, "prompt_tokens").Int(); n != int64(g.counted.Prompt) || n < 10 {
			t.Errorf("whole %v: usage %s, %+v", whole, g.usage, g.counted)
		}
	}
}
