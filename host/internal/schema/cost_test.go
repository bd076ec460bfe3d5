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

func TestSchemaThatCostsTooMuch(t *testing.T) {
	pointer := func(i int) string { return fmt.Sprintf("#/$defs/d%d", i) }
	plain := func(i int, body string) string { return fmt.Sprintf(`"d%d":{%s}`, i, body) }
	repeats := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%d":{"type":"string","pattern":"%s"}`, i, strings.Repeat("x{1000}", 400)))
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
