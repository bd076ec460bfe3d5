package parse_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/eval"
)

// allTexts are the texts of every table of this package.
func allTexts() []string {
	var out []string
	for _, rows := range [][]row{formatRows, quoteRows, groupRows, argRows, malformedRows, thoughtRows, betweenRows, bareRows, reactFenceRows, wrapperRows, vendorRows, openThoughtRows, exampleRows, forgottenRows, namespaceRows, smallModelRows, promiseRows} {
		for _, r := range rows {
			out = append(out, r.text)
		}
	}
	for i, frame := range append(slices.Clone(loneFrames), shownFrames...) {
		out = append(out, strings.ReplaceAll(frame, "%s", "```"+loneBlocks[i%len(loneBlocks)]+"\n```"))
	}
	return out
}

// FuzzLaws tries every split and prefix of the texts themselves; here they
// are among other text.
func TestLawsHoldForEveryText(t *testing.T) {
	for _, text := range allTexts() {
		for _, in := range []string{text + "\nThat is it.", "Well. " + text + text, "<think>" + text} {
			if err := eval.Laws(house(), in, false); err != nil {
				t.Errorf("%v\n%s", err, in)
			}
		}
	}
}

func TestLawsHoldWithoutDeclaredTools(t *testing.T) {
	for _, text := range allTexts() {
		if err := eval.Laws(parse.Options{AnyName: true}, text, false); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestLawsHoldWhereMarksAloneCount(t *testing.T) {
	o := house()
	o.Marked = true
	for _, text := range allTexts() {
		for _, in := range []string{text, text + "\nThat is it.", "Well. " + text + text} {
			if err := eval.Laws(o, in, false); err != nil {
				t.Errorf("%v\n%s", err, in)
			}
		}
	}
}

func TestLawsHoldInsideThought(t *testing.T) {
	o := house()
	o.StartInThought = true
	for _, text := range allTexts() {
		if err := eval.Laws(o, text+"</think>"+text, false); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// pieces are what replies are made of, whole and broken.
var pieces = []string{
	"{", "}", "[", "]", "(", ")", "\"", "'", "`", "```", "```json\n", "```python\n", "\n```\n", "\n", "\n\n", " ", ",", ":", ";", "=", "\\", "\\\"", "*", "- ", "1. ",
	"<tool_call>", "</tool_call>", "<function_call>", "<think>", "</think>", "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>",
	"<function=get_weather>", "<parameter=city>", "</parameter>", "</function>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<invoke name=\"get_weather\">", "</invoke>",
	"<|channel|>", "<|message|>", "analysis", "commentary to=functions.get_weather", "<|call|>", "<|im_start|>", "<|message_sep|>", "<!-- -->", "function call<|role_sep|>", "assistant", "all\n", ">>>", ">>>get_weather\n", "<json>", "</json>", "<response>", "<functionname=\"get_time\">", "Ġ", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>", "Action:", "Action Input:", "Observation:",
	"get_weather", "get_time", "search_web", "unknown_tool", "functions.", "math.gcd", "name", "arguments", "\"name\":", "\"arguments\":", "{\"city\":\"Paris\"}", "city=\"Rome\"", "'query': 'x'",
	"{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}", "get_weather(city='Paris')", "[get_time()]", "Here is the call:", "Now I look at the other one.", "It is 20 degrees.", "Result: 5", "your_city_here", "You can use it as follows:", "# Title\n", "接下来", "For example:", "text", "天气", "：", "é", "'s", "0.5", "true", "None", "--", "=>", "</", "<", "|", "#",
}

func TestLawsHoldForAnyMixture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 24).Draw(t, "pieces"), "")
		if err := eval.Laws(house(), text, true); err != nil {
			t.Fatalf("%v\n%q", err, text)
		}
	})
}

// What is emitted, with the raw text of calls, is never more than the reply.
func TestTextIsNeverInvented(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 24).Draw(t, "pieces"), "")
		rest := text
		for _, e := range parse.All(house(), text) {
			part := ""
			switch e := e.(type) {
			case parse.Text:
				part = e.Text
			case parse.Reasoning:
				part = e.Text
			}
			for i := range len(part) {
				n := strings.IndexByte(rest, part[i])
				if n < 0 {
					t.Fatalf("%q is not part of %q", part, text)
				}
				rest = rest[n+1:]
			}
		}
	})
}
