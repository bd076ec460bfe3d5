package parse_test

import (
	"encoding/json"
	"testing"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/eval"
)

// maxFuzz bounds the texts whose every split is tried, in bytes.
const maxFuzz = 600

// FuzzLaws holds every text to the laws: no chunking matters, no cut makes a
// call, arguments are JSON objects, and only declared names are called.
func FuzzLaws(f *testing.F) {
	for _, text := range allTexts() {
		f.Add(text)
	}
	for _, h := range hostile {
		f.Add(repeat(h.unit, 60))
	}
	o := house()
	declared := map[string]bool{}
	for _, s := range o.Tools {
		declared[s.Name] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxFuzz {
			text = text[:maxFuzz]
		}
		if err := eval.Laws(o, text, true); err != nil {
			t.Fatal(err)
		}
		for _, c := range parse.Calls(parse.All(o, text)) {
			var args map[string]any
			if json.Unmarshal(c.Args, &args) != nil || args == nil {
				t.Fatalf("the arguments are no object: %q", c.Args)
			}
			if !declared[c.Name] {
				t.Fatalf("%q is not declared", c.Name)
			}
		}
	})
}

// FuzzAnyName is FuzzLaws where every name is declared.
func FuzzAnyName(f *testing.F) {
	for _, text := range allTexts() {
		f.Add(text, len(text)%2 == 0)
	}
	f.Fuzz(func(t *testing.T, text string, thought bool) {
		if len(text) > maxFuzz {
			text = text[:maxFuzz]
		}
		if err := eval.Laws(parse.Options{AnyName: true, Reading: parse.Reading{StartInThought: thought}}, text, true); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzSchema gives the parser tools with any parameters.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":["integer","null"]}}}`, `f(a="1")`)
	f.Add(`{"anyOf":[{"type":"object"}],"properties":{"a":{"enum":[1,"x"]}}}`, `{"name":"f","arguments":{"a":"1"}}`)
	f.Add(`{"properties":{"a":{"items":{"items":{}}}},"additionalProperties":{"type":"number"}}`, `f({"b":"1","a":[["2"]]})`)
	f.Add(`[`, `f(1)`)
	f.Fuzz(func(t *testing.T, params, text string) {
		s := spec("f", "")
		s.Params = json.RawMessage(params)
		o := parse.Options{}
		o.Tools = append(o.Tools, s)
		for _, c := range parse.Calls(parse.All(o, text)) {
			if !json.Valid(c.Args) {
				t.Fatalf("not JSON: %q", c.Args)
			}
		}
	})
}
