package toolschema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/model/internal/modeltest"
	"github.com/weirhost/weir/sdk/tool"
)

// provider is a rule set with what its provider refuses.
type provider struct {
	name   string
	rules  Rules
	refuse modeltest.Schema
}

func providers() []provider {
	return []provider{
		{"openai", OpenAI(), modeltest.OpenAISchema},
		{"anthropic", Anthropic(), modeltest.AnthropicSchema},
		{"ollama", Ollama(), modeltest.OllamaSchema},
		{"gemini", Gemini(), modeltest.GeminiSchema},
	}
}

func declare(r Rules, params string) Declared {
	return r.Declare([]tool.Spec{{Name: "t", Description: "Does it.", Params: json.RawMessage(params)}}, tool.En).List[0]
}

// Each shape of a schema that tools really have is taken by every provider. What is written
// is told where it is worth it.
func TestShapes(t *testing.T) {
	for _, row := range []struct {
		name, schema string
		want         map[string]string // by provider; "*": every other
	}{
		{"fits as it is", `{"type":"object","properties":{"b":{"type":"string","description":"<x>"},"a":{"type":"array","items":{"type":"integer"}}},"required":["b"]}`,
			map[string]string{"*": `{"type":"object","properties":{"b":{"type":"string","description":"<x>"},"a":{"type":"array","items":{"type":"integer"}}},"required":["b"]}`}},
		{"no schema", ``, map[string]string{"*": `{"type":"object","properties":{}}`, "gemini": ``}},
		{"no properties", `{"type":"object"}`, map[string]string{"*": `{"type":"object","properties":{}}`, "gemini": ``}},
		{"open without properties", `{"type":"object","additionalProperties":true}`, map[string]string{"*": `{"type":"object","properties":{},"additionalProperties":true}`, "gemini": ``}},
		{"no type", `{"properties":{"a":{"type":"string"}}}`, map[string]string{"*": `{"type":"object","properties":{"a":{"type":"string"}}}`}},
		{"a list without items", `{"type":"object","properties":{"xs":{"type":"array","minItems":1}}}`,
			map[string]string{"*": `{"type":"object","properties":{"xs":{"type":"array","minItems":1,"items":{}}}}`,
				"gemini": `{"type":"object","properties":{"xs":{"type":"array","minItems":1,"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}}}}`}},
		{"an object in it without properties", `{"type":"object","properties":{"o":{"type":"object"}}}`,
			map[string]string{"*": `{"type":"object","properties":{"o":{"type":"object","properties":{}}}}`, "gemini": `{"type":"object","properties":{"o":{"type":"object"}}}`}},
		{"null or text", `{"type":"object","properties":{"n":{"type":["string","null"],"maxLength":3,"description":"d","default":null}}}`,
			map[string]string{
				"openai":    `{"type":"object","properties":{"n":{"description":"d","default":null,"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]}}}`,
				"ollama":    `{"type":"object","properties":{"n":{"description":"d","default":null,"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]}}}`,
				"anthropic": `{"type":"object","properties":{"n":{"type":["string","null"],"maxLength":3,"description":"d","default":null}}}`,
				"gemini":    `{"type":"object","properties":{"n":{"type":"string","nullable":true,"maxLength":3,"description":"d"}}}`}},
		{"null by anyOf", `{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`,
			map[string]string{"*": `{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, "gemini": `{"type":"object","properties":{"n":{"type":"integer","nullable":true}}}`}},
		{"nullable of OpenAPI", `{"type":"object","properties":{"n":{"type":"string","enum":["a"],"nullable":true}}}`,
			map[string]string{"openai": `{"type":"object","properties":{"n":{"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}]}}}`,
				"gemini": `{"type":"object","properties":{"n":{"type":"string","enum":["a"],"nullable":true}}}`}},
		{"a reference", `{"type":"object","properties":{"f":{"$ref":"#/$defs/F","description":"mine"}},"$defs":{"F":{"type":"string","enum":["fit","raw"],"description":"its"}},"required":["f"]}`,
			map[string]string{"*": `{"type":"object","properties":{"f":{"type":"string","description":"mine","enum":["fit","raw"]}},"required":["f"]}`}},
		{"a reference at the root", `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			map[string]string{"*": `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`}},
		{"references that go round", `{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#/$defs/N"}}}}}`,
			map[string]string{"openai": `{"type":"object","properties":{"n":{"type":"object","properties":{"v":{"type":"string"},"next":{"type":"object","properties":{"v":{"type":"string"},"next":{"type":"object","properties":{}}}}}}}}`}},
		{"a reference that leads nowhere", `{"type":"object","properties":{"a":{"$ref":"#/$defs/Gone","type":"string"}}}`,
			map[string]string{"*": `{"type":"object","properties":{"a":{"type":"string"}}}`}},
		{"alternatives at the root", `{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"anyOf":[{"required":["x"]},{"required":["y"]}]}`,
			map[string]string{"*": `{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}}}`}},
		{"alternatives of objects at the root", `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind","x"]},{"type":"object","properties":{"kind":{"const":"b"},"y":{"type":"integer"}},"required":["kind","y"]}]}`,
			map[string]string{"openai": `{"type":"object","properties":{"kind":{"type":"string","enum":["a","b"]},"x":{"type":"string"},"y":{"type":"integer"}},"required":["kind"]}`}},
		{"all of at the root", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}}}]}`,
			map[string]string{"*": `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}`}},
		{"not and enum at the root", `{"type":"object","properties":{"a":{"type":"string"}},"not":{"required":["b"]},"enum":[{"a":"x"}]}`,
			map[string]string{"*": `{"type":"object","properties":{"a":{"type":"string"}}}`}},
		{"a type beside anyOf", `{"type":"object","properties":{"a":{"type":"string","anyOf":[{"minLength":3},{"enum":["x"]}]}}}`,
			map[string]string{"openai": `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","minLength":3},{"type":"string","enum":["x"]}]}}}`}},
		{"no type at all", `{"type":"object","properties":{"a":{"description":"anything"}}}`,
			map[string]string{"ollama": `{"type":"object","properties":{"a":{"description":"anything"}}}`,
				"openai": `{"type":"object","properties":{"a":{"description":"anything","anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object","properties":{}},{"type":"array","items":{}},{"type":"null"}]}}}`}},
		{"booleans for schemas", `{"type":"object","properties":{"a":true,"b":false,"c":{"type":"array","items":true}}}`,
			map[string]string{"ollama": `{"type":"object","properties":{"a":{},"c":{"type":"array","items":{}}}}`}},
		{"a constant", `{"type":"object","properties":{"a":{"const":"x"},"n":{"const":3}}}`,
			map[string]string{"openai": `{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"n":{"type":"integer","enum":[3]}}}`,
				"gemini": `{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"n":{"type":"integer","description":"(one of: 3)"}}}`}},
		{"an empty choice", `{"type":"object","properties":{"a":{"type":"string","enum":["","x"],"description":"d"}}}`,
			map[string]string{"gemini": `{"type":"object","properties":{"a":{"type":"string","description":"d (one of: \"\", \"x\")"}}}`}},
		{"formats and patterns", `{"type":"object","properties":{"u":{"type":"string","format":"uri","pattern":"\\S"},"d":{"type":"string","format":"date-time","pattern":"^[a-z]+$"}}}`,
			map[string]string{"openai": `{"type":"object","properties":{"u":{"type":"string","format":"uri","description":"(pattern: \\S)"},"d":{"type":"string","format":"date-time","pattern":"^[a-z]+$"}}}`,
				"gemini": `{"type":"object","properties":{"u":{"type":"string","description":"(format: uri) (pattern: \\S)"},"d":{"type":"string","format":"date-time","description":"(pattern: ^[a-z]+$)"}}}`}},
		{"a format that nobody knows", `{"type":"object","properties":{"u":{"type":"string","format":"uuid4-ish"}}}`,
			map[string]string{"*": `{"type":"object","properties":{"u":{"type":"string","description":"(format: uuid4-ish)"}}}`}},
		{"a tuple of the old drafts", `{"type":"object","properties":{"p":{"type":"array","items":[{"type":"number"},{"type":"string"}],"additionalItems":false}}}`,
			map[string]string{"*": `{"type":"object","properties":{"p":{"type":"array","items":{"anyOf":[{"type":"number"},{"type":"string"}]}}}}`}},
		{"bounds of the first drafts", `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"exclusiveMinimum":true}}}`,
			map[string]string{"openai": `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"exclusiveMinimum":1}}}`}},
		{"mistakes", `{"type":"object","properties":{"a":{"type":"string","minLength":"3","enum":[]},"type":"object","b":{"type":"text"}},"required":null,"additionalProperties":null}`,
			map[string]string{"ollama": `{"type":"object","properties":{"a":{"type":"string"},"b":{}}}`}},
		{"required and not there", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`,
			map[string]string{"ollama": `{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]}`}},
		{"names by pattern", `{"type":"object","properties":{"a":{"type":"string"}},"patternProperties":{"^x-":{}},"additionalProperties":false}`,
			map[string]string{"*": `{"type":"object","properties":{"a":{"type":"string"}}}`}},
		{"what zod writes", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"m":{"type":"object","additionalProperties":{}},"o":{"anyOf":[{"not":{}},{"type":"string"}]}},"additionalProperties":false}`,
			map[string]string{"ollama": `{"type":"object","properties":{"m":{"type":"object","properties":{},"additionalProperties":{}},"o":{}},"additionalProperties":false}`}},
		{"no object", `{"type":"string"}`, map[string]string{"*": `{"type":"object","properties":{}}`, "gemini": ``}},
		{"no JSON", `{"type":`, map[string]string{"*": `{"type":"object","properties":{}}`, "gemini": ``}},
	} {
		for _, p := range providers() {
			got := declare(p.rules, row.schema)
			want, ok := row.want[p.name]
			if !ok {
				want, ok = row.want["*"]
			}
			if ok && string(got.Params) != want {
				t.Errorf("%s, %s:\n got %s\nwant %s", row.name, p.name, got.Params, want)
			}
			if got.Params == nil && p.name == "gemini" {
				continue
			}
			if complaint := p.refuse(got.Params); complaint != "" {
				t.Errorf("%s, %s: %s\n%s", row.name, p.name, complaint, got.Params)
			}
		}
	}
}

// What alternatives at the root need together is told in the description of the tool.
func TestAlternativesAreTold(t *testing.T) {
	const schema = `{"type":"object","properties":{"x":{},"y":{},"z":{}},"required":["z"],"anyOf":[{"required":["x"]},{"required":["y","z"]}]}`
	for l, want := range map[tool.Locale]string{tool.En: "Does it. (one of these is needed: x, y)", tool.Zh: "做。 (须提供其中之一：x, y)"} {
		got := OpenAI().Declare([]tool.Spec{{Name: "t", Description: "Does it.", DescriptionZh: "做。", Params: json.RawMessage(schema)}}, l).List[0].Description
		if got != want {
			t.Errorf("%s: %q", l, got)
		}
	}
	long := strings.Repeat("x", maxDescription-10)
	if got := OpenAI().Declare([]tool.Spec{{Name: "t", Description: long, Params: json.RawMessage(schema)}}, tool.En).List[0].Description; got != long {
		t.Errorf("the description has %d bytes", len(got))
	}
}

// Names that a provider does not take are replaced, in the list, in earlier calls and in
// tool_choice, and put back in its calls.
func TestNames(t *testing.T) {
	long := strings.Repeat("long_", 20)
	specs := []tool.Spec{
		{Name: "plain"}, {Name: long + "a"}, {Name: long + "b"}, {Name: "catalog.get"}, {Name: "catalog_get"}, {Name: "1st"}, {Name: "查询"},
		{Name: "odata", Params: json.RawMessage(`{"type":"object","properties":{"$top":{"type":"integer"},"filter[id]":{"type":"string"},"ok.x-1":{"type":"string"}},"required":["$top"]}`)},
	}
	for _, p := range providers() {
		tools := p.rules.Declare(specs, tool.En)
		seen := map[string]bool{}
		for i, d := range tools.List {
			if !p.rules.toolName(d.Name) || len(d.Name) > 64 || seen[d.Name] {
				t.Errorf("%s: %q is given as %q", p.name, specs[i].Name, d.Name)
			}
			seen[d.Name] = true
			if back := tools.Own(tool.Call{Tool: d.Name}).Tool; back != specs[i].Name || tools.Name(back) != d.Name || tools.Sent(tool.Call{Tool: back}).Tool != d.Name {
				t.Errorf("%s: %q comes back as %q", p.name, d.Name, back)
			}
		}
		if tools.List[0].Name != "plain" || tools.List[4].Name != "catalog_get" {
			t.Errorf("%s: a good name was changed", p.name)
		}
		if gone := tools.Name("gone.tool"); !p.rules.toolName(gone) || gone != p.rules.Declare([]tool.Spec{{Name: "gone.tool"}}, tool.En).List[0].Name {
			t.Errorf("%s: a tool of an earlier request is %q", p.name, gone)
		}
		var s struct {
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(tools.List[7].Params, &s); err != nil || len(s.Properties) != 3 || s.Properties["ok.x-1"] == nil || s.Properties[s.Required[0]] == nil {
			t.Errorf("%s: %s", p.name, tools.List[7].Params)
		}
		if (s.Required[0] == "$top") == (p.name == "anthropic") {
			t.Errorf("%s: the argument is %q", p.name, s.Required[0])
		}
		call := tool.Call{Tool: "odata", Args: json.RawMessage(`{"filter[id]":"<7>","$top":5,"ok.x-1":{"$top":1},"new":[]}`)}
		if sent := tools.Sent(call); string(tools.Own(sent).Args) != string(call.Args) || strings.Contains(string(sent.Args), `"$top":5`) == (p.name == "anthropic") {
			t.Errorf("%s: sent %s, back %s", p.name, sent.Args, tools.Own(sent).Args)
		}
		if broken := tools.Own(tool.Call{Tool: "odata", Args: json.RawMessage(`{"a":`)}); string(broken.Args) != `{"a":` {
			t.Errorf("%s: %s", p.name, broken.Args)
		}
	}
}

// A member that two alternatives of an object describe, with a format: what is compared is for
// no provider, and takes every format.
func TestAFormatInAlternatives(t *testing.T) {
	const schema = `{"type":"object","anyOf":[{"type":"object","properties":{"x":{"type":"object","additionalProperties":{"type":"string","format":"hostname"}}}},{"type":"object","properties":{"x":{"type":"string","format":"date"}}}]}`
	for _, p := range providers() {
		if got := declare(p.rules, schema); got.Params != nil && !json.Valid(got.Params) {
			t.Errorf("%s: %s", p.name, got.Params)
		}
	}
}
