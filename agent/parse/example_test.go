package parse_test

import (
	"encoding/json"
	"fmt"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// weather is a tool that the examples declare.
var weather = tool.Spec{Name: "get_weather", Params: json.RawMessage(
	`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`)}

// A Parser reads a reply in chunks and returns what has become certain.
func ExampleParser() {
	p := parse.New(parse.Options{Tools: []tool.Spec{weather}})
	for _, chunk := range []string{"I look it up. <tool_", `call>{"name":"get_weather","argu`, `ments":{"city":"Oslo","days":"3"}}</tool_call>`} {
		for _, e := range p.Feed(chunk) {
			switch e := e.(type) {
			case parse.Text:
				fmt.Printf("text %q\n", e.Text)
			case parse.Call:
				fmt.Println("call", e.Name, string(e.Args))
			}
		}
	}
	fmt.Println(len(p.Close(false)), "more events")
	// Output:
	// text "I look it up. "
	// call get_weather {"city":"Oslo","days":3}
	// 0 more events
}

// All reads a complete reply, in whatever notation the model writes calls.
func ExampleAll() {
	o := parse.Options{Tools: []tool.Spec{weather}}
	for _, reply := range []string{
		`[get_weather(city="Oslo", days=3)]`,
		"Action: get_weather\nAction Input: {\"city\": \"Oslo\"}",
		"In an example, you would write get_weather(city=\"Oslo\") and wait.",
	} {
		for _, c := range parse.Calls(parse.All(o, reply)) {
			fmt.Println(c.Format, c.Name, string(c.Args))
		}
	}
	// Output:
	// pythonic get_weather {"city":"Oslo","days":3}
	// react get_weather {"city":"Oslo"}
}
