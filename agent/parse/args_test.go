package parse_test

import (
	"testing"

	"github.com/weirhost/weir/agent/parse"
)

var argRows = []row{
	{"numbers as strings", `{"name":"search_web","arguments":{"query":"x","max_results":"5"}}`, `search_web{"query":"x","max_results":5}`},
	{"a number where text is wanted stays, in JSON", `{"name":"search_web","arguments":{"query":5}}`, `search_web{"query":5}`},
	{"a number where text is wanted, without quotes", `[search_web(query=90210)]`, `search_web{"query":"90210"}`},
	{"truth as a string", `{"name":"get_weather","arguments":{"city":"Rome","metric":"True"}}`, `get_weather{"city":"Rome","metric":true}`},
	{"a list as a string", `{"name":"plot","arguments":{"points":"[1, 2]"}}`, `plot{"points":[1,2]}`},
	{"an object as a string", `{"name":"plot","arguments":{"points":[1],"style":"{\"color\":\"red\",\"width\":\"2\"}"}}`, `plot{"points":[1],"style":{"color":"red","width":2}}`},
	{"a fraction is no integer", `{"name":"search_web","arguments":{"query":"x","max_results":"5.5"}}`, `search_web{"query":"x","max_results":"5.5"}`},
	{"digits are kept", `{"name":"plot","arguments":{"points":[1.50,1e3,12345678901234567890]}}`, `plot{"points":[1.50,1e3,12345678901234567890]}`},
	{"Python numbers", `[plot(points=[.5, 1_000, +3, 0x10, 2.])]`, `plot{"points":[0.5,1000,3,16,2.0]}`},
	{"leading zeros are text", `[search_web(query=007)]`, `search_web{"query":"007"}`},
	{"escapes", `{"name":"write_file","arguments":{"path":"a","content":"x\n\t\"y\" \u00e9 \ud83d\ude00 \\d"}}`, `write_file{"path":"a","content":"x\n\t\"y\" é 😀 \\d"}`},
	{"half a pair", `{"name":"search_web","arguments":{"query":"\ud83d"}}`, `search_web{"query":"` + "\uFFFD" + `"}`},
	{"raw line breaks", "{\"name\":\"write_file\",\"arguments\":{\"path\":\"a\",\"content\":\"one\ntwo\"}}", `write_file{"path":"a","content":"one\ntwo"}`},
	{"quotes that are not escaped", `{"name":"search_web","arguments":{"query":"he said "hi" twice"}}`, `search_web{"query":"he said \"hi\" twice"}`},
	{"one quote that is not escaped", `{"name":"search_web","arguments":{"query":"a 5" disk"}}`, `search_web{"query":"a 5\" disk"}`},
	{"a quote before a comma that is not escaped", `{"name":"search_web","arguments":{"query":"say "hi", friend"}}`, `search_web{"query":"say \"hi\", friend"}`},
	{"a comma too many", `{"name":"search_web","arguments":{"query":"x",},}`, `search_web{"query":"x"}`},
	{"a comma too few", "{\"name\":\"search_web\"\n\"arguments\":{\"query\":\"x\"}}", `search_web{"query":"x"}`},
	{"a comma too few behind a number", "{\"name\":\"search_web\",\"arguments\":{\"max_results\":1\n\"query\":\"x\"}}", `search_web{"max_results":1,"query":"x"}`},
	{"a value that is missing", `<tool_call>{"name":"search_web","arguments":{"query":}}</tool_call>`, `!bad_json:search_web`},
	{"a comment", "{\"name\": \"search_web\", // the tool's\n \"arguments\": {\n  \"query\": \"http://a.b//c\" // what\n}}", `search_web{"query":"http://a.b//c"}`},
	{"typographic quotes", `<tool_call>{“name”: “search_web”, “arguments”: {“query”: “the "x"”}}</tool_call>`, `search_web{"query":"the \"x\""}`},
	{"typographic quotes around a value", `[search_web(query=“news, today”)]`, `search_web{"query":"news, today"}`},
	{"keys without quotes", `{name: "search_web", arguments: {query: "x"}}`, `search_web{"query":"x"}`},
	{"triple quotes", `[write_file(path="a.py", content="""print("x")` + "\n" + `""")]`, `write_file{"path":"a.py","content":"print(\"x\")\n"}`},
	{"a raw string", `[search_web(query=r'\d+')]`, `search_web{"query":"\\d+"}`},
	{"a regular expression in JSON", `{"name":"search_web","arguments":{"query":"\d+"}}`, `search_web{"query":"\\d+"}`},
	{"an expression is kept", `[search_web(query=2022/AL2562)]`, `search_web{"query":"2022/AL2562"}`},
	{"tags in a string", `<tool_call>{"name":"write_file","arguments":{"path":"a","content":"</tool_call> and <tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>"}}</tool_call>`, `write_file{"path":"a","content":"</tool_call> and <tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>"}`},
	{"brackets in a string", `[search_web(query="f(x) = [1], get_time() {")]`, `search_web{"query":"f(x) = [1], get_time() {"}`},
	{"flat keys that do not fit", `{"tool":"search_web","question":"x"}`, `"{\"tool\":\"search_web\",\"question\":\"x\"}"`},
	{"stringified arguments", `{"name":"get_weather","arguments":"{\"city\": \"Paris\"}"}`, `get_weather{"city":"Paris"}`},
	{"text for the only required parameter", `{"name":"search_web","arguments":"news"}`, `search_web{"query":"news"}`},
	{"positional values", `{"name":"math.gcd","arguments":[12, 18]}`, `math.gcd{"a":12,"b":18}`},
	{"too many positional values", `<tool_call>{"name":"math.gcd","arguments":[1,2,3]}</tool_call>`, `!no_arguments:math.gcd`},
	{"an object that is the first argument", `[plot({"color":"red"})]`, `plot{"points":{"color":"red"}}`},
	{"keys in another spelling", `{"name":"search_web","arguments":{"query":"x","maxResults":1,"Mode":"deep"}}`, `search_web{"query":"x","maxResults":1,"mode":"deep"}`},
	{"equal keys: the last holds", `{"name":"get_weather","arguments":{"city":"Rome","city":"Paris"}}`, `get_weather{"city":"Paris"}`},
	{"an xml value keeps its lines", "<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\nif a < b:\n    print(\"</p>\")\n\n</parameter>\n</function>", `write_file{"path":"a.py","content":"if a < b:\n    print(\"</p>\")\n"}`},
	{"xml without types", "<function=plot>\n<parameter=points>[1, 2]</parameter>\n<parameter=scale>1.5</parameter>\n<parameter=style>{'color': 'red'}</parameter>\n</function>", `plot{"points":[1,2],"scale":1.5,"style":{"color":"red"}}`},
	{"xml without its inner closing tag", "<function=get_weather>\n<parameter=city>\nParis\n<parameter=days>\n2\n</function>", `get_weather{"city":"Paris","days":2}`},
}

func TestArguments(t *testing.T) { runRows(t, house(), argRows) }

func TestNames(t *testing.T) {
	for spelled, want := range map[string]string{
		"get_weather":           "get_weather",
		"get.weather":           "get_weather", // models exchange the separators
		"get-weather":           "get_weather",
		"Get_Weather":           "get_weather",
		"functions.get_weather": "get_weather", // OpenAI's namespace
		"get_weather:0":         "get_weather", // Kimi's counter
		`get\_weather`:          "get_weather", // Markdown
		" get_weather ":         "get_weather",
		"math_gcd":              "math.gcd",
		"math.math.gcd":         "math.gcd", // a first part written twice
		"weather":               "",         // part of a name is not guessed
		"get_weathers":          "",
		"gcd":                   "",
		"getweather":            "",
	} {
		calls := parse.Calls(parse.All(house(), `<tool_call>{"name":`+quote(spelled)+`,"arguments":{"city":"Paris","a":1,"b":2}}</tool_call>`))
		got := ""
		if len(calls) == 1 {
			got = calls[0].Name
		}
		if got != want {
			t.Errorf("%q: want %q, got %q", spelled, want, got)
		}
	}
}

func TestAmbiguousNameIsNotGuessed(t *testing.T) {
	o := house()
	o.Tools = append(o.Tools, spec("get.weather", `"city":{"type":"string"}`))
	runRows(t, o, []row{
		{"exact", `<tool_call>{"name":"get.weather","arguments":{"city":"Paris"}}</tool_call>`, `get.weather{"city":"Paris"}`},
		{"either", `<tool_call>{"name":"get-weather","arguments":{"city":"Paris"}}</tool_call>`, `!unknown_tool:get-weather`},
	})
}

var malformedRows = []row{
	{"an undeclared tool", `<tool_call>{"name":"get_stars","arguments":{"n":1}}</tool_call>`, `!unknown_tool:get_stars`},
	{"an undeclared tool in tags", "<function=get_stars>\n<parameter=n>1</parameter>\n</function>", `!unknown_tool:get_stars`},
	{"no name", `<tool_call>{"city":"Paris"}</tool_call>`, `!no_name:`},
	{"no arguments", `<tool_call>{"name":"get_weather"}</tool_call>`, `!no_arguments:get_weather`},
	{"not JSON", `<tool_call>{"name":"get_weather","arguments":{"city" "Paris"}}</tool_call>`, `!bad_json:get_weather`},
	{"a quote missing", "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris}}</tool_call>\n<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call>", `!bad_json:get_weather get_time{}`},
	{"cut in a string", `<tool_call>{"name":"get_weather","arguments":{"city":"Par`, `!truncated:get_weather`},
	{"cut in bare JSON", `{"name":"get_weather","arguments":{"city":"Par`, `!truncated:get_weather`},
	{"cut in a list", `[get_time(), get_weather(city="Par`, `get_time{} !truncated:get_weather`},
	{"cut in tagged arguments", "<function=get_weather>\n<parameter=city>\nPar", `!truncated:get_weather`},
	{"cut behind a complete argument", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n", `!truncated:get_weather`},
	{"content that looks like the end and another call", "[write_file(path='a', content='print('x'), get_time()')]", `!bad_json:write_file ", get_time()')]"`},
	{"content behind quotes that are not escaped", `[write_file(path="a", content="say "x", get_time() now")]`, `"[write_file(path=\"a\", content=\"say \"x\", get_time() now\")]"`},
	{"a program as content, its quotes not escaped", "write_file(path='a', content='\nprint('x')\nprint('y')\n')", `"write_file(path='a', content='\nprint('x')\nprint('y')\n')"`},
	{"JSON as content, its quotes not escaped", `{"name":"write_file","arguments":{"path":"a","content":"x = {"a": {"b": "c"}}` + "\ny = 2\"}}", `!bad_json:write_file "y = 2\"}}"`},
	{"a tag in content behind such quotes", "<tool_call>{\"name\":\"write_file\",\"arguments\":{\"path\":\"a\",\"content\":\"Use \"quotes\" and </tool_call>\n<tool_call>{\"name\":\"get_time\",\"arguments\":{}}</tool_call> ok\"}}</tool_call>", `!bad_json:write_file "</tool_call> ok\"}}</tool_call>"`},
	{"a good one beside", `<tool_call>{"name":"get_stars","arguments":{}}</tool_call><tool_call>{"name":"get_time","arguments":{}}</tool_call>`, `!unknown_tool:get_stars get_time{}`},
}

func TestMalformed(t *testing.T) { runRows(t, house(), malformedRows) }

// A reply that a length limit cut runs nothing that was not complete.
func TestTruncatedRepliesRunNothingUnfinished(t *testing.T) {
	for _, r := range []row{
		{"a missing brace", `{"name":"get_weather","arguments":{"city":"Paris"}`, `!truncated:get_weather`},
		{"a missing brace behind a tag", `<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}`, `!truncated:get_weather`},
		{"complete", `<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}`, paris},
		{"only the tag", `<tool_call>`, `!truncated:`},
		{"an input line", "Action: search_web\nAction Input: lat", `!truncated:search_web`},
		{"a loose call that may go on as a sentence", `get_weather(city="Paris")`, `"get_weather(city=\"Paris\")"`},
		{"a quotation that may go on", "I want to know it.\n\n[get_weather(city='Paris')]", `"I want to know it.\n\n[get_weather(city='Paris')]"`},
	} {
		p := parse.New(house())
		if got := show(append(p.Feed(r.text), p.Close(true)...)); got != r.want {
			t.Errorf("%s:\n%s\nwant %s\ngot  %s", r.why, r.text, r.want, got)
		}
	}
}
