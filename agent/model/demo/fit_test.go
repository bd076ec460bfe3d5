package demo

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// said returns the reply of the demo model to a question beside a client's own tools.
func said(t *testing.T, question string, format *agent.Format, params ...string) (text string, calls []tool.Call) {
	t.Helper()
	r := agent.Request{Messages: []agent.ChatMessage{{Role: "user", Text: question}}, Format: format}
	for i := 0; i < len(params); i += 2 {
		r.Tools = append(r.Tools, tool.Spec{Name: params[i], Params: json.RawMessage(params[i+1])})
	}
	for d, err := range New().Generate(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		text += d.Text
		if d.Call != nil {
			calls = append(calls, *d.Call)
		}
	}
	return text, calls
}

// The demo model calls a newcomer's own tool where the question speaks of it.
func TestAClientsOwnTool(t *testing.T) {
	city := `{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]},"days":{"type":"integer"}},"required":["city","unit","days"]}`
	for question, want := range map[string]string{
		"What is the weather in Paris?":                             `get_weather {"city":"Paris","days":1,"unit":"celsius"}`,
		"Tell me the weather of New York for 3 days in fahrenheit.": `get_weather {"city":"New York","days":3,"unit":"fahrenheit"}`,
		"How are you?": "",
	} {
		_, calls := said(t, question, nil, "getTime", `{}`, "get_weather", city)
		got := ""
		for _, c := range calls {
			got += c.Tool + " " + string(c.Args)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", question, got, want)
		}
	}
}

// A tool that has to be called is, with what the question is about, also where the question
// speaks of no tool: frameworks ask for objects in this way.
func TestAToolThatHasToBeCalled(t *testing.T) {
	city := tool.Spec{Name: "extract", Params: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"n":{"type":"number"}},"required":["city","n"]}`)}
	for _, native := range []bool{true, false} {
		for _, choice := range []agent.Choice{{Must: true, Tool: "extract"}, {Must: true}} {
			cfg := agent.Defaults()
			cfg.Mode = agent.ModePrompt
			if native {
				cfg.Mode = agent.ModeNative
			}
			cfg.Choice = choice
			b := &box{specs: []tool.Spec{city}}
			l, err := agent.New(cfg, New(), b, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = l.Run(t.Context(), nil, "Where is the tower in Paris?"); err != nil || len(b.calls) != 1 || b.calls[0] != `extract{"city":"Paris","n":1}` {
				t.Errorf("native %v, %+v: %q, %v", native, choice, b.calls, err)
			}
		}
	}
}

// Some MCP clients put the name of the server in front of the tool's. The tool's own name goes first.
func TestToolsWithTheNameOfTheirServer(t *testing.T) {
	expression := `{"type":"object","properties":{"expression":{"type":"string"}},"required":["expression"]}`
	for _, c := range []struct {
		tools []string
		want  string
	}{
		{[]string{"weir_calculator", expression}, `weir_calculator {"expression":"17 * 23"}`},
		{[]string{"weir_calculator", expression, "calculator", expression}, `calculator {"expression":"17 * 23"}`},
		{[]string{"tax_calculator", `{"type":"object","properties":{"income":{"type":"number"}}}`}, ""},
	} {
		_, calls := said(t, "What is 17 * 23?", nil, c.tools...)
		got := ""
		for _, call := range calls {
			got += call.Tool + " " + string(call.Args)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.tools, got, c.want)
		}
	}
}

// An answer in a format is a valid example of it, also when the schema is in the prompt alone.
func TestAnAnswerInAFormat(t *testing.T) {
	schema := `{"$defs":{"p":{"type":"object","properties":{"name":{"type":"string","maxLength":4},"born":{"type":"string","format":"date"},"kind":{"enum":["a","b"]}},"required":["name","born","kind"]}},
		"type":"object","properties":{"people":{"type":"array","items":{"$ref":"#/$defs/p"},"minItems":2},"n":{"type":["null","integer"],"minimum":5},"ok":{"type":"boolean"}},"required":["people","n","ok"]}`
	text, _ := said(t, "Who lives in Paris?", &agent.Format{Schema: json.RawMessage(schema)})
	if want := `{"n":5,"ok":true,"people":[{"born":"2026-01-31","kind":"a","name":"Pari"},{"born":"2026-01-31","kind":"a","name":"Pari"}]}`; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	cfg := agent.Defaults()
	cfg.Format = &agent.Format{Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
	l, err := agent.New(cfg, New(), &box{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := l.Run(t.Context(), nil, "Where is the tower in Paris?")
	if err != nil || turn.Answer != `{"city":"Paris"}` {
		t.Errorf("%q, %v", turn.Answer, err)
	}
	if text, _ = said(t, "Hello", &agent.Format{}); !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
		t.Errorf("any object: %s", text)
	}
}

// A schema asks for no more than a bounded example has, whatever it says; one may contain itself.
func TestAnExampleIsBounded(t *testing.T) {
	fan := `{"type":"string"}`
	for range 10 {
		fan = `{"type":"object","properties":{"a":` + fan + `,"b":` + fan + `}}`
	}
	wide := `{"type":"object","properties":{"l":{"type":"array","minItems":900,"items":{"type":"array","minItems":900,"items":{"type":"array","items":{"type":"integer"}}}}}}`
	for _, schema := range []string{
		`{"type":"object","properties":{"l":{"type":"array","minItems":100000,"items":{"type":"integer"}}}}`,
		`{"type":"object","properties":{"l":{"type":"string","minLength":100000}}}`, fan, wide,
	} {
		if got := exampleOf(json.RawMessage(schema), "x"); len(got) > 20_000 {
			t.Errorf("%.200s: an example of %d bytes", schema, len(got))
		}
	}
	if got := exampleOf(json.RawMessage(`{"type":"object","properties":{"c":{"$ref":"#"},"n":{"type":"integer"}}}`), "x"); strings.Contains(got, "null") {
		t.Error(got)
	}
}
