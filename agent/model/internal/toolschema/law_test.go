package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/tool"
)

// Whatever a schema is like, each provider takes what it is given, the same each time, and
// every value that the schema was written for is still a value of what is given.
func TestLaws(t *testing.T) {
	judged := 0
	rapid.Check(t, func(t *rapid.T) {
		source := map[string]any{"type": "object", "$defs": map[string]any{"a": anySchema(2).Draw(t, "a"), "b": anySchema(2).Draw(t, "b")}}
		for key, v := range anySchema(3).Draw(t, "root").(map[string]any) {
			source[key] = v
		}
		source["type"] = "object"
		raw, err := json.Marshal(source)
		if err != nil {
			t.Fatal(err)
		}
		args, written := sample(t, source, source, 6)
		if _, ok := args.(map[string]any); !ok {
			written = false
		}
		fits := false
		if s, err := compile(raw); err == nil { // else a reference leads nowhere
			fits = written && s.Validate(args) == nil
		}
		for _, p := range providers() {
			got := declare(p.rules, string(raw))
			if got.Params == nil {
				continue
			}
			if again := declare(p.rules, string(raw)); !bytes.Equal(got.Params, again.Params) {
				t.Fatalf("%s: %s, then %s", p.name, got.Params, again.Params)
			}
			if complaint := p.refuse(got.Params); complaint != "" {
				t.Fatalf("%s: %s\n%s\nof %s", p.name, complaint, got.Params, raw)
			}
			if !fits {
				continue
			}
			judged++
			tools := p.rules.Declare([]tool.Spec{{Name: "t", Params: raw}}, tool.En)
			sent := tools.Sent(tool.Call{Tool: "t", Args: encodeAny(args)})
			s, err := compile(nullable(got.Params))
			if err != nil {
				t.Fatalf("%s: %v in %s", p.name, err, got.Params)
			}
			if v, _ := jsonschema.UnmarshalJSON(bytes.NewReader(sent.Args)); s.Validate(v) != nil {
				t.Fatalf("%s: %s\ndoes not fit %s\nof %s", p.name, sent.Args, got.Params, raw)
			}
		}
	})
	if judged == 0 {
		t.Error("no value was worth judging")
	}
}

func encodeAny(v any) json.RawMessage {
	raw, _ := json.Marshal(v) // values of JSON encode
	return raw
}

func compile(schema []byte) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err == nil {
		err = c.AddResource("weir:///x", doc)
	}
	if err != nil {
		return nil, err
	}
	return c.Compile("weir:///x")
}

// nullable writes what Google's API means by nullable as JSON Schema.
func nullable(schema []byte) []byte {
	v, _ := parse(schema)
	var change func(v any) any
	change = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = change(v[i])
			}
		case *object:
			for key, w := range v.values {
				v.values[key] = change(w)
			}
			if v.get("nullable") == true {
				v.set("nullable", false)
				null := &object{}
				null.set("type", "null")
				either := &object{}
				either.set("anyOf", []any{v, null})
				return either
			}
		}
		return v
	}
	return encode(change(v))
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
		out := map[string]any{}
		if depth > 0 && rapid.IntRange(0, 9).Draw(t, "special") == 0 {
			out["$ref"] = rapid.SampledFrom([]any{"#/$defs/a", "#/$defs/b", "#", "#/$defs/a/properties/x"}).Draw(t, "to")
			if rapid.Bool().Draw(t, "described") {
				out["description"] = "here"
			}
			return out
		}
		kinds := []string{"string", "integer", "number", "boolean", "enum", "null", "list"}
		if depth > 0 {
			kinds = append(kinds, "object", "object", "array", "tuple", "anyOf", "oneOf", "allOf", "any")
		}
		switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
		case "enum":
			out["enum"] = rapid.SampledFrom([]any{[]any{"a", "b"}, []any{"a", 1, nil}, []any{1.5}, []any{""}, []any{true}}).Draw(t, "enum")
		case "list":
			out["type"] = rapid.SampledFrom([]any{[]any{"string", "null"}, []any{"integer", "string"}, []any{"object", "array", "null"}}).Draw(t, "types")
		case "any":
			out["description"] = "anything"
		case "anyOf", "oneOf", "allOf":
			out[kind] = list()
			if rapid.Bool().Draw(t, "typed") {
				out["type"] = "object"
			}
		case "array":
			out["type"] = "array"
			if rapid.Bool().Draw(t, "items") {
				out["items"] = some()
			}
		case "tuple":
			out["type"], out["prefixItems"], out["maxItems"] = "array", []any{some(), some()}, 2
		case "string":
			out["type"], out["maxLength"] = "string", 5
			if rapid.Bool().Draw(t, "pattern") {
				out["pattern"], out["format"] = `^\w*$`, "hostname"
			}
		default:
			out["type"] = kind
		}
		if out["type"] == "object" || out["allOf"] != nil && depth > 0 {
			props := map[string]any{}
			for range rapid.IntRange(0, 2).Draw(t, "props") {
				props[rapid.SampledFrom([]string{"x", "y", "$top", "type"}).Draw(t, "name")] = some()
			}
			out["properties"] = props
			if rapid.Bool().Draw(t, "required") {
				out["required"] = []any{rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "needed")}
			}
			switch rapid.IntRange(0, 4).Draw(t, "others") {
			case 0:
				out["additionalProperties"] = false
			case 1:
				out["additionalProperties"] = some()
			case 2:
				out["patternProperties"], out["additionalProperties"] = map[string]any{"^z": some()}, false
			}
		}
		return out
	})
}

// sample makes a value as the author of a schema means it: an object has the properties
// that are named, a value the type that its bounds are about. It returns false if it finds
// none.
func sample(t *rapid.T, root, schema any, left int) (any, bool) {
	s, ok := schema.(map[string]any)
	if !ok || left == 0 {
		return "a", ok && left > 0
	}
	if ref, ok := s["$ref"].(string); ok {
		at := root
		for _, step := range strings.Split(ref, "/")[1:] {
			m, _ := at.(map[string]any)
			at = m[step]
		}
		return sample(t, root, at, left-1)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, ok := s[key].([]any)
		if !ok {
			continue
		}
		from := slices.Clone(list)
		if key != "allOf" {
			from = []any{rapid.SampledFrom(list).Draw(t, "alternative")}
		}
		if s["properties"] != nil {
			own := map[string]any{}
			for k, v := range s {
				if k != key {
					own[k] = v
				}
			}
			from = append(from, own)
		}
		var out any
		for _, f := range from {
			v, ok := sample(t, root, f, left-1)
			if !ok {
				return nil, false
			}
			into, isObject := out.(map[string]any)
			more, also := v.(map[string]any)
			if !isObject || !also {
				out = v
				continue
			}
			for k, w := range more {
				if _, there := into[k]; !there {
					into[k] = w
				}
			}
		}
		return out, true
	}
	if list, ok := s["enum"].([]any); ok {
		return rapid.SampledFrom(list).Draw(t, "value"), true
	}
	kind, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok {
		kind = fmt.Sprint(rapid.SampledFrom(list).Draw(t, "type"))
	}
	switch kind {
	case "integer":
		return rapid.IntRange(-3, 3).Draw(t, "integer"), true
	case "number":
		return rapid.SampledFrom([]float64{-1, 0.5, 2}).Draw(t, "number"), true
	case "boolean":
		return rapid.Bool().Draw(t, "boolean"), true
	case "null":
		return nil, true
	case "array":
		out := []any{}
		if tuple, ok := s["prefixItems"].([]any); ok {
			for _, e := range tuple {
				v, ok := sample(t, root, e, left-1)
				if !ok {
					return nil, false
				}
				out = append(out, v)
			}
			return out, true
		}
		for range rapid.IntRange(0, 2).Draw(t, "elements") {
			var e any = map[string]any{"type": "string"}
			if s["items"] != nil {
				e = s["items"]
			}
			v, ok := sample(t, root, e, left-1)
			if !ok {
				return nil, false
			}
			out = append(out, v)
		}
		return out, true
	case "object":
		return sampleObject(t, root, s, left)
	}
	return rapid.SampledFrom([]string{"", "a", "ab"}).Draw(t, "string"), true
}

func sampleObject(t *rapid.T, root any, s map[string]any, left int) (any, bool) {
	out := map[string]any{}
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range []string{"x", "y", "$top", "type", "z"} {
		sub, named := props[name]
		needed := slices.Contains(required, any(name))
		if !named && !needed || !needed && rapid.Bool().Draw(t, "left out") {
			continue
		}
		if !named {
			sub = map[string]any{"type": "string"}
			if more, ok := s["additionalProperties"].(map[string]any); ok {
				sub = more
			}
		}
		v, ok := sample(t, root, sub, left-1)
		if !ok {
			return nil, false
		}
		out[name] = v
	}
	return out, true
}

// A hostile schema costs no more than its length: references that double at each step,
// alternatives in alternatives, one property named by thousands.
func TestBombs(t *testing.T) {
	many := func(n int, each func(int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = each(i)
		}
		return strings.Join(list, ",")
	}
	nested := `{"type":"string"}`
	for range 14 {
		nested = `{"type":"object","properties":{"a":` + nested + `},"anyOf":[{"required":["a"]},{"properties":{"b":{"type":"object"}}},{"properties":{"c":{}}}]}`
	}
	inner := `{"type":"string"}`
	for range 12 {
		inner = `{"items":` + inner + `,"anyOf":[{"minItems":1},{"maxItems":9},{"type":"array"}]}`
	}
	for name, schema := range map[string]string{
		"doubling": `{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"},"y":{"type":"string"}},"$defs":{` + many(40, func(i int) string {
			return fmt.Sprintf(`"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1)
		}) + `}}`,
		"round and wide": `{"type":"object","properties":{` + many(100, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#"}`, i) }) + `}}`,
		"all of, many": `{"type":"object","allOf":[` + many(400, func(i int) string {
			return fmt.Sprintf(`{"properties":{"p%d":{},"q":{"properties":{"r%d":{}}}}}`, i, i)
		}) + `]}`,
		"any of, many":                 `{"type":"object","anyOf":[` + many(400, func(i int) string { return fmt.Sprintf(`{"properties":{"q":{"const":%d}},"required":["p%d"]}`, i, i) }) + `]}`,
		"nested":                       nested,
		"nested in lists":              `{"type":"object","properties":{"x":` + inner + `}}`,
		"untyped":                      `{"type":"object","properties":{` + many(800, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`,
		"a tuple":                      `{"type":"object","properties":{"t":{"prefixItems":[` + many(500, func(i int) string { return fmt.Sprintf(`{"const":"%d"}`, i) }) + `]}}}`,
		"required":                     `{"type":"object","required":[` + many(900, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `]}`,
		"deep":                         `{"type":"object","properties":` + strings.Repeat(`{"p":{"properties":`, 5000) + `{}` + strings.Repeat(`}}`, 5000) + `}`,
		"names that providers refuse":  `{"type":"object","properties":{` + many(400, func(i int) string { return fmt.Sprintf(`"$%d":{}`, i) }) + `}}`,
		"references to long addresses": `{"type":"object","properties":{` + many(200, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#%s"}`, i, strings.Repeat("/properties/p", 50)) }) + `}}`,
	} {
		for _, p := range providers() {
			got := declare(p.rules, schema)
			if most := len(schema) + maxGrowth; len(got.Params) > most {
				t.Errorf("%s, %s: %d bytes of %d", name, p.name, len(got.Params), len(schema))
			}
			if complaint := p.refuse(got.Params); complaint != "" && got.Params != nil {
				t.Errorf("%s, %s: %.300s", name, p.name, complaint)
			}
		}
	}
	specs := make([]tool.Spec, 100)
	for i := range specs {
		specs[i] = tool.Spec{Name: fmt.Sprintf("t%d", i), Params: json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{` + many(40, func(i int) string {
			return fmt.Sprintf(`"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1)
		}) + `}}`)}
	}
	for _, p := range providers() {
		read, written := 0, 0
		for i, d := range p.rules.Declare(specs, tool.En).List {
			read, written = read+len(specs[i].Params), written+len(d.Params)
		}
		if written > read+maxTotal+len(specs)*minGrowth {
			t.Errorf("%s: %d bytes of %d", p.name, written, read)
		}
	}
}
