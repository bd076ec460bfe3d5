package parse_test

import (
	"runtime"
	"testing"

	"github.com/weirhost/weir/agent/parse"
)

// work returns how many bytes the parser allocates to read a text in chunks: what it
// copies to judge a place, and so how often it looks at the same text. Unlike time it
// does not depend on the machine.
func work(text string, chunk int) uint64 {
	set := parse.NewSet(house())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := set.Parser()
	for i := 0; i < len(text); i += chunk {
		p.Feed(text[i:min(i+chunk, len(text))])
	}
	p.Close(false)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// repeated are openings that a model repeats and never finishes, besides those of
// hostile.
var repeated = []string{
	"<tool_call>get_w", "天<tool_call>get_w", "<tool_call>get_w\n", "Call it: <tool_call>get_w", "<think>\n\n<tool_call>get_w", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>x<tool_call>",
	"<tool_call>get_weather<arg_key>x<arg_key>", "call:get_weather", "{{", "Action:\n\n\n", "<tool_call:opensource", "Here:\n```\nget_weather(city='a') -> x\n```\n", "Oslo.\n```\nget_weather(city='Oslo')\n```\nIt is.\n",
}

// The work for a byte does not grow with the text, and is small.
func TestWorkIsLinear(t *testing.T) {
	units := repeated
	for _, h := range hostile {
		units = append(units, h.unit)
	}
	for _, unit := range units {
		for _, chunk := range []int{4, 1 << 20} {
			const size = 16 << 10
			short, long := work(repeat(unit, size), chunk), work(repeat(unit, 4*size), chunk)
			if long > 6*short+1<<20 || long > 4*size*maxWork {
				t.Errorf("%q in chunks of %d: %d bytes of work for %d KiB, %d for %d KiB", unit, chunk, short, size>>10, long, 4*size>>10)
			}
		}
	}
}

// maxWork is how many bytes may be copied for one byte of text.
const maxWork = 160
