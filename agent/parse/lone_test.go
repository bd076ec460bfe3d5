package parse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/parse"
)

// loneBlocks are the fences of the tests below, without their backticks.
var loneBlocks = []string{
	"python\nget_weather(city='Oslo')", "python\n[get_weather(city='Oslo')]", "\nget_weather(city=\"Oslo\")", "json\n" + objOslo, "json\n[" + objOslo + "]", "tool\nget_weather(city='Oslo')",
}

// loneFrames are replies around %s whose only block is a call that no colon introduces.
var loneFrames = []string{
	"The function for the weather is \"get_weather\". Its parameter is the city.\n\n%s\n\nThis line asks for the weather of Oslo.",
	"Oslo is the city in question.\n%s\nThis call looks up its weather.",
	"The weather of Oslo is what is wanted here.\n\n%s\n\nThe call names the city and takes three days by default.",
	"I look up the weather of Oslo.\n\n%s\n\nThat is the only call this needs.",
	"Sure.\n\n%s\n\nOne moment.",
	"Okay, the weather then.\n\n%s\n\nI wait for it.",
	"To know whether it rains, the weather is needed.\n\n%s\n\nThen the answer follows.",
	"天气查询。\n\n%s\n\n这一行查询奥斯陆的天气。",
}

// shownFrames are replies around %s that explain or show a call.
var shownFrames = []string{
	"You can ask for the weather with this function.\n\n%s\n\nThis line asks for the weather of Oslo.",
	"The tool takes a city.\n\n%s\n\nIt returns the temperature.",
	"The tool takes a city.\n\n%s\n\nReplace Oslo with the city that you want.",
	"This is an example.\n\n%s\n\nThe city is a text.",
	"The format of a call is this.\n\n%s\n\nThe city is a text.",
	"I have a tool for it.\n\n%s\n\nShould I run it?",
	"I have a tool for it.\n\n%s\n\nLet me know if I shall run it.",
	"I have a tool for it.\n\n%s\n\nOther cities work as well:\n\n```python\nget_weather(city='Rome')\n```\n",
	"# Weather\n\nThe tool takes a city.\n\n%s\n\nThe city is a text.",
	"The tool takes a city.\n\n%s\n\n## Time\n\nThe other tool tells the time.",
	"The tool takes a city.\n\n%s\n\n| name | type |\n|---|---|\n| city | text |",
	"The tool takes a city.\n\n%s\n\nHere is what the fields are:\n- city: a text\n- days: a number",
	"A program would ask for the weather like that.\n\n%s\n\nThe city is a text.",
	"The output of the call below is a text.\n\n%s\n\nThe city is a text.",
	"I am sorry, I have no access to it.\n\n%s\n\nThe line above is what I had in mind.",
	"Suppose Oslo is the city.\n\n%s\n\nThen it asks for Oslo.",
	"The documentation shows one line.\n\n%s\n\nIt asks for Oslo.",
	"Your city is Oslo.\n\n%s\n\nThis line asks for it.",
	"这个工具可以查询天气。\n\n%s\n\n这一行查询奥斯陆的天气。",
	"天气查询。\n\n%s\n\n请把城市换成别的。",
	"> quoted\n\nThe tool takes a city.\n\n%s\n\nThis line asks for Oslo.",
	"The tool takes a city.\n\n%s\n\nget_weather(city='Rome') asks for Rome.\nThe rest is text.\n" + "```\nx\n```",
	"The tool takes a city.\n\n%s\n\n" + "It is a long story. %s" + "The end.",
}

// A fence that is the only block of a reply is what the reply does, unless the text
// around it explains it.
func TestLoneFence(t *testing.T) {
	for _, block := range loneBlocks {
		fence := "```" + block + "\n```"
		for _, frame := range loneFrames {
			text := fmt.Sprintf(frame, fence)
			if got := parse.Calls(parse.All(house(), text)); len(got) != 1 || string(got[0].Args) != `{"city":"Oslo"}` {
				t.Errorf("want the call, got %v:\n%s", got, text)
			}
		}
		if strings.HasPrefix(block, "tool\n") {
			continue // it has a marker
		}
		for _, frame := range shownFrames {
			text := strings.Replace(strings.Replace(frame, "%s", fence, 1), "%s", strings.Repeat("It goes on. ", 200), 1)
			if got := parse.Calls(parse.All(house(), text)); len(got) > 0 {
				t.Errorf("want no call, got %v:\n%s", got, text)
			}
		}
	}
}

// Without its last required argument, or cut by a length limit, it is nothing.
func TestLoneFenceIsComplete(t *testing.T) {
	for _, call := range []string{"get_weather(days=3)", "get_weather(city='Oslo', zone=1)", "write_file(path='a')", "get_weather(city='Oslo')\nprint(1)", "get_weather(city=city)", "get_weather(city='your_city_here')"} {
		text := "Oslo is the city in question.\n```python\n" + call + "\n```\nThis call looks up its weather."
		if got := parse.Calls(parse.All(house(), text)); len(got) > 0 {
			t.Errorf("%v:\n%s", got, text)
		}
	}
	p := parse.New(house())
	text := "Oslo is the city in question.\n```python\nget_weather(city='Oslo')\n```\nThis call looks up"
	if got := parse.Calls(append(p.Feed(text), p.Close(true)...)); len(got) > 0 {
		t.Errorf("cut off: %v", got)
	}
}

// forgottenRows are replies whose thought begins with an empty line and never closes: what
// templates write for no thought, with its end forgotten.
var forgottenRows = []row{
	{"a fence that is introduced", "<think>\n\nThe weather decides it. I call the tool that knows it:\n\n```\n" + objOslo + "\n```\n\nWith it I can say more.", oslo},
	{"a tag", "<think>\n\nI look it up.\n" + tagOslo, oslo},
	{"a tag at once", "<think>\n\n" + tagOslo + "\n", oslo},
	{"an object", "<think>\n\n" + objOslo, oslo},
	{"two", "<think>\r\n\r\n" + tagOslo + "\n" + tagRome, oslo + " " + rome},
	{"a list", "<think>\n \n[get_weather(city='Oslo')]", oslo},

	{"a thought that begins at once", "<think>\nI could ask:\n" + tagOslo, "!in_thought:get_weather"},
	{"a thought on the line of its tag", "<think>I could ask:\n\n" + tagOslo, "!in_thought:get_weather"},
	{"an example", "<think>\n\nFor example:\n```\n" + objOslo + "\n```\nis a call.", ""},
	{"a quotation", "<think>\n\nA call is written `" + tagOslo + "` there.", ""},
	{"text", "<think>\n\nIt is sunny.", ""},
	{"a thought that closes", "<think>\n\nI could ask:\n" + tagOslo + "\n</think>\nNo.", `"No."`},
}

func TestThoughtWithAForgottenEnd(t *testing.T) {
	for _, r := range forgottenRows {
		var rest []parse.Event
		for _, e := range parse.All(house(), r.text) {
			if _, thought := e.(parse.Reasoning); !thought {
				rest = append(rest, e)
			}
		}
		if got := show(rest); got != r.want {
			t.Errorf("%s: want %s, got %s", r.why, r.want, got)
		}
		p := parse.New(house())
		if calls := parse.Calls(append(p.Feed(r.text), p.Close(true)...)); len(calls) > 0 {
			t.Errorf("%s: cut off, it calls %v", r.why, calls)
		}
	}
}

var promiseRows = []row{
	{"a fence", "Okay, I will look it up.\n\n```python\nget_weather(city='Oslo')\n```\n\nLet me know if you need anything else!", `"Okay, I will look it up." ` + oslo + ` "Let me know if you need anything else!"`},
	{"a list", "Let me check the weather.\n\n[get_weather(city='Oslo'), get_time()]\n\nI will report the result.", `"Let me check the weather." ` + oslo + ` get_time{} "I will report the result."`},
	{"in Chinese", "我来查询天气。\n\n[get_weather(city='Oslo')]\n\n请稍等。", `"我来查询天气。" ` + oslo + ` "请稍等。"`},
	{"a second block", "[get_weather(city='Oslo')]\n\nI'll also ask about Rome.\n\n[get_weather(city='Rome')]\n", oslo + ` "I'll also ask about Rome." ` + rome},

	{"to show", "Let me show the call.\n\n```python\nget_weather(city='Oslo')\n```\n\nIt takes a city.", "\"Let me show the call.\\n\\n```python\\nget_weather(city='Oslo')\\n```\\n\\nIt takes a city.\""},
	{"to explain", "I will explain the tool.\n\n```python\nget_weather(city='Oslo')\n```\n\nYou can use it so.", "\"I will explain the tool.\\n\\n```python\\nget_weather(city='Oslo')\\n```\\n\\nYou can use it so.\""},
	{"an example", "Let me take an example.\n\n[get_weather(city='Oslo')]\n\nThat is all.", `"Let me take an example.\n\n[get_weather(city='Oslo')]\n\nThat is all."`},
	{"a program that is written", "I will write a program for you.\n\n```python\nget_weather(city='Oslo')\n```\n\nRun it.", "\"I will write a program for you.\\n\\n```python\\nget_weather(city='Oslo')\\n```\\n\\nRun it.\""},
	{"somebody else", "The tool will look it up.\n\n[get_weather(city='Oslo')]\n\nThat is all.", `"The tool will look it up.\n\n[get_weather(city='Oslo')]\n\nThat is all."`},
	{"under a title", "# Weather\n\nI will look it up.\n\n```python\nget_weather(city='Oslo')\n```\n\nThat is all.", "\"# Weather\\n\\nI will look it up.\\n\\n```python\\nget_weather(city='Oslo')\\n```\\n\\nThat is all.\""},
}

// A sentence in which the writer says what it does leads to its call without a colon.
func TestPromises(t *testing.T) { runRows(t, house(), promiseRows) }

// An object in a sentence is text, also if it is the very call that follows: that one is a
// call, and none of both is lost.
func TestACallBehindTheSameInASentence(t *testing.T) {
	const object = `{"name":"get_weather","arguments":{"city":"Paris"}}`
	for _, text := range []string{
		"Hm: " + object + " is what I call.\n<tool_call>" + object + "</tool_call>",
		"What is it? " + object + " `x`\n```json\n" + object + "\n```",
		"What is it? " + object + " `x`\n```python\nget_weather(city='Paris')\n```",
	} {
		events := parse.All(house(), text)
		if got := textOf(events); len(parse.Calls(events)) == 0 && strings.Count(got, "Paris") != 2 {
			t.Errorf("%q: %s", text, show(events))
		}
	}
}
