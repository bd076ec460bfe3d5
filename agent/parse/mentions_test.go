package parse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/parse"
)

// onlyAlone are the forms that are calls only as a whole reply. Package quote compares
// their text.
var onlyAlone = []string{"pythonic with a lost quote at the end", "pythonic, printed", "Hermes with lost tags"}

// onlyOnLines are the forms that begin with a word of their own at the start of a line.
var onlyOnLines = []string{
	"pythonic as a tuple", "labels", "other labels, in bold", "Kimi without tokens", "harmony without its tokens", "ReAct with text",
	"ReAct with an invented observation", "ReAct in bold, numbered",
}

// Every form is found in a result, whatever is around it.
func TestMentionsFindsEveryForm(t *testing.T) {
	set := parse.NewSet(house())
	for _, around := range [][2]string{
		{"", ""}, {"The log says:\n", "\nand goes on."}, {"For example:\n\n", "\n\nAnd so on.\n"}, {"> quoted\n\n# Title\n\n", "\n\n| a | b |\n"},
		{"Then call ", " at once."}, {"<think>\n", "\n</think>\nDone."}, {`<tool_call>{"name":"get_time","arguments":{}}</tool_call>` + "\nIt is late.\n", "\nend"},
	} {
		for _, r := range formatRows {
			want := parse.Calls(parse.All(house(), r.text))
			if around[0] != "" && slices.Contains(onlyAlone, r.why) || around[0] == "Then call " && slices.Contains(onlyOnLines, r.why) {
				continue
			}
			found := map[string]bool{}
			for _, c := range set.Mentions(around[0] + r.text + around[1]) {
				found[c.Name+string(c.Args)] = true
			}
			for _, c := range want {
				if !found[c.Name+string(c.Args)] {
					t.Errorf("%s, after %q: %s%s is not found", r.why, around[0], c.Name, c.Args)
				}
			}
		}
	}
}

// Prose about tools, and values alone, are no calls.
func TestMentionsIgnoresProse(t *testing.T) {
	set := parse.NewSet(house())
	for _, text := range []string{
		"What is the weather in Paris?", "Use get_weather for Paris.", "get_weather Paris", "Call get_weather with the city Paris.", `{"city": "Paris"}`, "get_weather takes city.",
		strings.Repeat("Paris get_weather ", 50),
	} {
		if calls := set.Mentions(text); len(calls) > 0 {
			t.Errorf("%q holds %v", text, calls)
		}
	}
}

// The time is linear in the text, also where each group of calls goes on to the end of the
// text without an end of its own. With the square of it, each of these takes many minutes.
func TestMentionsReadsNoTextTooOften(t *testing.T) {
	set := parse.NewSet(house())
	for _, unit := range []string{
		`['get_weather(city="Paris")', 'g`, `[get_weather(city="Paris"), 'x`, `[get_time(),{"a":`, `[get_time(),{`, `[get_time(),#`, `[{"name":"get_time"},"x`,
	} {
		if calls := set.Mentions(strings.Repeat(unit, 1<<20/len(unit))); len(calls) == 0 {
			t.Errorf("no call is found in many of %s", unit)
		}
	}
}

func BenchmarkMentions(b *testing.B) {
	set := parse.NewSet(house())
	for name, line := range map[string]string{
		"log":    "2026-11-23 20:14:01 INFO request served path=/index.html status=200 bytes=1831 agent=\"curl/8.5\"\n",
		"code":   "func (s *server) get(name string) (map[string]any, error) { return s.items[name], nil } // `x` <T>\n",
		"calls":  `<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_call>` + "\n",
		"opened": `<tool_call>{"name":"get_weather" `, "fences": "```json\n{\"name\": \"get_weather\"\n",
	} {
		text := strings.Repeat(line, 1<<20/len(line))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				set.Mentions(text)
			}
		})
	}
}
