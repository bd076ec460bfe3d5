package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// One mistake costs one keyword.
func TestSalvage(t *testing.T) {
	for _, row := range []struct{ name, schema, want, fault string }{
		{"nothing is wrong", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, ``},
		{"required is null", `{"type":"object","properties":{"a":{"type":"string"}},"required":null}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `"required" must be a list`},
		{"a name in it is a number", `{"type":"object","properties":{"a":{}},"required":["a",3]}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`, `"required.1" must be a string, not 3`},
		{"a keyword among the properties", `{"type":"object","properties":{"filePath":{"type":"string"},"type":"object"},"required":["filePath"]}`, `{"type":"object","properties":{"filePath":{"type":"string"}},"required":["filePath"]}`, `"properties.type" must be`},
		{"a type in place of a schema", `{"type":"object","properties":{"x":"number","y":{"type":"number"}}}`, `{"type":"object","properties":{"x":{},"y":{"type":"number"}}}`, `"properties.x" must be`},
		{"an expression", `{"type":"object","properties":{"a":{"type":"string","pattern":"(","description":"d"}}}`, `{"type":"object","properties":{"a":{"type":"string","description":"d"}}}`, `"properties.a.pattern" is no regular expression that weir knows`},
		{"an expression for names", `{"type":"object","properties":{"a":{}},"patternProperties":{"(?<x":{},"^b":{}}}`, `{"type":"object","properties":{"a":{}},"patternProperties":{"^b":{}}}`, `is no regular expression`},
		{"a reference to nothing", `{"type":"object","properties":{"a":{"$ref":"#/$defs/Gone","description":"d"},"b":{"$ref":"#/$defs/B"}},"$defs":{"B":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"description":"d"},"b":{"$ref":"#/$defs/B"}},"$defs":{"B":{"type":"string"}}}`, `"properties.a.$ref" refers to "#/$defs/Gone", which is not in the schema`},
		{"a reference to another file", `{"type":"object","properties":{"a":{"$ref":"other.json#/A"},"b":{}}}`, `{"type":"object","properties":{"a":{},"b":{}}}`, `refers to "other.json#/A"`},
		{"a reference to no schema", `{"type":"object","properties":{"a":{"$ref":"#/type"},"b":{}}}`, `{"type":"object","properties":{"a":{},"b":{}}}`, `refers to "#/type"`},
		{"an unknown type", `{"type":"object","properties":{"a":{"type":"text","maxLength":3}}}`, `{"type":"object","properties":{"a":{"maxLength":3}}}`, `"properties.a.type" must`},
		{"items that is no schema", `{"type":"object","properties":{"a":{"type":"array","items":"string","minItems":1}}}`, `{"type":"object","properties":{"a":{"type":"array","minItems":1}}}`, `"properties.a.items" must be`},
		{"a bound that is text", `{"type":"object","properties":{"a":{"type":"string","minLength":"3","maxLength":-1}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `"properties.a.m`},
		{"an alternative that is no schema", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},"integer"]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},true]}}}`, `"properties.a.anyOf.1" must be`},
		{"additionalProperties is null", `{"type":"object","properties":{"a":{}},"additionalProperties":null}`, `{"type":"object","properties":{"a":{}}}`, `"additionalProperties" must be`},
		{"the root is a string", `{"type":"string","description":"d"}`, `{"type":"object","description":"d"}`, `the schema's type is not "object"`},
		{"a draft that nobody knows", `{"$schema":"https://example.com/mine","type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`, `"https://example.com/mine" is a draft`},
		{"a schema in it with an address", `{"type":"object","properties":{"a":{"$id":"https://x.example/","type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `"properties.a.$id" begins`},
		{"what is only a value", `{"type":"object","properties":{"a":{"default":{"pattern":"("},"enum":[{"type":7}]},"b":{"type":7}}}`, `{"type":"object","properties":{"a":{"default":{"pattern":"("},"enum":[{"type":7}]},"b":{}}}`, `"properties.b.type" must`},
		{"all at once", `{"type":"object","properties":{"a":{"pattern":"(","type":"string"},"b":{"$ref":"#/x"},"c":{"type":"text"}},"required":{}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{},"c":{}}}`, `"properties.a.pattern" is no`},
	} {
		var b Budget
		text, s, faults, err := b.Salvage(json.RawMessage(row.schema))
		if err != nil || s == nil || string(text) != row.want {
			t.Errorf("%s: %v\n got %s\nwant %s", row.name, err, text, row.want)
			continue
		}
		told := rendered(tool.En, faults)
		if (row.fault == "") != (len(told) == 0) || row.fault != "" && !strings.Contains(strings.Join(told, "\n"), row.fault) {
			t.Errorf("%s: told %q", row.name, told)
		}
		for _, f := range faults {
			if zh := msg.In(tool.Zh, f); zh == f.String() {
				t.Errorf("%s: no Chinese for %q", row.name, f)
			}
		}
		if b.schemas != len(text) {
			t.Errorf("%s: %d bytes of the budget for %d", row.name, b.schemas, len(text))
		}
	}
}

// What is left counts: the argument whose bound was broken keeps its type.
func TestSalvagedSchemasCheck(t *testing.T) {
	var b Budget
	_, s, _, err := b.Salvage(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"("},"n":{"type":"integer"}},"required":["a"],"x":null}`))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{`{"a":"x"}`: "", `{"a":5}`: `"a" must be a string, not 5`, `{"n":1}`: `"a" is missing`, `{"a":"x","b":1}`: `"b" is not an argument of this tool (perhaps "a" is meant)`} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(rendered(tool.En, s.Check(v)), "|"); got != want {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// Whatever is broken in a schema, the rest of it can be kept, and what is kept needs no
// further repair.
func TestSalvageKeepsTheRest(t *testing.T) {
	wrong := []any{nil, 7, "text", true, []any{1}, map[string]any{"type": 3}, -1.5, "("}
	keys := []string{"type", "required", "properties", "items", "pattern", "minLength", "enum", "anyOf", "allOf", "additionalProperties", "$ref", "format", "default", "not", "if", "$id", "$schema", "patternProperties", "uniqueItems", "const"}
	rapid.Check(t, func(t *rapid.T) {
		bad := map[string]any{"description": "kept"}
		for range rapid.IntRange(1, 4).Draw(t, "mistakes") {
			bad[rapid.SampledFrom(keys).Draw(t, "key")] = rapid.SampledFrom(wrong).Draw(t, "value")
		}
		raw, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"bad": bad, "good": map[string]any{"type": "string", "maxLength": 3}}})
		if err != nil {
			t.Fatal(err)
		}
		var b Budget
		text, _, _, err := b.Salvage(raw)
		if err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if !bytes.Contains(text, []byte(`"good":{"maxLength":3,"type":"string"}`)) || !bytes.Contains(text, []byte(`"description":"kept"`)) {
			t.Fatalf("%s\nof %s", text, raw)
		}
		again, _, faults, err := new(Budget).Salvage(text)
		if err != nil || len(faults) > 0 || !bytes.Equal(again, text) {
			t.Fatalf("%v, %v: %s, then %s", err, faults, text, again)
		}
	})
}

// A server with many broken schemas costs a bounded number of repairs.
func TestRepairsAreBounded(t *testing.T) {
	var b Budget
	free := 0
	for i := range maxRepairs + 20 {
		if _, _, _, err := b.Salvage(json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"p%d":{"type":"text"}}}`, i))); err != nil {
			free++
		}
	}
	if free != 20 || b.repairs > maxRepairs+20 {
		t.Errorf("%d schemas are given up after %d repairs", free, b.repairs)
	}
}
