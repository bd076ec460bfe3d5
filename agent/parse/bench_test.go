package parse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/parse"
)

// hostile are texts, made to a length, that a parser without bounds reads
// again and again.
var hostile = []struct {
	name string
	unit string
}{
	{"braces", "{"},
	{"brackets", "["},
	{"quotes", `"`},
	{"lines of braces", "{\n"},
	{"objects that never end", `{"name":`},
	{"lines of objects that never end", "{\"name\":\n"},
	{"arguments that never end", "{\"arguments\":[\n"},
	{"calls that never end", `[get_weather(city="`},
	{"lines of calls that never end", "\nget_weather(city=\""},
	{"open tags", "<tool_call>"},
	{"open tags with objects", `<tool_call>{"name":"get_weather","arguments":{"city":"`},
	{"lost quotes", "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"x}}</tool_call>\n"},
	{"closing tags in a string", `<tool_call>{"name":"x","arguments":{"city":"</tool_call>`},
	{"quotes in a string", `{"name":"get_weather","arguments":{"city":" " a`},
	{"fences", "```json\n"},
	{"fences in fences", "```json\n{\n```\n"},
	{"ticks", "`"},
	{"tick, text", "` "},
	{"angles", "<"},
	{"angles and spaces", "<tool_call "},
	{"half tokens", "<｜tool▁"},
	{"parameters", "<function=get_weather><parameter=city>"},
	{"argument keys", "<tool_call>get_weather<arg_key>city"},
	{"named tags", "<get_weather><city>"},
	{"thoughts", "<think>"},
	{"channels", "<|channel|>analysis"},
	{"actions", "Action: get_weather\n"},
	{"action inputs", "Action: get_weather\nAction Input: {\n"},
	{"names", "get_weather "},
	{"names and lines", "get_weather\n"},
	{"a name without end", "get_weather"},
	{"names that are cut off", "<tool_call>get_w"},
	{"colons", ": "},
	{"introductions", "Call it:\n[get_weather("},
	{"white space", " "},
	{"empty lines", "\n"},
	{"backslashes", `\`},
	{"calls", "get_time()\n"},
	{"calls in fences", "So:\n```\nget_time()\n```\n"},
	{"lost call quotes", `[get_weather(city="x), get_weather(city="y`},
	{"two-part characters", "天"},
}

func repeat(unit string, n int) string { return strings.Repeat(unit, n/len(unit)+1)[:n] }

const prose = "The river rises in the hills and runs past the mill. On Sundays, people walk along the bank (it is about 3 km) and talk; \"quite a lot\", they say. " +
	"In 1887 the weir was built: it holds the water back, and lets a measured part through.\n\n" +
	"Some call it get-weathered, others don't. 水位在夏天下降，冬天上升。\n"

func BenchmarkProse(b *testing.B) {
	text := repeat(prose, 1<<20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		parse.All(house(), text)
	}
}

func BenchmarkProseInTokens(b *testing.B) {
	text := repeat(prose, 1<<16)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p := parse.New(house())
		for i := 0; i < len(text); i += 4 {
			p.Feed(text[i:min(i+4, len(text))])
		}
		p.Close(false)
	}
}

func BenchmarkCall(b *testing.B) {
	text := `<tool_call>{"id":"call_001","tool_name":"write_file","arguments":{"path":"a.txt","content":"` + strings.Repeat(`line of text\n`, 5000) + `"}}</tool_call>`
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if len(parse.Calls(parse.All(house(), text))) != 1 {
			b.Fatal("the call is not recognised")
		}
	}
}

// BenchmarkHostile shows that the time for one byte does not grow with the
// length: compare the two sizes of each text.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		for _, size := range []int{10 << 10, 1 << 20} {
			text := repeat(h.unit, size)
			b.Run(fmt.Sprintf("%s/%dK", strings.ReplaceAll(h.name, " ", "-"), size>>10), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					parse.All(house(), text)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/byte")
			})
		}
	}
}

func BenchmarkHostileInTokens(b *testing.B) {
	for _, h := range hostile {
		for _, size := range []int{10 << 10, 160 << 10} {
			text := repeat(h.unit, size)
			b.Run(fmt.Sprintf("%s/%dK", strings.ReplaceAll(h.name, " ", "-"), size>>10), func(b *testing.B) {
				for b.Loop() {
					p := parse.New(house())
					for i := 0; i < size; i += 4 {
						p.Feed(text[i:min(i+4, size)])
					}
					p.Close(false)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/byte")
			})
		}
	}
}
