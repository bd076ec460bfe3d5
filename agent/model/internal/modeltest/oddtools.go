package modeltest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// A Protocol is how a server is asked and how it answers.
type Protocol struct {
	// Tools returns the names and the schemas of the tools in a request.
	Tools func(body []byte) (names []string, params []json.RawMessage)
	// Schema is what the server refuses, and Refusal the body in which it does so.
	Schema  Schema
	Refusal func(place int, name, complaint string) string
	// Call answers with one call of a tool, Text with a word.
	Call func(name, args string) http.HandlerFunc
	Text http.HandlerFunc
}

// odd is a toolbox whose tools are described as some servers describe theirs.
type odd struct{ calls []string }

func (*odd) Tools() []tool.Spec {
	named := func(name, params string) tool.Spec {
		return tool.Spec{Name: name, Description: "Does it.", Params: json.RawMessage(params)}
	}
	return []tool.Spec{
		named("bare", `{"type":"object"}`),
		named("untyped", `{"properties":{"a":{"type":"array"},"o":{"type":"object"},"u":{"description":"anything"}}}`),
		named("root_any", `{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"anyOf":[{"required":["x"]},{"required":["y"]}]}`),
		named("refs", `{"type":"object","properties":{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"type":["string","null"],"enum":["fit",null]}},"required":["f"]}`),
		named("mistakes", `{"type":"object","properties":{"filePath":{"type":"string"},"type":"object"},"required":null}`),
		named("a.name-that.is_longer_than_the_sixty-four.characters_that_most_providers_take", `{"type":"object","properties":{"$top":{"type":"integer"},"filter[id]":{"const":"x"}}}`),
		named("echo", `{"type":"object","properties":{"text":{"type":"string"}}}`),
	}
}

func (o *odd) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	o.calls = append(o.calls, c.Tool+" "+string(c.Args))
	return tool.Result{CallID: c.ID, Tool: c.Tool, Shown: tool.View{Text: "done"}}, nil
}

// OddTools holds a model to the law that a server which refuses tools as its provider does
// takes those of odd servers, and that its calls have the tools' own names. A tool that it
// refuses all the same is left out of the turn alone.
func OddTools(t *testing.T, connect func(http.HandlerFunc) agent.Model, p Protocol) {
	t.Helper()
	var offered [][]string
	refused := "echo"
	m := connect(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body) // what is missing is no request
		names, params := p.Tools(body)
		offered = append(offered, names)
		for i, name := range names {
			complaint := ""
			if params[i] != nil {
				complaint = p.Schema(params[i])
			}
			if complaint != "" {
				t.Errorf("%s: %s\n%s", name, complaint, params[i])
			}
			if name == refused {
				Fail(http.StatusBadRequest, p.Refusal(i, name, "is odd"), "Content-Type", "application/json")(w, r)
				return
			}
		}
		if len(offered) > 2 && len(offered) != 4 || len(names) < 6 {
			p.Text(w, r)
			return
		}
		args := `{"filter[id]":"x","$top":3}`
		if strings.Contains(string(params[5]), `"top_`) {
			args = `{"` + between(string(params[5]), `"filter_id`, `"`) + `":"x","` + between(string(params[5]), `"top_`, `"`) + `":3}`
		}
		p.Call(names[5], args)(w, r)
	})
	box := &odd{}
	cfg := agent.Defaults()
	cfg.Mode = agent.ModeNative
	told := 0
	loop, err := agent.New(cfg, m, box, agent.ObserverFunc(func(e agent.Event) {
		if e, ok := e.(agent.ModelRepeated); ok && slices.Equal(e.Without, []string{"echo"}) {
			told++
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	turn, err := loop.Run(t.Context(), nil, "go")
	want := []string{box.Tools()[5].Name + ` {"filter[id]":"x","$top":3}`}
	if err != nil || turn.Answer == "" || !slices.Equal(box.calls, want) || told != 1 {
		t.Fatalf("%v: %q after %q, told %d times", err, turn.Answer, box.calls, told)
	}
	refused = ""
	if _, err = loop.Run(t.Context(), turn.Messages, "more"); err != nil {
		t.Fatal(err)
	}
	if last := offered[len(offered)-1]; len(last) != len(box.Tools()) {
		t.Errorf("the next turn has the tools %q", last)
	}
}

// between returns the name in a text that begins so, up to end.
func between(text, begin, end string) string {
	i := strings.Index(text, begin)
	if i < 0 {
		return ""
	}
	name, _, _ := strings.Cut(text[i+1:], end)
	return name
}
