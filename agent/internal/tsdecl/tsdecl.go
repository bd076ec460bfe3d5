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

	"github.com/weirhost/weir/agent/internal/schematype"
)

// Bounds of a declaration.
const (
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
	members := schematype.Members(t.Params, style)
	args := object(members)
	if len([]rune(args)) > maxType {
		args = "object"
	}
	switch {
	case args == "{}":
		args = ""
	case slices.ContainsFunc(members, func(m schematype.Member) bool { return m.Required }):
		args = "args: " + args
	default:
		args = "args?: " + args
	}
	result := "Result"
	if kind := schematype.Of(t.Output, style); kind != "unknown" && len(kind) <= maxType {
		result += "<" + kind + ">"
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

// style is that of TypeScript.
var style = schematype.Style{
	Any: "unknown", Or: " | ", Enum: maxLiterals, Name: typeName, Literal: literal, Array: array, Object: object,
}

func typeName(t string) string {
	switch t {
	case "integer":
		return "number"
	case "string", "number", "boolean", "null", "object":
		return t
	}
	return "unknown"
}

func array(item string) string {
	switch {
	case item == "":
		item = "unknown"
	case strings.Contains(item, " | "):
		item = "(" + item + ")"
	}
	return item + "[]"
}

// object writes the members of an object, the required ones first.
func object(members []schematype.Member) string {
	var must, may []string
	for _, m := range members {
		name := m.Name
		if !identifier().MatchString(name) {
			name = strconv.Quote(name)
		}
		if m.Required {
			must = append(must, name+": "+m.Kind)
		} else {
			may = append(may, name+"?: "+m.Kind)
		}
	}
	if all := append(must, may...); len(all) > 0 {
		return "{ " + strings.Join(all, "; ") + " }"
	}
	return "{}"
}

// literal writes a value as a type. Strings keep no character that ends a line.
func literal(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return "unknown"
	}
	return b.String()
}
