package parse_test

import "testing"

// quoteRows speak about calls and make none.
var quoteRows = []row{
	{"a name in prose", "You could use get_weather or search_web(query) for that.", `"You could use get_weather or search_web(query) for that."`},
	{"the tag in prose", "The <tool_call> tag opens a call, </tool_call> ends it.", `"The <tool_call> tag opens a call, </tool_call> ends it."`},
	{"a tag that is none", "Document literal <tool_call fakeout and go on.", `"Document literal <tool_call fakeout and go on."`},
	{"a longer word", "An ordinary <tool_calling> marker.", `"An ordinary <tool_calling> marker."`},
	{"a call in code", "Write `<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>` to get the time.", "\"Write `<tool_call>{\\\"name\\\":\\\"get_time\\\",\\\"arguments\\\":{}}</tool_call>` to get the time.\""},
	{"a pythonic call in code", "Then `get_weather(city='Paris')` is what I would call.", "\"Then `get_weather(city='Paris')` is what I would call.\""},
	{"code that begins the line and goes on", "`get_weather(city='Paris')` returns the weather.", "\"`get_weather(city='Paris')` returns the weather.\""},
	{"a call that goes on as a sentence", "get_weather(city='Paris') returns the weather.", `"get_weather(city='Paris') returns the weather."`},
	{"a signature", "get_weather(city: string, days: integer)", `"get_weather(city: string, days: integer)"`},
	{"a signature in a list", "[search_web(query)]", `"[search_web(query)]"`},
	{"an example", "For example:\n\n```json\n{\"name\":\"get_time\",\"arguments\":{}}\n```", "\"For example:\\n\\n```json\\n{\\\"name\\\":\\\"get_time\\\",\\\"arguments\\\":{}}\\n```\""},
	{"an example in Chinese", "例如：\n[get_weather(city='Paris')]", `"例如：\n[get_weather(city='Paris')]"`},
	{"documentation with headings", "# Calls\n\nA call is written so:\n\n```json\n{\"name\":\"get_time\",\"arguments\":{}}\n```\n\nThe host answers.", "\"# Calls\\n\\nA call is written so:\\n\\n```json\\n{\\\"name\\\":\\\"get_time\\\",\\\"arguments\\\":{}}\\n```\\n\\nThe host answers.\""},
	{"a definition", `{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}`, `"{\"name\":\"get_weather\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}}"`},
	{"an undeclared name in bare JSON", `{"name":"fibonacci","arguments":{"n":20}}`, `"{\"name\":\"fibonacci\",\"arguments\":{\"n\":20}}"`},
	{"a JSON answer", `{"name":"John","age":3}`, `"{\"name\":\"John\",\"age\":3}"`},
	{"a JSON answer with our keys", `{"query":"news","found":12}`, `"{\"query\":\"news\",\"found\":12}"`},
	{"nothing in a list", "The answer is:\n\n[]", `"The answer is:\n\n[]"`},
	{"a list that is no call", "[1, 2, 3]", `"[1, 2, 3]"`},
	{"arithmetic", "[math.pi*(3**3)]", `"[math.pi*(3**3)]"`},
	{"another function", "[math.sqrt(2)]", `"[math.sqrt(2)]"`},
	{"a script", "```python\nimport math\n\ndef area(r):\n    return math.pi * r\n```", "\"```python\\nimport math\\n\\ndef area(r):\\n    return math.pi * r\\n```\""},
	{"a call inside a fence of another kind", "```go\nget_weather(city=\"Paris\")\n```", "\"```go\\nget_weather(city=\\\"Paris\\\")\\n```\""},
	{"a link", "[get_weather](https://example.org/get_weather)", `"[get_weather](https://example.org/get_weather)"`},
	{"a quoted tag", `He wrote "<tool_call>{"name":"get_time","arguments":{}}</tool_call>" there.`, `"He wrote \"<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>\" there."`},
	{"nothing to do", "None", `"None"`},
	{"ReAct without action", "Action: None\nAction Input: none", `"Action: None\nAction Input: none"`},
	{"an action in prose", "Action: buy some milk\nand bread.", `"Action: buy some milk\nand bread."`},
	{"a call whose argument is a call", "[search_web(query=get_time())]", `"[search_web(query=get_time())]"`},
	{"a call in the middle of prose", "First get_time() and then get_weather(city='Paris') are called.", `"First get_time() and then get_weather(city='Paris') are called."`},
	{"JSON behind prose on one line", `I could send {"name":"get_time","arguments":{}}`, `"I could send" !in_text:get_time`},
	{"JSON amid prose on one line", `I could send {"name":"get_time","arguments":{}} there`, `"I could send {\"name\":\"get_time\",\"arguments\":{}} there"`},
	{"what a model would write", "The model responds with a JSON object:\n\n```json\n{\"name\": \"get_time\", \"arguments\": {}}\n```\n\nThe host runs it.", "\"The model responds with a JSON object:\\n\\n```json\\n{\\\"name\\\": \\\"get_time\\\", \\\"arguments\\\": {}}\\n```\\n\\nThe host runs it.\""},
	{"a tag a model would write", "To call a tool, the model writes:\n\n<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>\n\nThe host runs it.", `"To call a tool, the model writes:\n\n<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>\n\nThe host runs it."`},
	{"advice", "You can call it like this:\n\n```python\nget_weather(city='Paris')\n```\n\nIt returns a dictionary.", "\"You can call it like this:\\n\\n```python\\nget_weather(city='Paris')\\n```\\n\\nIt returns a dictionary.\""},
	{"a program", "def test():\n    get_weather(city='Paris')\n    assert True", `"def test():\n    get_weather(city='Paris')\n    assert True"`},
	{"a list of tools", "Available tools:\n- get_weather(city)\n- search_web(query, max_results=5)\n- get_time()", `"Available tools:\n- get_weather(city)\n- search_web(query, max_results=5)\n- get_time()"`},
	{"a tag in code tags", `Write <code><tool_call>{"name":"get_time","arguments":{}}</tool_call></code> there.`, `"Write <code><tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call></code> there."`},
	{"a tag in a table", `| tag | <tool_call>{"name":"get_time","arguments":{}}</tool_call> |`, `"| tag | <tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call> |"`},
	{"a JSON key before a list", `{"found": 1, "calls": [{"name":"get_time","arguments":{}}]}`, `"{\"found\": 1, \"calls\": [{\"name\":\"get_time\",\"arguments\":{}}]}"`},
	{"a call fence in documentation", "# Calls\n\nThey look so:\n\n```tool_call\n{\"name\":\"get_time\",\"arguments\":{}}\n```\n\nThat is all.", "\"# Calls\\n\\nThey look so:\\n\\n```tool_call\\n{\\\"name\\\":\\\"get_time\\\",\\\"arguments\\\":{}}\\n```\\n\\nThat is all.\""},
	{"a blockquote", "> [get_weather(city='Paris')]", `"> [get_weather(city='Paris')]"`},
	{"a notice that is quoted", "[The tool says: 5 of 9 shown. To go on: search_web(…, max_results=9)]", `"[The tool says: 5 of 9 shown. To go on: search_web(…, max_results=9)]"`},
	{"arguments left out", "To go on:\nsearch_web(query=..., max_results=9)", `"To go on:\nsearch_web(query=..., max_results=9)"`},
	{"a remark in brackets", "Five were shown. (To go on: search_web(query='x', max_results=9))", `"Five were shown. (To go on: search_web(query='x', max_results=9))"`},
	{"a remark in wide brackets", "只显示了五条（继续：search_web(query='x')）", `"只显示了五条（继续：search_web(query='x')）"`},
	{"a table", "| tool | call |\n|---|---|\n| a | [get_time()] |\n\nSo:\n\n[get_time()]\n\nis it.", `"| tool | call |\n|---|---|\n| a | [get_time()] |\n\nSo:\n\n[get_time()]\n\nis it."`},
}

func TestQuotations(t *testing.T) { runRows(t, house(), quoteRows) }

// groupRows say which calls of a reply run together, and which do not run.
var groupRows = []row{
	{"an invented result", "<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>\nResult: 12:00\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>", `get_time{} "Result: 12:00\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>"`},
	{"an invented tool response", "<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>\n<tool_response>12:00</tool_response>\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>", `get_time{} "<tool_response>12:00</tool_response>\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>"`},
	{"prose between tags", `<tool_call>{"name":"get_time","arguments":{}}</tool_call> and then <tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_call>`, `get_time{} "and then" get_weather{"city":"Paris"}`},
	{"a restatement", "<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>", `get_time{}`},
	{"the same call twice in one list", `[get_time(), get_time()]`, `get_time{} get_time{}`},
	{"an enumeration", "1. The weather:\n```python\nget_weather(city='Paris')\n```\n\n2. The time:\n```python\nget_time()\n```", `"1. The weather:" get_weather{"city":"Paris"} "2. The time:" get_time{}`},
	{"an enumeration with a result", "The weather:\n[get_weather(city='Paris')]\n\nThe output is 20. The time:\n[get_time()]", `"The weather:" get_weather{"city":"Paris"} "The output is 20. The time:\n[get_time()]"`},
	{"an undeclared call in a list", `[get_stars(n=3), get_time()]`, `get_time{}`},
	{"a string in a list", `[get_time(), 'No distance is given.']`, `get_time{}`},
	{"an index behind a list", `[get_weather(city='Paris')][0]['name']`, `get_weather{"city":"Paris"} "[0]['name']"`},
	{"objects side by side", `[{"name":"get_time","arguments":{}}], {"name":"get_weather","arguments":{"city":"Paris"}}`, `get_time{} get_weather{"city":"Paris"}`},
	{"abstaining", `<function_call> {"name": "no_function", "arguments": {}}`, ``},
	{"a role token between calls", "<|im_start|>\n{\"name\":\"get_time\",\"arguments\":{}}\n<|im_start|>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n<|im_start|>\nI hope this helps!", `get_time{} get_weather{"city":"Paris"} "I hope this helps!"`},
}

func TestGroups(t *testing.T) { runRows(t, house(), groupRows) }

var thoughtRows = []row{
	{"a thought", "<think>I wonder.</think>Four.", `«I wonder.» "Four."`},
	{"a call after a thought", "<think>I look.</think>\n<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>", `«I look.» get_time{}`},
	{"a bare call after a thought", "<think>I look.</think>\n\n{\"name\":\"get_time\",\"arguments\":{}}", `«I look.» get_time{}`},
	{"a call inside a thought", "<think><tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call></think>No.", `«<tool_call>{"name":"get_time","arguments":{}}</tool_call>» "No."`},
	{"a call in a thought that is never closed", "<think>So: <tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>", `«So: <tool_call>{"name":"get_time","arguments":{}}</tool_call>» !in_thought:get_time`},
	{"Mistral's thought", "[THINK]Hm.[/THINK][TOOL_CALLS]get_time[ARGS]{}", `«Hm.» get_time{}`},
	{"Seed's thought", "<seed:think>Hm.</seed:think>Four.", `«Hm.» "Four."`},
	{"two thoughts", "<think>a</think>b\n<think>c</think>d", `«a» "b" «c» "d"`},
	{"the word in prose", "The <think> tag opens a thought.", `"The <think> tag opens a thought."`},
	{"a closing tag alone", "So I call it.\n</think>\n<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>", `"So I call it." get_time{}`},
	{"Gemma's thought", "<|channel>thought\nHm.<channel|>Four.", "«thought\nHm.» \"Four.\""},
	{"thinking", "<thinking>Hm.</thinking>Four.", `«Hm.» "Four."`},
	{"a tag with a thought inside the string", `<tool_call>{"name":"write_file","arguments":{"path":"a","content":"<think>x</think>"}}</tool_call>`, `write_file{"path":"a","content":"<think>x</think>"}`},
}

func TestThoughts(t *testing.T) { runRows(t, house(), thoughtRows) }

func TestPromptThatOpensAThought(t *testing.T) {
	o := house()
	o.StartInThought = true
	runRows(t, o, []row{
		{"closed", "I look.</think>{\"name\":\"get_time\",\"arguments\":{}}", `«I look.» get_time{}`},
		{"with a call inside", "Maybe {\"name\":\"get_time\",\"arguments\":{}} helps.</think>No.", `«Maybe {"name":"get_time","arguments":{}} helps.» "No."`},
		{"never closed", "I look", `«I look»`},
	})
}
