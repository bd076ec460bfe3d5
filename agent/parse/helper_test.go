package parse_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// spec makes a tool whose properties keep the order they are written in.
func spec(name, props string, required ...string) tool.Spec {
	req, _ := json.Marshal(append([]string{}, required...))
	return tool.Spec{Name: name, Params: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s}`, props, req))}
}

// house is the set of tools that most tests declare.
func house() parse.Options {
	return parse.Options{Tools: []tool.Spec{
		spec("search_web", `"query":{"type":"string"},"max_results":{"type":"integer"},"mode":{"type":"string","enum":["deep","quick"]}`, "query"),
		spec("get_weather", `"city":{"type":"string"},"days":{"type":"integer"},"metric":{"type":"boolean"}`, "city"),
		spec("get_time", ``),
		spec("write_file", `"path":{"type":"string"},"content":{"type":"string"}`, "path", "content"),
		spec("plot", `"points":{"type":"array","items":{"type":"number"}},"style":{"type":"object","properties":{"color":{"type":"string"},"width":{"type":"number"}}},"scale":{"type":"number"}`, "points"),
		spec("math.gcd", `"a":{"type":"integer"},"b":{"type":"integer"}`, "a", "b"),
	}}
}

// show writes events in one line: text as it is, calls as name{…}, reasoning
// in «», malformed ones as !reason:name.
func show(events []parse.Event) string {
	var out []string
	for _, e := range parse.Join(events) {
		switch e := e.(type) {
		case parse.Text:
			if s := strings.TrimSpace(e.Text); s != "" {
				out = append(out, fmt.Sprintf("%q", s))
			}
		case parse.Reasoning:
			out = append(out, "«"+strings.TrimSpace(e.Text)+"»")
		case parse.Call:
			out = append(out, e.Name+string(e.Args))
		case parse.Malformed:
			out = append(out, fmt.Sprintf("!%s:%s", e.Reason, e.Name))
		}
	}
	return strings.Join(out, " ")
}

type row struct {
	why  string
	text string
	want string
}

func runRows(t *testing.T, o parse.Options, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			if got := show(parse.All(o, r.text)); got != r.want {
				t.Errorf("text:\n%s\nwant %s\ngot  %s", r.text, r.want, got)
			}
		})
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// long is prose that says nothing of a result.
var long = strings.TrimSpace(strings.Repeat("Then I will go on to the next city and look at it in the same way. ", 12))

// esc is s as show writes it inside a text.
func esc(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) }
