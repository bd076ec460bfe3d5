package parse

import (
	"slices"
	"strings"
)

// typeWords are what stands in the place of values where a call's form is
// shown.
var typeWords = []string{"string", "str", "integer", "int", "number", "float", "boolean", "bool", "array", "list", "object", "dict", "any", "...", "…"}

// arguments makes the object of arguments that a reading has for a tool. ok is
// false where the values cannot be given names.
func (i *toolInfo) arguments(r reading) (args node, ok bool) {
	args = r.args
	if s, isText := args.text(); isText {
		args, ok = i.fromText(s)
		if !ok {
			return node{}, false
		}
		r.loose = true
	}
	switch args.kind {
	case kindNone, kindNull:
		return node{kind: kindObject}, true
	case kindObject:
		if r.sole && !i.fits(args.keys) {
			args, ok = i.positional([]node{args}, node{})
			if !ok {
				return node{}, false
			}
		}
	case kindArray:
		if len(args.items) == 1 && args.items[0].kind == kindObject && i.fits(args.items[0].keys) && !r.loose {
			args = args.items[0]
			break
		}
		args, ok = i.positional(args.items, r.named)
		if !ok {
			return node{}, false
		}
	default:
		args, ok = i.positional([]node{args}, node{})
		if !ok {
			return node{}, false
		}
	}
	return i.coerce(args, r.loose), true
}

// fromText reads arguments that were given as text: stringified JSON, or the
// value of the only parameter there is.
func (i *toolInfo) fromText(s string) (node, bool) {
	s = strings.TrimSpace(s)
	if n, ok := readValue(s); ok && n.kind == kindObject && (i.fits(n.keys) || len(i.params.props) == 0) {
		return n, true
	}
	if s == "" || s == "None" || s == "null" {
		return node{kind: kindObject}, true
	}
	name := ""
	switch {
	case len(i.params.props) == 1:
		name = i.params.props[0].name
	case len(i.required) == 1:
		name = i.required[0]
	default:
		return node{}, false
	}
	return node{kind: kindObject, keys: []string{name}, items: []node{{kind: kindString, s: unquote(s)}}}, true
}

func unquote(s string) string {
	if len(s) >= 2 && isQuote(s[0]) && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// positional gives unnamed values the names of the schema, in its order,
// leaving out the names already given.
func (i *toolInfo) positional(values []node, named node) (node, bool) {
	args := node{kind: kindObject}
	next := 0
	for _, v := range values {
		for next < len(i.params.props) && slices.Contains(named.keys, i.params.props[next].name) {
			next++
		}
		if next == len(i.params.props) {
			return node{}, false
		}
		args.keys = append(args.keys, i.params.props[next].name)
		args.items = append(args.items, v)
		next++
	}
	args.keys = append(args.keys, named.keys...)
	args.items = append(args.items, named.items...)
	return args, true
}

// coerce gives the values of args the types that the schema asks for.
func (i *toolInfo) coerce(args node, loose bool) node {
	out := node{kind: kindObject}
	for k, key := range args.keys {
		own, _ := i.key(key)
		if own != key && slices.Contains(args.keys, own) {
			own = key
		}
		s, ok := i.params.prop(own)
		if !ok && i.params.extra != nil {
			s = *i.params.extra
		}
		if at := slices.Index(out.keys, own); at >= 0 { // the last of two equal keys holds, as in JSON
			out.items[at] = coerce(args.items[k], s, loose)
			continue
		}
		out.keys = append(out.keys, own)
		out.items = append(out.items, coerce(args.items[k], s, loose))
	}
	return out
}

// coerce reads text as the type that the schema asks for, where it forbids
// text. With loose, the value was written without quotes or types, so that a
// number may also be text.
func coerce(n node, s schema, loose bool) node {
	switch n.kind {
	case kindString, kindBare:
		if s.is("string") && (n.kind == kindString || !s.untyped()) {
			return node{kind: kindString, s: n.s}
		}
		return fromString(n, s, loose)
	case kindNumber, kindBool:
		if loose && s.is("string") && !s.untyped() && !s.is("number", "integer") && !s.is("boolean") {
			return node{kind: kindString, s: n.raw}
		}
	case kindArray:
		out := node{kind: kindArray, items: make([]node, 0, len(n.items))}
		var item schema
		if s.items != nil {
			item = *s.items
		}
		for _, v := range n.items {
			out.items = append(out.items, coerce(v, item, loose))
		}
		return out
	case kindObject:
		out := node{kind: kindObject, keys: n.keys, items: make([]node, 0, len(n.items))}
		for k, v := range n.items {
			sub, ok := s.prop(n.keys[k])
			if !ok && s.extra != nil {
				sub = *s.extra
			}
			out.items = append(out.items, coerce(v, sub, loose))
		}
		return out
	}
	return n
}

// fromString reads a string where the schema forbids strings; what does not
// read as the wanted type stays text, for the schema check to refuse.
func fromString(n node, s schema, loose bool) node {
	text := strings.TrimSpace(n.s)
	str := node{kind: kindString, s: n.s}
	if s.untyped() {
		return str
	}
	if s.is("object", "array") && text != "" && (text[0] == '{' || text[0] == '[' || text[0] == '(') {
		if v, ok := readValue(text); ok && s.is(v.kind.schemaType()) {
			return coerce(v, s, loose)
		}
	}
	if s.is("number", "integer") {
		if num, ok := number(text); ok && (s.is("number") || !strings.ContainsAny(num, ".eE")) {
			return node{kind: kindNumber, s: num, raw: text}
		}
	}
	if s.is("boolean") {
		if low := strings.ToLower(text); low == "true" || low == "false" {
			return node{kind: kindBool, s: low, raw: text}
		}
	}
	if s.is("null") {
		if low := strings.ToLower(text); low == "null" || low == "none" {
			return node{kind: kindNull}
		}
	}
	return str
}

// untyped reads text from a tag, which has no quotes: by the schema where it
// speaks, else as the constant or bracketed value that it looks like.
func untyped(text string, s schema) node {
	str := node{kind: kindString, s: text}
	if !s.untyped() {
		if s.is("string") && !s.is("object") && !s.is("array") {
			return str
		}
		return fromString(str, s, true)
	}
	trimmed := strings.TrimSpace(text)
	if n := literal(trimmed); trimmed != "" && n.kind != kindBare {
		return n
	}
	if n, ok := readValue(trimmed); ok && trimmed[0] != '(' {
		return n
	}
	return str
}

// isSignature reports whether a call only shows its form: every value is the
// name of a type, of a parameter, or a placeholder.
func (i *toolInfo) isSignature(values []node) bool {
	if len(values) == 0 {
		return false
	}
	for _, v := range values {
		s, ok := v.text()
		if !ok || !i.isPlaceholder(s, v.kind == kindBare) {
			return false
		}
	}
	return true
}

// takesVariable reports whether a positional value is the bare name of a
// parameter, as where a function is described.
func (i *toolInfo) takesVariable(r reading) bool {
	return r.args.kind == kindArray && slices.ContainsFunc(r.args.items, func(v node) bool {
		_, own := i.params.prop(v.s)
		return v.kind == kindBare && own
	})
}

func (i *toolInfo) isPlaceholder(s string, bare bool) bool {
	if inner, ok := strings.CutPrefix(s, "<"); ok && strings.HasSuffix(s, ">") {
		return slices.ContainsFunc(strings.FieldsFunc(inner, func(r rune) bool { return strings.ContainsRune(" _->", r) }), func(w string) bool {
			_, own := i.params.prop(w)
			return own || w == "your" || w == "value" || slices.Contains(typeWords, w)
		})
	}
	if slices.Contains(typeWords, strings.ToLower(s)) {
		return true
	}
	_, own := i.params.prop(s)
	return bare && own
}
