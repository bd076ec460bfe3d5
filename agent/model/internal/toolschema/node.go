package toolschema

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// types are the types that a value may have; 0: any.
type types uint8

const (
	tString types = 1 << iota
	tInteger
	tNumber
	tBoolean
	tArray
	tObject
	tNull
)

func typeNames() []string {
	return []string{"string", "integer", "number", "boolean", "array", "object", "null"}
}

// typeOf returns the type of a name; 0: it names none.
func typeOf(v any) types {
	name, _ := v.(string)
	if i := slices.Index(typeNames(), name); i >= 0 {
		return 1 << i
	}
	return 0
}

// each returns the types one by one.
func (t types) each() []types {
	var out []types
	for i := range typeNames() {
		if one := types(1) << i; t&one != 0 {
			out = append(out, one)
		}
	}
	return out
}

func (t types) name() string {
	for i, name := range typeNames() {
		if t&(1<<i) != 0 {
			return name
		}
	}
	return ""
}

// meet returns the types that both allow; 0 of a or b: any.
func meet(a, b types) types {
	if a == 0 || b == 0 {
		return a | b
	}
	both := a & b
	if a&tNumber != 0 && b&tInteger != 0 || a&tInteger != 0 && b&tNumber != 0 {
		both |= tInteger
	}
	return both
}

// A node is a schema without references. Its parts may be shared by others: whoever
// changes a node owns a copy.
type node struct {
	never    bool // no value fits
	types    types
	listed   bool // the values are those of enum
	enum     []any
	props    []property
	at       map[string]int // of props; nil: not filled yet
	required []string
	closed   bool  // it has no other properties
	open     bool  // it says that it may have others
	more     *node // of the other properties
	items    *node
	tuple    []*node // of the first elements
	union    []*node // one of them fits too
	words    *object // the keywords that are plain
	remark   string  // what the description has to say of the root
}

type property struct {
	name string
	node *node
}

// copy returns a node that shares the parts, and may itself be changed.
func (n *node) copy() *node {
	c := *n
	c.enum, c.props, c.required, c.tuple, c.union = slices.Clone(n.enum), slices.Clone(n.props), slices.Clone(n.required), slices.Clone(n.tuple), slices.Clone(n.union)
	c.at = nil
	if n.words != nil {
		c.words = &object{slices.Clone(n.words.keys), maps.Clone(n.words.values)}
	}
	return &c
}

// prop returns the place of a property; -1: there is none.
func (n *node) prop(name string) int {
	if n.at == nil {
		n.at = make(map[string]int, len(n.props))
		for i, p := range n.props {
			n.at[p.name] = i
		}
	}
	if i, ok := n.at[name]; ok {
		return i
	}
	return -1
}

// add adds a property that the node does not have yet.
func (n *node) add(name string, sub *node) {
	n.prop(name) // fills at
	n.at[name] = len(n.props)
	n.props = append(n.props, property{name, sub})
}

func (n *node) word(name string) string {
	s, _ := n.words.get(name).(string)
	return s
}

func (n *node) setWord(name string, v any) {
	if n.words == nil {
		n.words = &object{}
	}
	n.words.set(name, v)
}

// hasObject reports whether the node says of what an object consists.
func (n *node) hasObject() bool {
	return len(n.props) > 0 || len(n.required) > 0 || n.closed || n.open || n.more != nil
}

// bounds reports whether a plain keyword narrows what fits.
func (n *node) bounds() bool {
	return n.words != nil && slices.ContainsFunc(n.words.keys, func(key string) bool { return !isNote(key) })
}

// isFree reports whether every value fits.
func (n *node) isFree() bool {
	return !n.never && n.types == 0 && !n.listed && !n.hasObject() && n.items == nil && n.tuple == nil && n.union == nil && !n.bounds()
}

// isNote reports whether a keyword only tells something about a value.
func isNote(key string) bool {
	return slices.Contains([]string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}, key)
}

// kindOf returns the type that a keyword bounds; 0: none, or every.
func kindOf(key string) types {
	switch key {
	case "minLength", "maxLength", "pattern", "format":
		return tString
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return tInteger | tNumber
	case "minItems", "maxItems", "uniqueItems":
		return tArray
	case "minProperties", "maxProperties":
		return tObject
	}
	return 0
}

// isPlain reports whether a keyword is copied as it is written.
func isPlain(key string) bool { return isNote(key) || kindOf(key) != 0 }

// fits reports whether a plain keyword may have this value.
func fits(key string, v any) bool {
	switch key {
	case "title", "description", "format", "pattern":
		_, ok := v.(string)
		return ok
	case "default":
		return true
	case "examples":
		_, ok := v.([]any)
		return ok
	case "deprecated", "readOnly", "writeOnly", "uniqueItems":
		_, ok := v.(bool)
		return ok
	}
	number, ok := v.(json.Number)
	if !ok {
		return false
	}
	f, err := strconv.ParseFloat(string(number), 64)
	switch {
	case err != nil || math.IsInf(f, 0):
		return false
	case key == "multipleOf":
		return f > 0
	case kindOf(key) == tInteger|tNumber:
		return true
	}
	_, err = strconv.ParseInt(string(number), 10, 64)
	return err == nil && f >= 0
}

// sentence adds a remark to a description.
func sentence(description, remark string) string {
	return strings.TrimSpace(description + " (" + remark + ")")
}
