// Package schematype writes the types that a JSON Schema describes, in a style of the
// caller, for a model to read. The same schema gives the same text. What it reads of one
// schema is bounded, also where references lead into themselves.
package schematype

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Bounds of what is read of one schema. The most that a tool may declare is 32 KiB,
// which a schema without references reads five times at most.
const (
	maxDepth = 4         // of schemas in schemas, references counted
	maxBytes = 256 << 10 // of JSON, where each schema counts schemaCost more

	schemaCost = 64
)

// A Style is how types are written. All functions are required.
type Style struct {
	Any     string // no type is stated, or it is too deep
	Or      string // between alternatives
	Enum    int    // the most literals of an enumeration; a longer one is written as its type
	Name    func(kind string) string
	Literal func(value json.RawMessage) string
	Array   func(item string) string // item "": the schema says nothing of its items
	Object  func(members []Member) string
}

// A Member is a property of an object.
type Member struct {
	Name, Kind string
	Required   bool
	Schema     json.RawMessage
}

// node is the part of JSON Schema that types come from.
type node struct {
	Type        json.RawMessage            `json:"type"`
	Properties  json.RawMessage            `json:"properties"`
	Required    []string                   `json:"required"`
	Items       json.RawMessage            `json:"items"`
	Enum        []json.RawMessage          `json:"enum"`
	Const       json.RawMessage            `json:"const"`
	AllOf       []json.RawMessage          `json:"allOf"`
	AnyOf       []json.RawMessage          `json:"anyOf"`
	OneOf       []json.RawMessage          `json:"oneOf"`
	Ref         string                     `json:"$ref"`
	Defs        map[string]json.RawMessage `json:"$defs"`
	Definitions map[string]json.RawMessage `json:"definitions"`
}

// A reader reads one schema.
type reader struct {
	root  node
	style Style
	left  int // bytes that may be read
}

// Members returns the properties of a schema in the order of the document, after its own
// those of the schemas that it is made of at its root. A schema that cannot be read has none.
func Members(schema json.RawMessage, style Style) []Member {
	r := &reader{style: style, left: maxBytes}
	if !r.read(schema, &r.root) {
		return nil
	}
	return r.all(r.root, 0)
}

// all returns the properties of a schema and of those that it is made of. What one of several
// alternatives requires is not required.
func (r *reader) all(n node, depth int) []Member {
	out := r.members(n, 0)
	add := func(part json.RawMessage, always bool) {
		var p node
		if depth >= maxDepth || !r.read(part, &p) {
			return
		}
		for _, m := range r.all(p, depth+1) {
			m.Required = m.Required && always || slices.Contains(n.Required, m.Name)
			if !slices.ContainsFunc(out, func(o Member) bool { return o.Name == m.Name }) {
				out = append(out, m)
			}
		}
	}
	if n.Ref != "" {
		add(r.resolve(n.Ref), true)
	}
	for _, part := range n.AllOf {
		add(part, true)
	}
	for _, part := range slices.Concat(n.AnyOf, n.OneOf) {
		add(part, false)
	}
	return out
}

// Of returns the type that a schema describes.
func Of(schema json.RawMessage, style Style) string {
	r := &reader{style: style, left: maxBytes}
	if !r.read(schema, &r.root) {
		return style.Any
	}
	return r.kind(schema, 0)
}

// read reports whether a schema can be read, within the bound.
func (r *reader) read(schema json.RawMessage, n *node) bool {
	if r.left -= len(schema) + schemaCost; r.left < 0 || len(schema) == 0 {
		return false
	}
	return Read(schema, n) == nil
}

// Read reads a schema into a struct of keywords. One whose value has the wrong type is left
// out, and nothing else.
func Read(schema json.RawMessage, into any) error {
	err := json.Unmarshal(schema, into)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // it has read all others
		return nil
	}
	return err
}

func (r *reader) kind(schema json.RawMessage, depth int) string {
	var n node
	if depth > maxDepth || !r.read(schema, &n) {
		return r.style.Any
	}
	nested := func(v json.RawMessage) string { return r.kind(v, depth+1) }
	switch {
	case n.Ref != "":
		return nested(r.resolve(n.Ref))
	case len(n.Enum) > 0 && len(n.Enum) <= r.style.Enum:
		return join(r.style.Or, n.Enum, r.style.Literal)
	case len(n.Const) > 0:
		return r.style.Literal(n.Const)
	case len(n.AnyOf) > 0:
		return join(r.style.Or, n.AnyOf, nested)
	case len(n.OneOf) > 0:
		return join(r.style.Or, n.OneOf, nested)
	}
	types := names(n.Type)
	if len(types) == 0 && len(n.Properties) > 0 {
		types = []string{"object"}
	}
	if len(types) == 0 {
		return r.style.Any
	}
	return join(r.style.Or, types, func(t string) string { return r.named(t, n, depth) })
}

// named writes the type t of a schema.
func (r *reader) named(t string, n node, depth int) string {
	switch {
	case t == "array" && len(n.Items) > 0:
		return r.style.Array(r.kind(n.Items, depth+1))
	case t == "array":
		return r.style.Array("")
	case t == "object" && len(n.Properties) > 0:
		return r.style.Object(r.members(n, depth+1))
	}
	return r.style.Name(t)
}

// join writes what is different of all.
func join[T any](or string, all []T, write func(T) string) string {
	var out []string
	seen := map[string]bool{}
	for _, v := range all {
		if k := write(v); !seen[k] {
			out, seen[k] = append(out, k), true
		}
	}
	return strings.Join(out, or)
}

// members reads the properties of an object in the order of the document.
func (r *reader) members(n node, depth int) (out []Member) {
	if r.left -= len(n.Properties); r.left < 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(n.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		m := Member{}
		if err != nil || d.Decode(&m.Schema) != nil {
			return out
		}
		m.Name = name.(string)
		m.Kind, m.Required = r.kind(m.Schema, depth), slices.Contains(n.Required, m.Name)
		out = append(out, m)
	}
	return out
}

// resolve follows a reference into the schema's own definitions; any other leads nowhere.
func (r *reader) resolve(ref string) json.RawMessage {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return r.root.Defs[name]
	}
	name, _ := strings.CutPrefix(ref, "#/definitions/")
	return r.root.Definitions[name]
}

// names reads "type", which is a name or a list of names.
func names(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many) // neither form: no type is stated
	return many
}
