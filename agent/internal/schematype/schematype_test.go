package schematype

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// words is a style without a bound of its own.
func words() Style {
	return Style{
		Any: "any", Or: "|", Enum: 1 << 20,
		Name:    func(t string) string { return t },
		Literal: func(v json.RawMessage) string { return string(v) },
		Array:   func(item string) string { return "[" + item + "]" },
		Object: func(all []Member) string {
			var parts []string
			for _, m := range all {
				parts = append(parts, m.Name+":"+m.Kind)
			}
			return "{" + strings.Join(parts, " ") + "}"
		},
	}
}

// TestWideRecursion reads schemas of 2 to 32 KiB in which many references lead to a
// definition of many alternatives, which lead to it again: what is written of each stays
// in proportion to what may be read, not to the number of ways through it.
func TestWideRecursion(t *testing.T) {
	for _, n := range []int{25, 100, 400} {
		var properties, alternatives []string
		for i := range n {
			properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/a"}`, i))
			alternatives = append(alternatives, fmt.Sprintf(`{"properties":{"q%d":{"$ref":"#/$defs/a"}}}`, i))
		}
		schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"$defs":{"a":{"anyOf":[` + strings.Join(alternatives, ",") + `]}}}`
		members, written := Members(json.RawMessage(schema), words()), 0
		for _, m := range members {
			written += len(m.Kind)
		}
		if len(members) != n || written > 2*maxBytes {
			t.Errorf("%d properties of %d, of %d characters", len(members), n, written)
		}
		t.Logf("%d bytes of schema: %d characters", len(schema), written)
	}
}

// TestWholeSchema reads an honest schema of the largest size to its end.
func TestWholeSchema(t *testing.T) {
	var properties []string
	for i := range 300 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"array","description":"the values of the argument","items":{"$ref":"#/$defs/pair"}}`, i))
	}
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"$defs":{"pair":{"type":"object","properties":{"x":{"type":"number"},"y":{"enum":["a","b"]}}}}}`
	for _, m := range Members(json.RawMessage(schema), words()) {
		if m.Kind != `[{x:number y:"a"|"b"}]` {
			t.Fatalf("%s is %s", m.Name, m.Kind)
		}
	}
}

// TestNoNameIsLost reads schemas whose names a model must be told: a keyword of the wrong type
// costs nothing else, and the parts that a schema is made of at its root have names, too.
func TestNoNameIsLost(t *testing.T) {
	const a, b = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"properties":{"b":{"type":"integer"},"a":{"type":"string"}}}`
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":"a"}`:              "a:string b:integer",
		`{"type":"object","properties":{"a":{"type":"string","enum":{}},"b":{"type":"integer","anyOf":1}}}`:         "a:string b:integer",
		`{"type":"object","properties":{"a":{"type":"object","properties":{"c":{"type":"null"}},"required":true}}}`: "a:{c:null}",
		`{"oneOf":[` + a + `,` + b + `]}`:                                    "a:string b:integer",
		`{"anyOf":[` + a + `,` + b + `],"required":["a"]}`:                   "a!:string b:integer",
		`{"allOf":[` + a + `,{"$ref":"#/$defs/b"}],"$defs":{"b":` + b + `}}`: "a!:string b:integer",
		`{"$ref":"#/$defs/a","$defs":{"a":` + a + `}}`:                       "a!:string",
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`:            "",
		`true`: "",
		`{`:    "",
	} {
		var got []string
		for _, m := range Members(json.RawMessage(schema), words()) {
			mark := ""
			if m.Required {
				mark = "!"
			}
			got = append(got, m.Name+mark+":"+m.Kind)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", schema, got, want)
		}
	}
}
