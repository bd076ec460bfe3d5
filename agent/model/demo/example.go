package demo

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
)

// Sentences of the prompt in front of the schema of an answer, and of an answer in JSON.
var (
	schemaMarks = []string{"It satisfies this JSON Schema:\n", "它须符合以下 JSON Schema：\n"}
	jsonMarks   = []string{"Your answer is one JSON object and nothing else", "你的回答只能是一个 JSON 对象"}
)

// wantedFormat returns the schema of the answer that a request asks for; false: it asks for text.
func wantedFormat(r agent.Request) (schema json.RawMessage, ok bool) {
	if r.Format != nil {
		return r.Format.Schema, true
	}
	for _, mark := range schemaMarks {
		if _, rest, found := strings.Cut(r.System, mark); found {
			line, _, _ := strings.Cut(rest, "\n")
			return json.RawMessage(line), true
		}
	}
	return nil, containsAny(r.System, jsonMarks)
}

// A schemaNode is what an example needs of a schema.
type schemaNode struct {
	Ref        string                     `json:"$ref"`
	Type       json.RawMessage            `json:"type"`
	Const      json.RawMessage            `json:"const"`
	Enum       []json.RawMessage          `json:"enum"`
	Default    json.RawMessage            `json:"default"`
	Examples   []json.RawMessage          `json:"examples"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	AllOf      []json.RawMessage          `json:"allOf"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	MinItems   int                        `json:"minItems"`
	Minimum    *float64                   `json:"minimum"`
	Above      *float64                   `json:"exclusiveMinimum"`
	MinLength  int                        `json:"minLength"`
	MaxLength  *int                       `json:"maxLength"`
	Format     string                     `json:"format"`
	Defs       map[string]json.RawMessage `json:"$defs"`
	Older      map[string]json.RawMessage `json:"definitions"`
}

// Bounds of an example: of the depth, for a schema that contains itself; of the values; of the
// characters of a text. What a schema asks for beyond them is not made.
const (
	maxDepth  = 12
	maxValues = 2000
	maxText   = 2000
)

// exampleOf returns a JSON object that a schema allows, as far as it is one of the usual ones.
func exampleOf(schema json.RawMessage, question string) string {
	var root schemaNode
	_ = json.Unmarshal(schema, &root) // a schema that cannot be read allows all
	e := exampler{map[string]json.RawMessage{"#": schema}, subject(question), new(int)}
	maps.Copy(e.defs, root.Older)
	maps.Copy(e.defs, root.Defs)
	v, ok := e.value(schema, 0).(map[string]any)
	if !ok {
		v = map[string]any{"answer": e.subject}
	}
	out, _ := json.Marshal(v) // decoded JSON always encodes
	return string(out)
}

// An exampler makes values. Texts are what the question is about.
type exampler struct {
	defs    map[string]json.RawMessage
	subject string
	made    *int // values
}

func (e exampler) value(schema json.RawMessage, depth int) any {
	var n schemaNode
	*e.made++
	if depth > maxDepth || *e.made > maxValues || json.Unmarshal(schema, &n) != nil {
		return nil
	}
	if name := n.Ref[strings.LastIndex(n.Ref, "/")+1:]; name != "" {
		return e.value(e.defs[name], depth+1)
	}
	for _, fixed := range slices.Concat([]json.RawMessage{n.Const}, n.Enum, []json.RawMessage{n.Default}, n.Examples) {
		if len(fixed) > 0 {
			return fixed
		}
	}
	for _, list := range [][]json.RawMessage{n.AnyOf, n.OneOf, n.AllOf} {
		if len(list) > 0 {
			return e.value(list[0], depth+1)
		}
	}
	switch n.kind() {
	case "object":
		out := map[string]any{}
		for name, p := range n.Properties {
			if depth < maxDepth/2 || slices.Contains(n.Required, name) {
				out[name] = e.value(p, depth+1)
			}
		}
		return out
	case "array":
		out := []any{}
		for *e.made < maxValues && (len(out) < max(n.MinItems, 1) && len(n.Items) > 0 && depth < maxDepth/2 || len(out) < n.MinItems) {
			out = append(out, e.value(n.Items, depth+1))
		}
		return out
	case "integer", "number":
		switch {
		case n.Above != nil:
			return *n.Above + 1
		case n.Minimum != nil:
			return *n.Minimum
		}
		return 1
	case "boolean":
		return true
	case "string":
		return e.text(n)
	}
	return nil
}

// kind returns the type of a value; of several, the first that is not null.
func (n schemaNode) kind() string {
	var one string
	var list []string
	_ = json.Unmarshal(n.Type, &one)
	_ = json.Unmarshal(n.Type, &list)
	for _, k := range append(list, one) {
		if k != "" && k != "null" {
			return k
		}
	}
	switch {
	case n.Properties != nil:
		return "object"
	case len(n.Items) > 0:
		return "array"
	}
	return ""
}

// formats are texts that the usual formats allow.
var formats = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "email": "ada@example.com", "hostname": "example.com",
	"uri": "https://example.com/", "url": "https://example.com/", "uuid": "00000000-0000-4000-8000-000000000000", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "duration": "P1D",
}

func (e exampler) text(n schemaNode) string {
	s := e.subject
	if f, ok := formats[n.Format]; ok {
		s = f
	}
	r := []rune(s)
	for len(r) < min(n.MinLength, maxText) {
		r = append(r, 'x')
	}
	if n.MaxLength != nil && len(r) > *n.MaxLength {
		r = r[:max(*n.MaxLength, 0)]
	}
	return string(r)
}
