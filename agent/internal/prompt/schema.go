package prompt

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A param is one argument of a tool as the prompt tells it.
type param struct {
	name, kind, about string
	required          bool
}

// maxSchemaDepth bounds how deep nested objects are written out.
const maxSchemaDepth = 4

// schemaNode is the part of JSON Schema that a model receives.
type schemaNode struct {
	Type        json.RawMessage            `json:"type"`
	Description string                     `json:"description"`
	Properties  json.RawMessage            `json:"properties"`
	Required    []string                   `json:"required"`
	Items       json.RawMessage            `json:"items"`
	Enum        []json.RawMessage          `json:"enum"`
	Const       json.RawMessage            `json:"const"`
	AnyOf       []json.RawMessage          `json:"anyOf"`
	OneOf       []json.RawMessage          `json:"oneOf"`
	Ref         string                     `json:"$ref"`
	Default     json.RawMessage            `json:"default"`
	Minimum     *float64                   `json:"minimum"`
	Maximum     *float64                   `json:"maximum"`
	Defs        map[string]json.RawMessage `json:"$defs"`
	Definitions map[string]json.RawMessage `json:"definitions"`
}

// params reads the arguments of a schema in the order of the document. A
// schema that cannot be read has none.
func params(schema json.RawMessage, l tool.Locale) []param {
	var root schemaNode
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	s := schemaWriter{root: root, locale: l}
	out := make([]param, 0, 8)
	for _, f := range orderedFields(root.Properties) {
		var n schemaNode
		if json.Unmarshal(f.value, &n) != nil {
			n = schemaNode{}
		}
		out = append(out, param{
			name: f.name, kind: s.kind(f.value, 0), required: slices.Contains(root.Required, f.name),
			about: strings.Join(nonEmpty(OneLine(n.Description), s.bounds(n)), " "),
		})
	}
	return out
}

// A field is one member of a JSON object.
type field struct {
	name  string
	value json.RawMessage
}

// orderedFields reads the members of a JSON object in their order.
func orderedFields(object json.RawMessage) []field {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []field
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return out
		}
		out = append(out, field{name.(string), value})
	}
	return out
}

type schemaWriter struct {
	root   schemaNode
	locale tool.Locale
}

// kind writes a schema as a short type: string, "a"|"b", array of integer,
// {x: number, y?: number}.
func (s schemaWriter) kind(raw json.RawMessage, depth int) string {
	var n schemaNode
	if json.Unmarshal(raw, &n) != nil || depth > maxSchemaDepth {
		return "any"
	}
	switch {
	case n.Ref != "":
		return s.kind(s.resolve(n.Ref), depth+1)
	case len(n.Enum) > 0:
		return joinRaw(n.Enum)
	case len(n.Const) > 0:
		return string(n.Const)
	case len(n.AnyOf) > 0:
		return s.either(n.AnyOf, depth)
	case len(n.OneOf) > 0:
		return s.either(n.OneOf, depth)
	}
	types := typeNames(n.Type)
	if len(types) == 0 && len(n.Properties) > 0 {
		types = []string{"object"}
	}
	for i, t := range types {
		switch {
		case t == "array" && len(n.Items) > 0:
			types[i] = "array of " + s.kind(n.Items, depth+1)
		case t == "object" && len(n.Properties) > 0:
			types[i] = s.object(n, depth)
		}
	}
	if len(types) == 0 {
		return "any"
	}
	return strings.Join(types, "|")
}

func (s schemaWriter) object(n schemaNode, depth int) string {
	parts := make([]string, 0, 4)
	for _, f := range orderedFields(n.Properties) {
		mark := "?"
		if slices.Contains(n.Required, f.name) {
			mark = ""
		}
		parts = append(parts, OneLine(f.name)+mark+": "+s.kind(f.value, depth+1))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (s schemaWriter) either(options []json.RawMessage, depth int) string {
	parts := make([]string, len(options))
	for i, o := range options {
		parts[i] = s.kind(o, depth+1)
	}
	return strings.Join(parts, "|")
}

// resolve follows a reference into the schema's own definitions; any other
// leads nowhere.
func (s schemaWriter) resolve(ref string) json.RawMessage {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return s.root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return s.root.Definitions[name]
	}
	return nil
}

// bounds tells default, minimum and maximum.
func (s schemaWriter) bounds(n schemaNode) string {
	var parts []string
	if len(n.Default) > 0 && string(n.Default) != "null" {
		parts = append(parts, For(s.locale).defaultIs+OneLine(string(n.Default)))
	}
	if n.Minimum != nil {
		parts = append(parts, For(s.locale).atLeast+number(*n.Minimum))
	}
	if n.Maximum != nil {
		parts = append(parts, For(s.locale).atMost+number(*n.Maximum))
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// typeNames reads "type", which is a name or a list of names.
func typeNames(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many) // neither form: no type is stated
	return many
}

func joinRaw(values []json.RawMessage) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = OneLine(string(v))
	}
	return strings.Join(parts, "|")
}

func nonEmpty(parts ...string) []string {
	out := parts[:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}
