package prompt

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/weirhost/weir/agent/internal/schematype"
	"github.com/weirhost/weir/sdk/tool"
)

// A param is one argument of a tool as the prompt tells it.
type param struct {
	name, kind, about string
	required          bool
}

// promptTypes writes types as words: string, "a"|"b", array of integer,
// {x: number, y?: number}.
var promptTypes = schematype.Style{
	Any: "any", Or: "|", Enum: math.MaxInt,
	Name:    func(t string) string { return t },
	Literal: func(v json.RawMessage) string { return OneLine(string(v)) },
	Array: func(item string) string {
		if item == "" {
			return "array"
		}
		return "array of " + item
	},
	Object: func(members []schematype.Member) string {
		parts := make([]string, len(members))
		for i, m := range members {
			mark := "?"
			if m.Required {
				mark = ""
			}
			parts[i] = OneLine(m.Name) + mark + ": " + m.Kind
		}
		return "{" + strings.Join(parts, ", ") + "}"
	},
}

// params reads the arguments of a schema in the order of the document. A
// schema that cannot be read has none.
func params(schema json.RawMessage, l tool.Locale) []param {
	members := schematype.Members(schema, promptTypes)
	out := make([]param, len(members))
	for i, m := range members {
		var n valueNode
		_ = schematype.Read(m.Schema, &n) // what cannot be read says nothing
		out[i] = param{name: m.Name, kind: m.Kind, required: m.Required, about: strings.Join(nonEmpty(strings.TrimSpace(n.Description), n.bounds(l)), " ")}
	}
	return out
}

// A valueNode is what a schema says of a value beside its type.
type valueNode struct {
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
}

// bounds tells default, minimum and maximum.
func (n valueNode) bounds(l tool.Locale) string {
	var parts []string
	if len(n.Default) > 0 && string(n.Default) != "null" {
		parts = append(parts, For(l).defaultIs+OneLine(string(n.Default)))
	}
	if n.Minimum != nil {
		parts = append(parts, For(l).atLeast+number(*n.Minimum))
	}
	if n.Maximum != nil {
		parts = append(parts, For(l).atMost+number(*n.Maximum))
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func nonEmpty(parts ...string) []string {
	out := parts[:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}
