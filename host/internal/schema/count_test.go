package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// most is the work up to which the tests let the library run.
const most = 50_000

// FuzzWork holds the count to what the library does: for any schema and any arguments it
// makes no more evaluations than were counted.
func FuzzWork(f *testing.F) {
	args := []string{`{}`, `{"x":[[[5]],["a"]]}`, `{"x":{"x":{"x":1e3}},"y":[1,1,"aab",null,true]}`, `{"x":"aab","y":{"a":1,"b":[2]}}`, `{"x":1e-9999999}`}
	for _, schema := range []string{
		branching(3), doubling(6, func(i int) string { return fmt.Sprintf("#/$defs/d%d", i) }, func(i int, body string) string { return fmt.Sprintf(`"d%d":{%s}`, i, body) }),
		`{"type":"object","patternProperties":{"^x":{"$ref":"#"},"a":{"type":["string","integer"]}},"propertyNames":{"maxLength":3},"unevaluatedProperties":{"items":{"$ref":"#"}}}`,
		`{"type":"object","additionalProperties":{"prefixItems":[{"type":"array"},{"const":1}],"items":{"not":{"enum":["a",[1]]}},"contains":{"$ref":"#/$defs/a"},"uniqueItems":true,"unevaluatedItems":false},"$defs":{"a":{"oneOf":[{"type":"object"},{"if":{"minimum":1},"then":{"$ref":"#"},"else":{"pattern":"a+b"}}]}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"x":{"properties":{"y":{"$ref":"#"}}},"y":["x"]},"properties":{"y":{"items":[{"format":"regex"},{"format":"email"}],"additionalItems":{"$ref":"#"}}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"x":{"id":"https://x.example/","definitions":{"x":{"type":"array","items":{"$ref":"#/definitions/x"}}},"allOf":[{"$ref":"#/definitions/x"}]}}}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","dependentSchemas":{"x":{"anyOf":[{"required":["y"]},{"$ref":"#/$defs/a"}]}},"dependentRequired":{"y":["x"]},"$defs":{"a":{"additionalProperties":{"type":"array","items":{"$ref":"#"}}}}}`,
	} {
		for _, a := range args {
			f.Add([]byte(schema), []byte(a))
		}
	}
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(args)))
		if err != nil {
			return
		}
		compareCount(t, schema, v)
	})
}

// TestCountIsAnUpperBound does the same for schemas that refer to one another at random.
func TestCountIsAnUpperBound(t *testing.T) {
	compared, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		schema, err := json.Marshal(map[string]any{
			"type": "object", "properties": map[string]any{"x": anySchema(2).Draw(t, "x")},
			"$defs": map[string]any{"a": anySchema(3).Draw(t, "a"), "b": anySchema(3).Draw(t, "b")},
		})
		if err != nil {
			t.Fatal(err)
		}
		switch work := compareCount(t, schema, map[string]any{"x": anyValue(4).Draw(t, "args")}); {
		case work > most:
			refused++
		case work > 10:
			compared++
		}
	})
	if compared == 0 {
		t.Errorf("none was worth comparing; %d were refused", refused)
	}
}

// compareCount fails if the library makes more evaluations than were counted. It returns
// the count.
func compareCount(t interface{ Fatalf(string, ...any) }, schema []byte, args any) int {
	r, err := compile(schema)
	if err != nil {
		if se := (*Error)(nil); !errors.As(err, &se) {
			t.Fatalf("an odd error: %v", err)
		}
		return 0
	}
	work, _ := r.work(args, most)
	if work > most {
		return work
	}
	plain := r.compiled.Validate(args) == nil
	made := 0
	for _, s := range slices.Collect(maps.Keys(r.facts)) {
		instrument(s, &made)
	}
	if fits := r.compiled.Validate(args) == nil; fits != plain || made > work {
		t.Fatalf("%s\n%v: %d counted, %d made; fits: %v, %v", schema, args, work, made, plain, fits)
	}
	made = 0
	if misfit := r.misfit.Validate(args) == nil; misfit == plain || made > work {
		t.Fatalf("%s\n%v: %d counted, %d made without explaining; fits: %v, %v", schema, args, work, made, plain, !misfit)
	}
	return work
}

// instrument makes a schema add one for each of its evaluations: the library checks the
// format next to the type, the choices and the constant, so these move into the format.
func instrument(s *jsonschema.Schema, made *int) {
	first := &jsonschema.Schema{Location: s.Location, DraftVersion: s.DraftVersion, Types: s.Types, Enum: s.Enum, Const: s.Const, Format: s.Format}
	s.Types, s.Enum, s.Const = nil, nil, nil
	s.Format = &jsonschema.Format{Name: "counted", Validate: func(v any) error {
		*made++
		return first.Validate(v)
	}}
}

// anySchema generates a schema that may refer to "a" and "b".
func anySchema(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		some := func() any { return anySchema(depth-1).Draw(t, "schema") }
		list := func() []any {
			out := []any{some()}
			for range rapid.IntRange(0, 2).Draw(t, "more") {
				out = append(out, some())
			}
			return out
		}
		if depth == 0 {
			return rapid.SampledFrom([]any{true, false, map[string]any{"type": "string"}, map[string]any{"$ref": "#/$defs/a"}, map[string]any{"$ref": "#/$defs/b"}, map[string]any{"enum": []any{1, "a", []any{}}}}).Draw(t, "leaf")
		}
		out := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(t, "keys") {
			switch key := rapid.SampledFrom([]string{"type", "properties", "patternProperties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "contains", "uniqueItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "propertyNames", "dependentSchemas", "required", "pattern", "$ref"}).Draw(t, "key"); key {
			case "type":
				out[key] = rapid.SampledFrom([]any{"array", "object", "string", "integer", []any{"array", "object"}}).Draw(t, "type")
			case "properties", "patternProperties", "dependentSchemas":
				out[key] = map[string]any{"x": some(), "y": some()}
			case "prefixItems", "anyOf", "oneOf", "allOf":
				out[key] = list()
			case "if":
				out[key], out["then"], out["else"] = some(), some(), some()
			case "uniqueItems":
				out[key] = true
			case "required":
				out[key] = []any{"x"}
			case "pattern":
				out[key] = "(a|b)+"
			case "$ref":
				out[key] = rapid.SampledFrom([]any{"#/$defs/a", "#/$defs/b", "#"}).Draw(t, "to")
			default:
				out[key] = some()
			}
		}
		return out
	})
}

// anyValue generates a value of JSON.
func anyValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		if depth == 0 {
			kind = min(kind, 2)
		}
		switch kind {
		case 0:
			return rapid.SampledFrom([]any{nil, true, "", "a", "abc", "zz"}).Draw(t, "value")
		case 1, 2:
			return json.Number(rapid.SampledFrom([]string{"1", "2.5", "1e2", "-3"}).Draw(t, "number"))
		case 3, 4:
			return rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "list")
		}
		return rapid.MapOfN(rapid.SampledFrom([]string{"x", "y", "z"}), anyValue(depth-1), 0, 3).Draw(t, "object")
	})
}
