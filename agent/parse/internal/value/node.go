// Package value reads the values in a tool call: JSON, Python's notation and the
// mixtures that models write. A Scanner finds the end of an item and of each string
// in it while the text arrives; a Reader then makes Nodes of the complete item.
// Missing commas, quotes and brackets are repaired; content never is.
package value

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Kind is what a Node holds.
type Kind int

const (
	None Kind = iota
	Null
	Bool
	Number
	String
	Bare // unquoted text, as written
	Array
	Object
)

// SchemaType is the name that JSON Schema has for a Kind of constant.
func (k Kind) SchemaType() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "string"
}

// A Node is a value as the model wrote it. The numbers keep their digits and
// the keys their order.
type Node struct {
	Kind     Kind
	Value    string // string value; number, bool and bare text as written
	Keys     []string
	Items    []Node // of an array, or the values of an object's keys
	Raw      string // the text of a number or bool, where a schema may want a string
	Unclosed bool   // the text ended before its closing bracket
}

// Get returns the value of a key; a Node of kind None if there is none.
func (n Node) Get(key string) Node {
	if n.Kind == Object {
		if i := slices.Index(n.Keys, key); i >= 0 {
			return n.Items[i]
		}
	}
	return Node{}
}

// Text is the value of a string or of unquoted text.
func (n Node) Text() (string, bool) { return n.Value, n.Kind == String || n.Kind == Bare }

// AppendJSON writes n as JSON.
func (n Node) AppendJSON(b []byte) []byte {
	switch n.Kind {
	case Bool, Number:
		return append(b, n.Value...)
	case String, Bare:
		return appendString(b, n.Value)
	case Array:
		b = append(b, '[')
		for i, v := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.AppendJSON(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, v := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, n.Keys[i]), ':')
			b = v.AppendJSON(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// appendString writes a JSON string, leaving every printable character as it is.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}

// Break says in one line where strict JSON breaks, or nothing.
func Break(b []byte) string {
	var v json.RawMessage
	err := json.Unmarshal(b, &v)
	if err == nil {
		return ""
	}
	at := len(b)
	if s, ok := err.(*json.SyntaxError); ok {
		at = min(int(s.Offset), len(b))
	}
	from := max(0, at-24)
	near := strings.ToValidUTF8(string(b[from:at]), "")
	return fmt.Sprintf("byte %d, after %q", at, near)
}
