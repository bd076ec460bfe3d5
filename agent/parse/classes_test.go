package parse_test

import (
	"testing"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// The classes of replies that were read wrongly when they were measured on recorded
// outputs. Each has the calls that must run and, beside them, what must not.

const (
	oslo    = `get_weather{"city":"Oslo"}`
	tagOslo = `<tool_call>{"name":"get_weather","arguments":{"city":"Oslo"}}</tool_call>`
	tagRome = `<tool_call>{"name":"get_weather","arguments":{"city":"Rome"}}</tool_call>`
	rome    = `get_weather{"city":"Rome"}`
	objOslo = `{"name": "get_weather", "arguments": {"city": "Oslo"}}`
	objRome = `{"name": "get_weather", "arguments": {"city": "Rome"}}`
)

var betweenRows = []row{
	{"an announcement", tagOslo + " I also look at Rome. " + tagRome, oslo + ` "I also look at Rome." ` + rome},
	{"a paragraph", tagOslo + "\n\nMeanwhile I will ask about the other city, which the question names second.\n\n" + tagRome, oslo + ` "Meanwhile I will ask about the other city, which the question names second." ` + rome},
	{"in Chinese", tagOslo + "\n接下来查询罗马的天气。\n" + tagRome, oslo + ` "接下来查询罗马的天气。" ` + rome},
	{"numbered titles", "1. Oslo:\n<function_call>" + objOslo + "</function_call>\n\n2. Rome, for 3 days:\n<function_call>" + objRome + "</function_call>\n\nThese two calls are all.", `"1. Oslo:" ` + oslo + ` "2. Rome, for 3 days:" ` + rome + ` "These two calls are all."`},
	{"tagged arguments", "<function=get_weather>\n<parameter=city>Oslo</parameter>\n</function>\nThen the other one.\n<function=get_weather>\n<parameter=city>Rome</parameter>\n</function>", oslo + ` "Then the other one." ` + rome},
	{"an envelope of Claude's", "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo</parameter>\n</invoke>\n</function_calls>\nNext, Rome:\n<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Rome</parameter>\n</invoke>\n</function_calls>", oslo + ` "Next, Rome:" ` + rome},
	{"tokens", "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Oslo\"}\nLet me look at Rome, too.\n[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Rome\"}", oslo + ` "Let me look at Rome, too." ` + rome},
	{"three", tagOslo + " Then " + tagRome + " and finally " + `<tool_call>{"name":"get_time","arguments":{}}</tool_call>`, oslo + ` "Then" ` + rome + ` "and finally" get_time{}`},
	{"a title", tagOslo + "\n\n### Rome\n\n" + tagRome, oslo + ` "### Rome" ` + rome},
	{"the title of somebody else", tagOslo + "\n\n### Instruction:\nNow Rome.\n" + tagRome, oslo + ` "### Instruction:\nNow Rome.\n` + esc(tagRome) + `"`},
	{"a title of a result", tagOslo + "\n\n### Result\n" + tagRome, oslo + ` "### Result\n` + esc(tagRome) + `"`},
	{"which function it is", tagOslo + "\nThe function for the other city is get_weather:\n" + tagRome, oslo + ` "The function for the other city is get_weather:" ` + rome},
	{"what a tool says", tagOslo + "\nThe tool says sunny:\n" + tagRome, oslo + ` "The tool says sunny:\n` + esc(tagRome) + `"`},
	{"a joining word", "[get_weather(city='Oslo')]\n\nand\n\n[get_weather(city='Rome')]\n", oslo + ` "and" ` + rome},
	{"a word between alternatives", "[get_weather(city='Oslo')]\n\nor\n\n[get_weather(city='Rome')]\n", oslo + ` "or\n\n[get_weather(city='Rome')]"`},
	{"a restatement after prose", tagOslo + " Once more, this is what I call: " + tagOslo, oslo + ` "Once more, this is what I call:"`},

	{"an observation", tagOslo + "\nObservation: sunny\n" + tagRome, oslo + ` "Observation: sunny\n` + esc(tagRome) + `"`},
	{"a response in tags", tagOslo + "\n<tool_response>sunny</tool_response>\nNow Rome.\n" + tagRome, oslo + ` "<tool_response>sunny</tool_response>\nNow Rome.\n` + esc(tagRome) + `"`},
	{"a result in words", tagOslo + "\nIt is sunny in Oslo. Now I look at Rome.\n" + tagRome, oslo + ` "It is sunny in Oslo. Now I look at Rome.\n` + esc(tagRome) + `"`},
	{"a result in figures", tagOslo + "\nOslo: 21 degrees.\nNow I look at Rome.\n" + tagRome, oslo + ` "Oslo: 21 degrees.\nNow I look at Rome.\n` + esc(tagRome) + `"`},
	{"a result in Chinese", tagOslo + "\n奥斯陆今天是晴天。接下来查询罗马。\n" + tagRome, oslo + ` "奥斯陆今天是晴天。接下来查询罗马。\n` + esc(tagRome) + `"`},
	{"a result as JSON", tagOslo + "\n{\"temperature\": 21}\n" + tagRome, oslo + ` "{\"temperature\": 21}\n` + esc(tagRome) + `"`},
	{"a result in a fence", tagOslo + "\n```\nsunny\n```\nNow Rome.\n" + tagRome, oslo + " \"```\\nsunny\\n```\\nNow Rome.\\n" + esc(tagRome) + `"`},
	{"the turn of somebody else", tagOslo + "<|im_end|>\n<|im_start|>user\nAnd Rome?<|im_end|>\n<|im_start|>assistant\n" + tagRome, oslo + ` "user\nAnd Rome?<|im_end|>\n<|im_start|>assistant\n` + esc(tagRome) + `"`},
	{"a question of somebody else", tagOslo + "\nUser: and Rome?\n" + tagRome, oslo + ` "User: and Rome?\n` + esc(tagRome) + `"`},
	{"a long text", tagOslo + "\n" + long + "\n" + tagRome, oslo + ` "` + long + `\n` + esc(tagRome) + `"`},
}

func TestProseBetweenCallsDoesNotEndTheReading(t *testing.T) { runRows(t, house(), betweenRows) }

var aboutTagRows = []row{
	{"a function tag", "<function=get_weather> is a tag. More text.", `"<function=get_weather> is a tag. More text."`},
	{"amid a sentence", "Write <invoke name=\"get_weather\"> and so on. Then close it.", `"Write <invoke name=\"get_weather\"> and so on. Then close it."`},
	{"in Chinese", "标签 <function=get_weather> 表示调用。后面还有。", `"标签 <function=get_weather> 表示调用。后面还有。"`},
	{"before a call", "A <function=get_weather> tag: I use it.\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n</function>", `"A <function=get_weather> tag: I use it." ` + oslo},
	{"with its arguments as JSON", "<function=get_weather>{\"city\":\"Oslo\"}</function>", oslo},
}

// A sentence about an opening tag is no call, and nothing of it is lost.
func TestATagInASentenceIsText(t *testing.T) { runRows(t, house(), aboutTagRows) }

var bareRows = []row{
	{"under numbered titles", "1. Oslo:\n" + objOslo + "\n2. Rome:\n" + objRome + "\nI hope that helps you.", `"1. Oslo:" ` + oslo + ` "2. Rome:" ` + rome + ` "I hope that helps you."`},
	{"for your tasks", "Here are the calls for your questions:\n\n" + objOslo + "\n\n" + objRome + "\n\nTell me if you want more.", `"Here are the calls for your questions:" ` + oslo + ` ` + rome + ` "Tell me if you want more."`},
	{"announced without a colon", "I will look it up with the weather tool.\n\n" + objOslo + "\n\nThen I answer.", `"I will look it up with the weather tool." ` + oslo + ` "Then I answer."`},
	{"behind lost tokens", "First the one city:\n\n<|im_start|>\n" + objOslo + "\n<|im_start|>\n\nThen the other one, by the same tool.\n\n<|im_start|>\n" + objRome + "\n<|im_start|>\n\nThat is all.", `"First the one city:" ` + oslo + ` "Then the other one, by the same tool." ` + rome + ` "That is all."`},
	{"behind other lost tokens", "I look it up.\n<|start_header_id|>\n" + objOslo + "\n<|end_header_id|>\nOne moment.", `"I look it up." ` + oslo + ` "One moment."`},
	{"behind an empty comment", "I look it up.\n<!-- -->\n" + objOslo + "\n<!-- -->\nOne moment.", `"I look it up." ` + oslo + ` "One moment."`},
	{"at the beginning, then prose, then another", objOslo + "\nNow the other city:\n" + objRome + "\nDone.", oslo + ` "Now the other city:" ` + rome + ` "Done."`},
	{"the tools are named in the introduction", "By the question and the available tools, this is the call that answers it:\n\n[get_weather(city='Oslo')]\n\nThe city is assumed.", `"By the question and the available tools, this is the call that answers it:" ` + oslo + ` "The city is assumed."`},

	{"an example", "A call is an object, for example:\n" + objOslo + "\nThe host runs it.", `"A call is an object, for example:\n` + esc(objOslo) + `\nThe host runs it."`},
	{"a format", "The format is:\n" + objOslo + "\nNothing else is allowed.", `"The format is:\n` + esc(objOslo) + `\nNothing else is allowed."`},
	{"a statement", "A call has a name and arguments.\n" + objOslo + "\nIt ends the turn.", `"A call has a name and arguments.\n` + esc(objOslo) + `\nIt ends the turn."`},
	{"placeholders", "I call it:\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"your_city_here\"}}\nDone.", `"I call it:\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"your_city_here\"}}\nDone."`},
	{"documentation", "## Calls\n\nThe tool is called so:\n" + objOslo + "\nIt returns text.", `"## Calls\n\nThe tool is called so:\n` + esc(objOslo) + `\nIt returns text."`},
	{"an undeclared name", "I call it:\n{\"name\": \"get_stars\", \"arguments\": {\"n\": 1}}\nDone.", `"I call it:\n{\"name\": \"get_stars\", \"arguments\": {\"n\": 1}}\nDone."`},
	{"arguments that do not fit", "I call it:\n{\"name\": \"get_weather\", \"arguments\": {\"town\": \"Oslo\"}}\nDone.", `"I call it:\n{\"name\": \"get_weather\", \"arguments\": {\"town\": \"Oslo\"}}\nDone."`},
	{"a list of what there is", "These are the available tools:\n" + objOslo + "\n" + objRome + "\nChoose one.", `"These are the available tools:\n` + esc(objOslo) + `\n` + esc(objRome) + `\nChoose one."`},
	{"a comment that hides a call", "Hello.\n<!-- " + objOslo + " -->\nBye.", `"Hello.\n<!-- ` + esc(objOslo) + ` -->\nBye."`},
}

func TestObjectsAmidProse(t *testing.T) { runRows(t, house(), bareRows) }

var reactFenceRows = []row{
	{"a program before the pair", "Thought: I need the weather.\n```python\nget_weather(city=\"Oslo\")\n```\nAction: get_weather\nAction Input: {\"city\": \"Oslo\"}", "\"Thought: I need the weather.\\n```python\\nget_weather(city=\\\"Oslo\\\")\\n```\" " + oslo},
	{"a program that a colon introduces", "Thought: this is it:\n```python\nget_weather(city=\"Oslo\")\n```\nAction: get_weather\nAction Input: {\"city\": \"Oslo\"}\nObservation: sunny", "\"Thought: this is it:\" " + oslo + ` "Action: get_weather\nAction Input: {\"city\": \"Oslo\"}\nObservation: sunny"`},
	{"a program with a variable", "Thought: so.\n\n```python\nw = get_weather(city=\"Oslo\")\nprint(w)\n```\n\nAction: get_weather\nAction Input: {\"city\": \"Rome\"}", "\"Thought: so.\\n\\n```python\\nw = get_weather(city=\\\"Oslo\\\")\\nprint(w)\\n```\" " + rome},
	{"a program at the beginning", "```python\nget_weather(city=\"Oslo\")\n```\n\nAction: get_weather\nAction Input: {\"city\": \"Oslo\"}", oslo + ` "Action: get_weather\nAction Input: {\"city\": \"Oslo\"}"`},
}

func TestReActAfterAProgram(t *testing.T) { runRows(t, house(), reactFenceRows) }

var wrapperRows = []row{
	{"json", "<json>\n" + objOslo + "\n</json>", oslo},
	{"xml", "<xml>\n  {\n    \"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}\n  }\n</xml>", oslo},
	{"response", "<response>" + objOslo + "</response>", oslo},
	{"response with a list", "<response>[" + objOslo + ", " + objRome + "]</response>", oslo + " " + rome},
	{"never closed", "<response>\n" + objOslo, oslo},
	{"a fence marked xml", "```xml\n" + objOslo + "\n```", oslo},
	{"a fence marked xml, with a wrapper", "```xml\n<response>\n" + objOslo + "\n</response>\n```", oslo},
	{"a fence marked xml in prose", "I look it up:\n```xml\n" + objOslo + "\n```\nOne moment.", `"I look it up:" ` + oslo + ` "One moment."`},
	{"triple quotes", "\"\"\"\n[get_weather(city='Oslo')]\n\"\"\"\n\nThis line calls it.", oslo + ` "This line calls it."`},
	{"an answer", "<response>It is four.</response>", `"<response>It is four.</response>"`},
	{"an answer that is an object", "<json>\n{\"temperature\": 4}\n</json>", `"<json>\n{\"temperature\": 4}\n</json>"`},
	{"an example", "For example: <json>" + objOslo + "</json> is a call.", `"For example: <json>` + esc(objOslo) + `</json> is a call."`},
}

func TestWrappersWithoutMeaning(t *testing.T) { runRows(t, house(), wrapperRows) }

var vendorRows = []row{
	{"Functionary", ">>>get_weather\n{\"city\": \"Oslo\"}", oslo},
	{"Functionary, two", ">>>get_weather\n{\"city\": \"Oslo\"}\n>>>get_weather\n{\"city\": \"Rome\"}", oslo + " " + rome},
	{"Functionary, without its mark", "get_weather\n{\"city\": \"Oslo\"}", oslo},
	{"Functionary, text before", ">>>all\nI look it up.>>>get_weather\n{\"city\": \"Oslo\"}", `"I look it up." ` + oslo},
	{"Functionary, text before, without its mark", "all\nI look\nit up.>>>get_weather\n{\"city\": \"Oslo\"}>>>get_time\n{}", `"all\nI look\nit up." ` + oslo + ` get_time{}`},
	{"a Python prompt", "Try it:\n>>> get_weather(city='Oslo')\nsunny", `"Try it:\n>>> get_weather(city='Oslo')\nsunny"`},
	{"DeepSeek V3, two", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Rome\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", oslo + " " + rome},
	{"a space marker in tags", `<functionĠname="get_weather"><paramĠname="city">Oslo</param></function>`, oslo},
	{"a space marker that is lost", `<functionname="get_weather"><paramname="city">Oslo</param></function>`, oslo},
	{"a space marker around a call", "<tool_call>Ċ{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}Ċ</tool_call>", oslo},
	{"GLM without arguments, on one line", "<tool_call>get_time</tool_call>", `get_time{}`},
	{"GLM without arguments, two", "<tool_call>get_time</tool_call><tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>", `get_time{} ` + oslo},
	{"GigaChat", "I look.<|message_sep|>\n\nfunction call<|role_sep|>\n" + objOslo + "</s>", `"I look." ` + oslo},
	{"GigaChat, the words in prose", "A function call<|role_sep|> begins a call.", `"A function call<|role_sep|> begins a call."`},
}

func TestVendorsForms(t *testing.T) { runRows(t, house(), vendorRows) }

// Where any name is a declared one, the same forms are calls.
func TestVendorsFormsOfAnyName(t *testing.T) {
	runRows(t, parse.Options{AnyName: true}, []row{
		{"Functionary", ">>>get_weather\n{\"city\": \"Oslo\"}", oslo},
		{"Functionary, without its mark", "get_weather\n{\"city\": \"Oslo\"}", oslo},
		{"Functionary, text before", "all\nI look it up.>>>get_weather\n{\"city\": \"Oslo\"}", `"all\nI look it up." ` + oslo},
		{"GLM", "<tool_call>get_time</tool_call>", `get_time{}`},
		{"a tool that is named like an abstention", `<tool_call>{"name": "final_answer", "arguments": {"done": true}}</tool_call>`, `final_answer{"done":true}`},
		{"wrapper", "<xml>\n" + objOslo + "\n</xml>", oslo},
	})
}

var openThoughtRows = []row{
	{"Kimi", "<think>I look it up.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_call_begin|>functions.get_weather:1<|tool_call_argument_begin|>{\"city\": \"Rome\"}<|tool_call_end|><|tool_calls_section_end|>", `«I look it up.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_call_begin|>functions.get_weather:1<|tool_call_argument_begin|>{"city": "Rome"}<|tool_call_end|><|tool_calls_section_end|>» ` + oslo + " " + rome},
	{"DeepSeek", "<think>So.\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "«So.\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>» " + oslo},
	{"a quotation before", "<think>The tokens <|tool_call_begin|> begin a call.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|>\n", `«The tokens <|tool_call_begin|> begin a call.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>» ` + oslo},
	{"the thought goes on", "<think>I could.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|> Or not.", `«I could.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|> Or not.» !in_thought:get_weather`},
	{"the thought is closed", "<think>I could.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|></think>No.", `«I could.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>» "No."`},
	{"an unfinished section", "<think>I could.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\"}", `«I could.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}» !in_thought:get_weather`},
	{"an ordinary tag", "<think>I could. " + tagOslo, `«I could. ` + tagOslo + `» !in_thought:get_weather`},
}

func TestCallTokensInAThoughtThatNeverCloses(t *testing.T) { runRows(t, house(), openThoughtRows) }

// A reply that a length limit cuts inside such a thought runs nothing.
func TestTruncatedThoughtRunsNothing(t *testing.T) {
	for _, r := range openThoughtRows {
		p := parse.New(house())
		if calls := parse.Calls(append(p.Feed(r.text), p.Close(true)...)); len(calls) > 0 {
			t.Errorf("%s: %v", r.why, calls)
		}
	}
}

var exampleRows = []row{
	{"a fence under a title", "## Weather\n\n```python\nget_weather(city='Oslo')\n```\n\n## Time\n\n```python\nget_time()\n```\n", "\"## Weather\\n\\n```python\\nget_weather(city='Oslo')\\n```\\n\\n## Time\\n\\n```python\\nget_time()\\n```\""},
	{"a placeholder", "To ask for the weather:\n```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"your_city_here\"}}\n```", "\"To ask for the weather:\\n```json\\n{\\\"name\\\": \\\"get_weather\\\", \\\"arguments\\\": {\\\"city\\\": \\\"your_city_here\\\"}}\\n```\""},
	{"a placeholder in brackets", "I call it:\n[get_weather(city=\"[your city]\")]", `"I call it:\n[get_weather(city=\"[your city]\")]"`},
	{"a placeholder after a tag", `<tool_call>{"name":"get_weather","arguments":{"city":"<your_city>"}}</tool_call>`, `!no_arguments:get_weather`},
	{"some of the tools, one after the other", "You can use `get_weather`, `search_web` and `get_time` as follows:\n\nFor weather:\n```json\nget_weather(\"Oslo\")\n```\n\nFor the web:\n```json\nsearch_web(query: \"news\")\n```", "\"You can use `get_weather`, `search_web` and `get_time` as follows:\\n\\nFor weather:\\n```json\\nget_weather(\\\"Oslo\\\")\\n```\\n\\nFor the web:\\n```json\\nsearch_web(query: \\\"news\\\")\\n```\""},
	{"what is general", "To look up the weather of a specific city:\n```python\nget_weather(\"Oslo\")\n```", "\"To look up the weather of a specific city:\\n```python\\nget_weather(\\\"Oslo\\\")\\n```\""},
	{"a signature in a fence", "The tool is this one:\n```python\nget_weather(city: string)\n```", "\"The tool is this one:\\n```python\\nget_weather(city: string)\\n```\""},
	{"a signature with defaults", "I have it:\n```python\nget_weather(city: str, days: int = 3)\n```", "\"I have it:\\n```python\\nget_weather(city: str, days: int = 3)\\n```\""},
	{"a definition, then a call", "```json\n[{'name': 'get_weather', 'parameters': {'type': 'dict', 'properties': {'city': {'type': 'string'}}}}]\n```\n\n```python\n[get_weather(city='Oslo')]\n```", "\"```json\\n[{'name': 'get_weather', 'parameters': {'type': 'dict', 'properties': {'city': {'type': 'string'}}}}]\\n```\" " + oslo},
}

func TestExamplesDoNotRun(t *testing.T) { runRows(t, house(), exampleRows) }

// What a schema declares as text stays text, however the schema says so.
func TestTextStaysText(t *testing.T) {
	o := parse.Options{}
	for _, schema := range []string{
		`{"type":"string"}`, `{"type":["string","null"]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"allOf":[{"type":"string"},{"maxLength":9}]}`,
		`{"enum":["5123123","x"]}`, `{"const":"5123123"}`, `{"$ref":"#/$defs/id"}`, `{"$ref":"#/definitions/id"}`, `{"pattern":"^[0-9]+$"}`, `{"maxLength":9}`,
	} {
		s := spec("find", "")
		s.Params = []byte(`{"type":"object","properties":{"ref":` + schema + `,"n":{"type":"integer"}},"$defs":{"id":{"type":"string"}},"definitions":{"id":{"type":"string"}}}`)
		o.Tools = append(o.Tools[:0], s)
		runRows(t, o, []row{
			{"tags, " + schema, "<function=find>\n<parameter=ref>\n5123123\n</parameter>\n<parameter=n>7</parameter>\n</function>", `find{"ref":"5123123","n":7}`},
			{"pythonic, " + schema, `[find(ref='5123123', n='7')]`, `find{"ref":"5123123","n":7}`},
			{"GLM, " + schema, "<tool_call>find<arg_key>ref</arg_key><arg_value>5123123</arg_value><arg_key>n</arg_key><arg_value>7</arg_value></tool_call>", `find{"ref":"5123123","n":7}`},
			{"JSON, " + schema, `{"name": "find", "arguments": {"ref": "5123123", "n": "7"}}`, `find{"ref":"5123123","n":7}`},
		})
	}
	o.Tools[0] = spec("pay", `"amount":{"type":"integer"},"note":{"type":"string"}`)
	runRows(t, o, []row{{"an amount of money", `[pay(amount=$2000, note=$5)]`, `pay{"amount":2000,"note":"$5"}`}})
}

// Prefixes, suffixes and tokens of vendors, and values that hold marks.
var namespaceRows = []row{
	{"a prefix with a colon", `<atem:function_calls><atem:invoke name="get_weather"><atem:parameter name="city">Oslo</atem:parameter></atem:invoke></atem:function_calls>`, oslo},
	{"a prefix with a pipe", `<ifm|tool_calls><ifm|tool_call>get_weather<ifm|arg_key>city</ifm|arg_key><ifm|arg_type>string</ifm|arg_type><ifm|arg_value>Oslo</ifm|arg_value></ifm|tool_call></ifm|tool_calls>`, oslo},
	{"a prefix with a pipe around an object", `<ifm|tool_calls><ifm|tool_call>` + objOslo + `</ifm|tool_call></ifm|tool_calls>`, oslo},
	{"a prefix of tokens", "<｜GCML｜tool_calls><｜GCML｜invoke name=\"get_weather\"><｜GCML｜parameter name=\"city\" string=\"true\">Oslo</｜GCML｜parameter></｜GCML｜invoke></｜GCML｜tool_calls>", oslo},
	{"a suffix", "<tool_calls:opensource><tool_call:opensource>get_weather<arg_key:opensource>city</arg_key:opensource><arg_value:opensource>Oslo</arg_value:opensource></tool_call:opensource><tool_call:opensource>get_time</tool_call:opensource></tool_calls:opensource>", oslo + " get_time{}"},
	{"tokens around arguments", "I look.<|tool_call:start|>get_weather\n<|tool_arg:start|>city<|tool_arg:value|>Oslo<|tool_arg:end|>\n<|tool_arg:start|>days<|tool_arg:value|>3<|tool_arg:end|>\n<|tool_call:end|>\n<|tool_call:start|>get_time\n<|tool_call:end|>", `"I look." get_weather{"city":"Oslo","days":3} get_time{}`},
	{"tokens around arguments, one lost", "<|tool_call:start|>get_weather\n<|tool_arg:start|>city<|tool_arg:value|>Oslo<|tool_call:end|>", oslo},
	{"thought tokens", "<|think:start|>So.<|think:end|><|tool_call:start|>get_time\n<|tool_call:end|>", "«So.» get_time{}"},
	{"other thought tokens", `<|inner_prefix|>So.<|inner_suffix|><|tools_prefix|>[{"get_time": {}}]<|tools_suffix|>`, "«So.» get_time{}"},
	{"the end of a thought in brackets", "So.\n[BEGIN FINAL RESPONSE]\n<tool_calls>[" + objOslo + "]</tool_calls>", `"So." ` + oslo},
	{"a tag of its own", `<dots_function_call><invoke name="get_weather"><parameter name="city">Oslo</parameter></invoke></dots_function_call>`, oslo},
	{"the end of a turn", "<|tool_call>call:get_weather{city:<|\"|>Oslo<|\"|>}<turn|>", oslo},
	{"a stray colon", "<|tool_call>:call:get_weather{city:<|\"|>Oslo<|\"|>}<tool_call|>", oslo},
	{"without its token, after a thought", "<|channel>thought\nSo.\n<channel|>call:get_weather{city:<|\"|>Oslo<|\"|>}", "«thought\nSo.» " + oslo},
	{"without its token, after text", "I look.\ncall:get_weather{city:<|\"|>Oslo<|\"|>}\nDone.", `"I look." ` + oslo + ` "Done."`},
	{"no call", "I call: get_weather is nice.\ncall:unknown{a:1}", `"I call: get_weather is nice.\ncall:unknown{a:1}"`},
	{"the end of a role", "It is four.<|role_end|>", `"It is four."`},
	{"a tag of a namespace that is no mark", "<svg:rect name=\"get_weather\">", `"<svg:rect name=\"get_weather\">"`},
	{"marks in a value", "<tool_call>search_web\n<arg_key>query</arg_key>\n<arg_value>what </think> and <tool_call> mean</arg_value>\n</tool_call>", `search_web{"query":"what </think> and <tool_call> mean"}`},
	{"marks in a value, in tags", "<tool_call>\n<function=search_web>\n<parameter=query>\nwhat <tool_call> means\n</parameter>\n</function>\n</tool_call>", `search_web{"query":"what <tool_call> means"}`},
	{"a value without its end", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo<tool_call>get_weather<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call>", oslo + " " + rome},
	{"a value without its end, and nothing", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo<tool_call>", oslo},
	{"CDATA with a closing tag", `<function name="write_file"><param name="path">a</param><param name="content"><![CDATA[<a>x</a></param>]]></param></function>`, `write_file{"path":"a","content":"<a>x</a></param>"}`},
	{"wrappers in capitals", "<JSON>\n" + objOslo + "\n</JSON>", oslo},
	{"a set", "[plot(points={1, 2})]", `plot{"points":[1,2]}`},
	{"a number with a leading zero", "[get_weather(city='Oslo', days=07)]", `get_weather{"city":"Oslo","days":7}`},
}

func TestVendorsPrefixes(t *testing.T) { runRows(t, house(), namespaceRows) }

// Text in tags is what its schema says: null where that is allowed, and a number where
// text is, too.
func TestTextInTagsOfSeveralTypes(t *testing.T) {
	o := parse.Options{Tools: []tool.Spec{spec("set", `"note":{"type":["string","null"]},"amount":{"type":["integer","string"]},"value":{"anyOf":[{"type":"object"},{"type":"string"}]}`)}}
	tagged := func(key, value string) string {
		return "<function=set>\n<parameter=" + key + ">\n" + value + "\n</parameter>\n</function>"
	}
	runRows(t, o, []row{
		{"null", tagged("note", "null"), `set{"note":null}`},
		{"text", tagged("note", "nullable"), `set{"note":"nullable"}`},
		{"digits", tagged("note", "5123"), `set{"note":"5123"}`},
		{"a number", tagged("amount", "42"), `set{"amount":42}`},
		{"no number", tagged("amount", "2 dollars"), `set{"amount":"2 dollars"}`},
		{"an object", tagged("value", `{"a": 1}`), `set{"value":{"a":1}}`},
		{"no object", tagged("value", `{not that`), `set{"value":"{not that"}`},
	})
}

// Forms that small models write, each with a neighbour that is none.
var smallModelRows = []row{
	{"a program that begins with a comment", "```python\n# the first city\nget_weather(city='Oslo')\n\n# the second\nget_weather(city='Rome')\n```\n", oslo + " " + rome},
	{"a log in a fence", "The log says:\n```\nget_weather(city='Oslo') -> sunny\n```\nSo it works.", "\"The log says:\\n```\\nget_weather(city='Oslo') -> sunny\\n```\\nSo it works.\""},
	{"doubled braces", "<tool_call>\n{{\"name\": \"get_weather\", \"arguments\": {{\"city\": \"Oslo\"}}}}\n</tool_call>", oslo},
	{"doubled braces, outside only, bare", "{{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}}", oslo},
	{"an answer in a tag", "<answer>\n" + objOslo + "\n</answer>", oslo},
	{"a name in a tag of its own", "<function_calls>\n<invoke>\n<tool_name>get_weather</tool_name>\n<parameters>\n<city>Oslo</city>\n</parameters>\n</invoke>\n</function_calls>", oslo},
	{"a ReAct name on the next line", "Thought: so.\n\nAction:\nget_weather\n\nAction Input:\n{\"city\": \"Oslo\"}", `"Thought: so." ` + oslo},
	{"a ReAct input of key and value", "Action: get_weather\nAction Input: city=\"Oslo\", days=3", `get_weather{"city":"Oslo","days":3}`},
	{"a ReAct input with another key", "Action: search_web\nAction Input: a=b", `search_web{"query":"a=b"}`},
	{"what is to be written", "To ask for it, write:\n\n```json\n" + objOslo + "\n```\n\nand wait.", "\"To ask for it, write:\\n\\n```json\\n" + esc(objOslo) + "\\n```\\n\\nand wait.\""},
	{"information", "This gets the information:\n```json\n" + objOslo + "\n```\nI wait.", `"This gets the information:" ` + oslo + ` "I wait."`},
	{"what corresponds", "The corresponding call is:\n" + objOslo + "\nI wait.", `"The corresponding call is:" ` + oslo + ` "I wait."`},
	{"functools with spaces", "functools [ " + objOslo + " ]", oslo},
	{"functools inside a line", "I call functools[" + objOslo + "] now.", `"I call functools" ` + oslo + ` "now."`},
	{"spaces around a sign", "<function = get_weather>\n<parameter = city>\nOslo\n</parameter>\n</function>", oslo},
	{"a name inside a word", "Let's call itEget_weather\n{\"city\": \"Oslo\"}", `"Let's call itEget_weather\n{\"city\": \"Oslo\"}"`},
	{"the form that was asked for", "Here is the call in the requested format:\n" + objOslo + "\nI wait.", `"Here is the call in the requested format:" ` + oslo + ` "I wait."`},
	{"the form of a call", "A call has this format:\n" + objOslo + "\nThat is all.", `"A call has this format:\n` + esc(objOslo) + `\nThat is all."`},
}

func TestSmallModels(t *testing.T) { runRows(t, house(), smallModelRows) }
