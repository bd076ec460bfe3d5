package textcalls_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent/passthrough/textcalls"
)

// fragments are what replies are made of here.
var fragments = []string{
	"I look it up.", "Then this:\n", "\n", "\n\n", " ", "天气如何？", "Shall I run it?", "a < b", "`x`",
	paris, rome, unknown, `<tool_call>{"name":"get_weather","arguments":{"city":"a" "b" oops}}</tool_call>`, "<tool_call>\n", "</tool_call>",
	"```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Oslo\"}}\n```", "```python\nget_time()\n```", "```xml\n<tool_call>{\"tool_name\":\"get_weather\",\"arguments\":{\"city\":\"Bodo\"}}</tool_call>\n```", "```sh\nls\n```\n", "```json\n{\"name\":\"nope\",\"arguments\":{}}\n```",
	`{"name":"get_weather","arguments":{"city":"Bergen"}}`, "[get_weather(city='Moss')]", "<think>Hm.</think>", "<think>", "</think>\n", "[TOOL_CALLS]", "<tool_result>x</tool_result>", "get_time",
}

// However a reply is cut, the client gets the same.
func TestCutsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 1, 7).Draw(t, "reply"), "")
		second := says(rapid.SampledFrom([]string{paris, "Four.", unknown, ""}).Draw(t, "second"))
		finish := rapid.SampledFrom([]string{"stop", "length"}).Draw(t, "finish")
		one := &fake{replies: []reply{{texts: []string{text}, finish: finish}, second}}
		want := ask(t, one, textcalls.Options{}, question("Weather?", ""))
		cut := &fake{replies: []reply{{texts: cuts(t, text), finish: finish}, second}}
		got := ask(t, cut, textcalls.Options{}, question("Weather?", ""))
		if one.left+cut.left > 0 { // not all of it was read
			if strings.Join(got.calls, " ") != strings.Join(want.calls, " ") {
				t.Fatalf("%q: %q and %q", text, got.calls, want.calls)
			}
			return
		}
		if got.String() != want.String() || len(one.bodies) != len(cut.bodies) {
			t.Fatalf("%q\nwhole %s\ncut   %s (%q)", text, want, got, cut.replies[0].texts)
		}
	})
}

func cuts(t *rapid.T, text string) []string {
	var out []string
	for _, s := range letters(text) {
		if len(out) == 0 || rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
			out = append(out, s)
		} else {
			out[len(out)-1] += s
		}
	}
	return out
}

// A reply without a call, a bad call and a thought is content, to the byte.
func TestTextIsNeverLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 1, 7).Draw(t, "reply"), "")
		f := &fake{replies: []reply{says(cuts(t, text)...)}}
		g := ask(t, f, textcalls.Options{}, question("Weather?", ""))
		if len(g.calls) > 0 || g.thought != "" || len(f.bodies) > 1 || strings.Contains(text, "think>") {
			return
		}
		if g.content != text {
			t.Fatalf("%q became %q", text, g.content)
		}
	})
}
