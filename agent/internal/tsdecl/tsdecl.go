// Package tsdecl writes tools as declarations of TypeScript functions, from their JSON
// Schemas. The same schema gives the same line.
package tsdecl

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Bounds of a declaration.
const (
	maxDepth    = 4   // of objects in objects
	maxLiterals = 12  // of an enumeration; a longer one is its type
	maxType     = 600 // characters of the arguments; longer ones are an object
	maxAbout    = 120 // characters of the purpose
)

// A Tool is what is declared.
type Tool struct {
	Name, About    string
	Params, Output json.RawMessage // JSON Schemas; Output may be nil
}

// Line returns the declaration of a tool, on one line, with its purpose as a comment. A
// name that is no identifier is declared as a member of tools.
func Line(t Tool) string {
	args, required := "", false
	if root, ok := read(t.Params); ok {
		if args = (writer{root}).object(root, 0); len([]rune(args)) > maxType {
			args = "object"
		}
		required = len(root.Required) > 0
	}
	switch {
	case args == "" || args == "{}":
		args = ""
	case required:
		args = "args: " + args
	default:
		args = "args?: " + args
	}
	result := "Result"
	if out, ok := read(t.Output); ok {
		if kind := (writer{out}).kind(t.Output, 0); kind != "unknown" && len(kind) <= maxType {
			result += "<" + kind + ">"
		}
	}
	name := "declare function " + t.Name
	if !identifier().MatchString(t.Name) {
		name = "// tools[" + strconv.Quote(t.Name) + "]"
	}
	line := name + "(" + args + "): Promise<" + result + ">;"
	if about := clip(strings.Join(strings.Fields(t.About), " "), maxAbout); about != "" {
		line += " // " + about
	}
	return line
}

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`) })

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// A node is the part of JSON Schema that a declaration tells.
type node struct {
	Type        json.RawMessage            `json:"type"`
	Properties  json.RawMessage            `json:"properties"`
	Required    []string                   `json:"required"`
	Items       json.RawMessage            `json:"items"`
	Enum        []json.RawMessage          `json:"enum"`
	Const       json.RawMessage            `json:"const"`
	AnyOf       []json.RawMessage          `json:"anyOf"`
	OneOf       []json.RawMessage          `json:"oneOf"`
	Ref         string                     `json:"$ref"`
	Defs        map[string]json.RawMessage `json:"$defs"`
	Definitions map[string]json.RawMessage `json:"definitions"`
}

func read(schema json.RawMessage) (n node, ok bool) {
	return n, len(schema) > 0 && json.Unmarshal(schema, &n) == nil
}

// A writer writes types of one schema.
type writer struct{ root node }

// kind returns the type that a schema describes; unknown: it says none.
func (w writer) kind(schema json.RawMessage, depth int) string {
	n, ok := read(schema)
	if !ok || depth > maxDepth {
		return "unknown"
	}
	switch {
	case n.Ref != "":
		return w.kind(w.resolve(n.Ref), depth+1)
	case len(n.Enum) > 0 && len(n.Enum) <= maxLiterals:
		return w.union(n.Enum, func(v json.RawMessage) string { return literal(v) })
	case len(n.Const) > 0:
		return literal(n.Const)
	case len(n.AnyOf) > 0:
		return w.union(n.AnyOf, func(v json.RawMessage) string { return w.kind(v, depth+1) })
	case len(n.OneOf) > 0:
		return w.union(n.OneOf, func(v json.RawMessage) string { return w.kind(v, depth+1) })
	}
	types := names(n.Type)
	if len(types) == 0 && len(n.Properties) > 0 {
		types = []string{"object"}
	}
	var out []string
	for _, t := range types {
		switch t {
		case "integer", "number":
			t = "number"
		case "array":
			t = "unknown[]"
			if len(n.Items) > 0 {
				if t = w.kind(n.Items, depth+1); strings.Contains(t, " | ") {
					t = "(" + t + ")"
				}
				t += "[]"
			}
		case "object":
			if len(n.Properties) > 0 {
				t = w.object(n, depth)
			}
		case "string", "boolean", "null":
		default:
			t = "unknown"
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return "unknown"
	}
	return strings.Join(out, " | ")
}

// union joins the types of several schemas.
func (w writer) union(all []json.RawMessage, kind func(json.RawMessage) string) string {
	var out []string
	for _, v := range all {
		if k := kind(v); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return strings.Join(out, " | ")
}

// object writes the members of an object, in the order of the document, the required ones
// first.
func (w writer) object(n node, depth int) string {
	var must, may []string
	for _, m := range members(n.Properties) {
		name := m.name
		if !identifier().MatchString(name) {
			name = strconv.Quote(name)
		}
		kind := w.kind(m.value, depth+1)
		if slices.Contains(n.Required, m.name) {
			must = append(must, name+": "+kind)
		} else {
			may = append(may, name+"?: "+kind)
		}
	}
	if all := append(must, may...); len(all) > 0 {
		return "{ " + strings.Join(all, "; ") + " }"
	}
	return "{}"
}

// resolve follows a reference into the schema's own definitions; any other leads nowhere.
func (w writer) resolve(ref string) json.RawMessage {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return w.root.Defs[name]
	}
	name, _ := strings.CutPrefix(ref, "#/definitions/")
	return w.root.Definitions[name]
}

// literal writes a value as a type. Strings keep no character that ends a line.
func literal(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return "unknown"
	}
	return b.String()
}

// A member is one of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members reads an object in the order of the document.
func members(object json.RawMessage) (out []member) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return out
		}
		out = append(out, member{name.(string), value})
	}
	return out
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
