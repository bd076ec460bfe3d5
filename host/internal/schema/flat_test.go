package schema

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// What is seen to fit at a look fits by the rules of JSON Schema too.
func TestFlat(t *testing.T) {
	fitted, open := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "c"})
		one := rapid.Custom(func(t *rapid.T) map[string]any {
			p := map[string]any{"type": rapid.SampledFrom([]string{"string", "integer", "number", "boolean", "array"}).Draw(t, "type")}
			key := rapid.SampledFrom([]string{"description", "default", "minLength", "enum"}).Draw(t, "key")
			p[key] = map[string]any{"description": "x", "default": "x", "minLength": 2, "enum": []string{"x"}}[key]
			return p
		})
		schema := map[string]any{"type": "object", "required": rapid.SliceOfNDistinct(names, 0, 2, rapid.ID).Draw(t, "required")}
		if rapid.Bool().Draw(t, "named") {
			schema["properties"] = rapid.MapOfN(names, one, 0, 3).Draw(t, "properties")
		}
		if rapid.Bool().Draw(t, "more") {
			schema["additionalProperties"] = rapid.Bool().Draw(t, "additional")
		}
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		value := rapid.SampledFrom([]any{"x", "xyz", true, json.Number("5"), json.Number("5.0"), json.Number("1e2"), json.Number("-1.5"), nil, []any{}, map[string]any{}})
		args := rapid.MapOfN(names, value, 0, 3).Draw(t, "args")
		if s.rules.flat.fits(args) {
			fitted++
			if s.rules.flat.open && len(s.rules.flat.types) < len(args) {
				open++
			}
			s.rules.flat = nil
			if wrong := s.Check(args); len(wrong) > 0 {
				t.Fatalf("%s, %v: %v", text, args, wrong)
			}
		}
	})
	if fitted == 0 || open == 0 {
		t.Errorf("%d fitted, %d of them with arguments that are not declared", fitted, open)
	}
}
