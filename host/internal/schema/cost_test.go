package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// doubling makes n definitions that each refer to the next one twice.
func doubling(n int, ref func(i int) string, def func(i int, body string) string) string {
	var defs []string
	for i := range n {
		defs = append(defs, def(i, fmt.Sprintf(`"allOf":[{"$ref":%q},{"$ref":%q}]`, ref(i+1), ref(i+1))))
	}
	defs = append(defs, def(n, `"minProperties":0`))
	return fmt.Sprintf(`{"type":"object","$ref":%q,"$defs":{%s}}`, ref(0), strings.Join(defs, ","))
}

// chain makes n definitions of which each refers to the next.
func chain(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
	}
	return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/d0","$defs":{"d%d":{},%s}}`, n, strings.Join(defs, ","))
}

func TestSchemaThatCostsTooMuch(t *testing.T) {
	pointer := func(i int) string { return fmt.Sprintf("#/$defs/d%d", i) }
	plain := func(i int, body string) string { return fmt.Sprintf(`"d%d":{%s}`, i, body) }
	repeats := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%d":{"type":"string","pattern":"%s"}`, i, strings.Repeat("x{1000}", 40)))
		}
		return `{"type":"object","properties":{` + strings.Join(all, ",") + `}}`
	}
	tests := []struct{ name, schema, want string }{
		{"references that double", doubling(40, pointer, plain), "its references multiply too often"},
		{"the same by anchors", doubling(40, func(i int) string { return fmt.Sprintf("#a%d", i) }, func(i int, body string) string {
			return fmt.Sprintf(`"d%d":{"$anchor":"a%d",%s}`, i, i, body)
		}), "its references multiply too often"},
		{"the same with escapes", doubling(40, func(i int) string { return fmt.Sprintf("#/%%24defs/d~1%d", i) }, func(i int, body string) string {
			return fmt.Sprintf(`"d/%d":{%s}`, i, body)
		}), "its references multiply too often"},
		{"the same in a schema of its own", `{"type":"object","properties":{"a":{"$id":"https://x.example/a","$ref":"#/$defs/b","$defs":{"b":{}}}}}`, "it holds a schema of its own"},
		{"expressions of many repeats", repeats(20), "its regular expressions are too large"},
		{"one in patternProperties", `{"type":"object","patternProperties":{"` + strings.Repeat("[a-z]{999}", 50) + `":{}}}`, "its regular expressions are too large"},
		{"an expression of many bytes", `{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat("(?:x|y)", 1000) + `"}}}`, "at most 4096 are read"},
		{"a number with an exponent of a million", `{"type":"object","properties":{"a":{"multipleOf":1e-1000000}}}`, "a number that is too long"},
		{"a circle at one value", `{"type":"object","anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"$ref":"#"}]}}}`, "lead back to themselves"},
		{"a circle at an entry", `{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"not":{"$ref":"#/$defs/a"}}}}`, "lead back to themselves"},
		{"a chain", chain(200), "follow one another"},
		{"a dynamic reference", `{"type":"object","$dynamicAnchor":"a","properties":{"a":{"$dynamicRef":"#a"}}}`, "it holds $dynamicRef"},
		{"the rules of JSON Schema", `{"type":"object","properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, "cannot refer to other files"},
		{"many parts", `{"type":"object","anyOf":[` + strings.Repeat("{},", 5000) + `{}]}`, "more than 2000 parts"},
		{"many levels", `{"type":"object","default":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "nests deeper than 64"},
		{"many bytes", `{"type":"object","description":"` + strings.Repeat("x", 1<<20) + `"}`, "at most 32768 are read"},
		{"its own name in a reference", `{"type":"object","$id":"https://x.example/a","properties":{"a":{"$ref":"https://x.example/a#/$defs/b"}},"$defs":{"b":{}}}`, ""},
		{"few of the same", doubling(6, pointer, plain), ""},
		{"a circle", `{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}`, ""},
		{"a property named pattern", `{"type":"object","properties":{"pattern":{"type":"string","pattern":"^[a-z]{1,64}$"}}}`, ""},
	}
	for _, tt := range tests {
		s, err := Compile(json.RawMessage(tt.schema))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want == "":
			s.Check(map[string]any{})
		case err == nil || !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
