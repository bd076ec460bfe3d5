package parse_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/parse"
)

func textOf(events []parse.Event) string {
	var b strings.Builder
	for _, e := range events {
		if t, ok := e.(parse.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Text that cannot begin a call is emitted in the Feed that brings it.
func TestProseIsReleasedAtOnce(t *testing.T) {
	for _, chunks := range [][]string{
		{"Hello", " there", ", how are", " you?\n", "Fine."},
		{"The weather", " is fine.\n\n", "It was 3 < 4", " and so on."},
		{"你好", "，世界。\n", "今天天气", "很好。"},
		{"Let", "'s see: ", "first", " the", " mill."},
		{"A list:\n", "- one\n", "- two\n", "done"},
		{"<div>", "<b>bold</b>", "</div>"},
		{"```go\n", "func main() {\n", "}\n", "```\n", "end"},
		{"{\"title\":", " \"x\"}", " is JSON"},
		{"[1,", " 2]", " is a list"},
		{"Well.\n# Title\n", "text"},
		{"Action", "s speak louder."},
		{"Tools", " are things."},
	} {
		p := parse.New(house())
		got, fed := "", ""
		for _, c := range chunks {
			got += textOf(p.Feed(c))
			fed += c
			if held := len(fed) - len(got); held > 0 && strings.TrimSpace(fed[len(got):]) != "" && !mayBegin(fed[len(got):]) {
				t.Errorf("%q: after %q, %q is held", chunks, c, fed[len(got):])
			}
		}
		got += textOf(p.Close(false))
		if got != fed {
			t.Errorf("want %q, got %q", fed, got)
		}
	}
}

// mayBegin reports whether held text is the beginning of something.
func mayBegin(s string) bool {
	s = strings.TrimSpace(s)
	for _, open := range []string{"- ", "-", "```go", "```", "[", "[1,", "{", "Action", "Tools", "get", "first"} {
		if s == open {
			return s != "first" && s != "[1,"
		}
	}
	return false
}

// Nothing is held longer than its longest look ahead: however a prose text is
// cut, what is held is short.
func TestLittleIsHeld(t *testing.T) {
	p := parse.New(house())
	fed, got := 0, 0
	for i := range len(prose) {
		got += len(textOf(p.Feed(prose[i : i+1])))
		fed++
		if fed-got > 24 {
			t.Fatalf("%d bytes are held after %q", fed-got, prose[:i+1])
		}
	}
}

// No event splits a character.
func TestNoEventSplitsACharacter(t *testing.T) {
	const text = "水位在夏天下降。<think>想一想</think>é😀 done"
	for size := 1; size < 6; size++ {
		p := parse.New(house())
		var events []parse.Event
		for i := 0; i < len(text); i += size {
			events = append(events, p.Feed(text[i:min(i+size, len(text))])...)
		}
		for _, e := range append(events, p.Close(false)...) {
			s := ""
			switch e := e.(type) {
			case parse.Text:
				s = e.Text
			case parse.Reasoning:
				s = e.Text
			}
			if !utf8.ValidString(s) {
				t.Errorf("chunks of %d: %q", size, s)
			}
		}
	}
}

// A call is emitted as soon as it is complete, not at the end of the reply.
func TestCallsAreGivenOutWhenComplete(t *testing.T) {
	for _, text := range []string{
		`<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}`,
		`[get_weather(city="Paris")`,
		`{"name":"get_weather","arguments":{"city":"Paris"}}`,
		"```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}",
		"<function=get_weather>\n<parameter=city>Paris</parameter>\n</function>",
		"get_weather(city=\"Paris\")\n",
	} {
		p := parse.New(house())
		if n := len(parse.Calls(p.Feed(text))); n != 1 {
			t.Errorf("%q: %d calls before the end", text, n)
		}
	}
}

func TestFeedAfterCloseGivesNothing(t *testing.T) {
	p := parse.New(house())
	p.Close(false)
	if got := append(p.Feed("x"), p.Close(false)...); len(got) > 0 {
		t.Error(got)
	}
}

// A parser without tools passes text on and never calls.
func TestNoTools(t *testing.T) {
	for _, r := range formatRows {
		for _, e := range parse.All(parse.Options{}, r.text) {
			if c, ok := e.(parse.Call); ok {
				t.Errorf("%s: %v", r.why, c)
			}
		}
	}
}

func TestEmptyReply(t *testing.T) {
	if got := parse.All(house(), ""); len(got) != 0 {
		t.Error(got)
	}
}

func TestFormatAndRawOfACall(t *testing.T) {
	for _, r := range []struct {
		text   string
		format parse.Format
		id     string
		mended bool
	}{
		{`<tool_call>{"id":"call_001","tool_name":"get_time","arguments":{}}</tool_call>`, parse.FormatTag, "call_001", false},
		{"```tool_call\n{\"name\":\"get_time\",\"arguments\":{}}\n```", parse.FormatFence, "", false},
		{"```json\n{\"name\":\"get_time\",\"arguments\":{}}\n```", parse.FormatFenceJSON, "", false},
		{"```python\nget_time()\n```", parse.FormatFenceCode, "", false},
		{`{"name":"get_time","arguments":{}}`, parse.FormatJSON, "", false},
		{`{'name':'get_time','arguments':{}}`, parse.FormatJSON, "", true},
		{`<tool_call>{"name":"get_weather","arguments":{"city":"x"}</tool_call>`, parse.FormatTag, "", true},
		{`[get_time()]`, parse.FormatPythonic, "", false},
		{"get_weather\n{\"city\":\"x\"}", parse.FormatNameJSON, "", false},
		{`[TOOL_CALLS]get_time[ARGS]{}`, parse.FormatMistral, "", false},
		{"<tool_call>get_time\n</tool_call>", parse.FormatTag, "", false},
		{"<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>x</arg_value>\n</tool_call>", parse.FormatGLM, "", false},
		{"<function=get_time>\n</function>", parse.FormatXML, "", false},
		{`<invoke name="get_time"></invoke>`, parse.FormatInvoke, "", false},
		{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{}<｜tool▁call▁end｜>", parse.FormatDeepSeek, "", false},
		{`<|tool_calls_section_begin|><|tool_call_begin|>functions.get_time:0<|tool_call_argument_begin|>{}<|tool_call_end|>`, parse.FormatKimi, "", false},
		{`<|channel|>commentary to=functions.get_time<|message|>{}<|call|>`, parse.FormatHarmony, "", false},
		{"Action: get_time\nAction Input: {}", parse.FormatReAct, "", false},
		{`<|python_tag|>{"name":"get_time","parameters":{}}`, parse.FormatPythonTag, "", false},
		{`{"tool_calls":[{"id":"x1","function":{"name":"get_time","arguments":"{}"}}]}`, parse.FormatJSON, "x1", false},
	} {
		calls := parse.Calls(parse.All(house(), r.text))
		if len(calls) != 1 {
			t.Errorf("%q: %d calls", r.text, len(calls))
			continue
		}
		c := calls[0]
		if c.Format != r.format || c.ID != r.id || c.Repaired != r.mended {
			t.Errorf("%q: format %q, id %q, repaired %v", r.text, c.Format, c.ID, c.Repaired)
		}
		if !strings.Contains(r.text, c.Raw) || c.Raw == "" {
			t.Errorf("%q: raw %q", r.text, c.Raw)
		}
	}
}
