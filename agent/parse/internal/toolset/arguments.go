package toolset

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/value"
)

// typeWords are what is in the place of values where a call's form is
// shown.
var typeWords = []string{"string", "str", "integer", "int", "number", "float", "boolean", "bool", "array", "list", "object", "dict", "any", "...", "…"}

// Arguments makes the object of arguments that a reading has for a tool. ok is
// false where the values cannot be given names.
func (i *Tool) Arguments(r Reading) (args value.Node, ok bool) {
	args = r.Args
	if s, isText := args.Text(); isText {
		args, ok = i.fromText(s)
		if !ok {
			return value.Node{}, false
		}
		r.Loose = true
	}
	switch args.Kind {
	case value.None, value.Null:
		return value.Node{Kind: value.Object}, true
	case value.Object:
		ok = true
		if r.Sole && !i.Fits(args.Keys) {
			args, ok = i.positional([]value.Node{args}, value.Node{})
		}
	case value.Array:
		if len(args.Items) == 1 && args.Items[0].Kind == value.Object && i.Fits(args.Items[0].Keys) && !r.Loose {
			args, ok = args.Items[0], true
		} else {
			args, ok = i.positional(args.Items, r.Named)
		}
	default:
		args, ok = i.positional([]value.Node{args}, value.Node{})
	}
	if !ok {
		return value.Node{}, false
	}
	return i.coerce(args, r.Loose), true
}

// fromText reads arguments that were given as text: stringified JSON, or the
// value of the only parameter there is.
func (i *Tool) fromText(s string) (value.Node, bool) {
	s = strings.TrimSpace(s)
	if n, ok := value.Parse(s); ok && n.Kind == value.Object && (i.Fits(n.Keys) || len(i.Params.Props) == 0) {
		return n, true
	}
	if n, ok := value.Keywords(s); ok && i.Fits(n.Keys) && !i.open {
		return n, true
	}
	if s == "" || s == "None" || s == "null" {
		return value.Node{Kind: value.Object}, true
	}
	name := ""
	switch {
	case len(i.Params.Props) == 1:
		name = i.Params.Props[0].name
	case len(i.Required) == 1:
		name = i.Required[0]
	default:
		return value.Node{}, false
	}
	return value.Node{Kind: value.Object, Keys: []string{name}, Items: []value.Node{{Kind: value.String, Value: unquote(s)}}}, true
}

func unquote(s string) string {
	if len(s) >= 2 && lex.IsQuote(s[0]) && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// positional gives unnamed values the names of the schema, in its order,
// leaving out the names already given.
func (i *Tool) positional(values []value.Node, named value.Node) (value.Node, bool) {
	args := value.Node{Kind: value.Object}
	next := 0
	for _, v := range values {
		for next < len(i.Params.Props) && slices.Contains(named.Keys, i.Params.Props[next].name) {
			next++
		}
		if next == len(i.Params.Props) {
			return value.Node{}, false
		}
		args.Keys = append(args.Keys, i.Params.Props[next].name)
		args.Items = append(args.Items, v)
		next++
	}
	args.Keys = append(args.Keys, named.Keys...)
	args.Items = append(args.Items, named.Items...)
	return args, true
}

// coerce gives the values of args the types that the schema asks for.
func (i *Tool) coerce(args value.Node, loose bool) value.Node {
	out := value.Node{Kind: value.Object}
	for k, key := range args.Keys {
		own, _ := i.key(key)
		if own != key && slices.Contains(args.Keys, own) {
			own = key
		}
		s, ok := i.Params.Prop(own)
		if !ok && i.Params.extra != nil {
			s = *i.Params.extra
		}
		if at := slices.Index(out.Keys, own); at >= 0 { // the last of two equal keys holds, as in JSON
			out.Items[at] = coerce(args.Items[k], s, loose)
			continue
		}
		out.Keys = append(out.Keys, own)
		out.Items = append(out.Items, coerce(args.Items[k], s, loose))
	}
	return out
}

// coerce reads text as the type that the schema asks for, where it forbids
// text. With loose, the value was written without quotes or types, so that a
// number may also be text.
func coerce(n value.Node, s Schema, loose bool) value.Node {
	switch n.Kind {
	case value.String, value.Bare:
		if s.is("string") && (n.Kind == value.String || !s.untyped()) {
			return value.Node{Kind: value.String, Value: n.Value}
		}
		return fromString(n, s, loose)
	case value.Number, value.Bool:
		if loose && s.is("string") && !s.untyped() && !s.is("number", "integer") && !s.is("boolean") {
			return value.Node{Kind: value.String, Value: n.Raw}
		}
	case value.Array:
		out := value.Node{Kind: value.Array, Items: make([]value.Node, 0, len(n.Items))}
		var item Schema
		if s.items != nil {
			item = *s.items
		}
		for _, v := range n.Items {
			out.Items = append(out.Items, coerce(v, item, loose))
		}
		return out
	case value.Object:
		out := value.Node{Kind: value.Object, Keys: n.Keys, Items: make([]value.Node, 0, len(n.Items))}
		for k, v := range n.Items {
			sub, ok := s.Prop(n.Keys[k])
			if !ok && s.extra != nil {
				sub = *s.extra
			}
			out.Items = append(out.Items, coerce(v, sub, loose))
		}
		return out
	}
	return n
}

// fromString reads a string where the schema forbids strings; what does not
// read as the wanted type stays text, for the schema check to refuse.
func fromString(n value.Node, s Schema, loose bool) value.Node {
	text := strings.TrimSpace(n.Value)
	str := value.Node{Kind: value.String, Value: n.Value}
	if s.untyped() {
		return str
	}
	if s.is("object", "array") && text != "" && (text[0] == '{' || text[0] == '[' || text[0] == '(') {
		if v, ok := value.Parse(text); ok && s.is(v.Kind.SchemaType()) {
			return coerce(v, s, loose)
		}
	}
	if s.is("number", "integer") {
		if loose && n.Kind == value.Bare {
			text = strings.TrimLeft(text, "$€£¥") // an amount without quotes
			if digits := strings.TrimLeft(text, "0"); digits != "" && lex.IsDigit(digits[0]) {
				text = digits // 07
			}
		}
		if num, ok := value.ParseNumber(text); ok && (s.is("number") || !strings.ContainsAny(num, ".eE")) {
			return value.Node{Kind: value.Number, Value: num, Raw: text}
		}
	}
	if s.is("boolean") {
		if low := strings.ToLower(text); low == "true" || low == "false" {
			return value.Node{Kind: value.Bool, Value: low, Raw: text}
		}
	}
	if s.is("null") {
		if low := strings.ToLower(text); low == "null" || low == "none" {
			return value.Node{Kind: value.Null}
		}
	}
	return str
}

// untyped reads text from a tag, which has no quotes: by the schema where it
// speaks, else as the constant or bracketed value that it looks like.
func untyped(text string, s Schema) value.Node {
	str := value.Node{Kind: value.String, Value: text}
	if !s.untyped() {
		return fromString(str, s, true)
	}
	trimmed := strings.TrimSpace(text)
	if n := value.Literal(trimmed); trimmed != "" && n.Kind != value.Bare {
		return n
	}
	if n, ok := value.Parse(trimmed); ok && trimmed[0] != '(' {
		return n
	}
	return str
}

// IsSignature reports whether a call only shows its form: every value is the
// name of a type, of a parameter, or a placeholder.
func (i *Tool) IsSignature(values []value.Node) bool {
	if len(values) == 0 {
		return false
	}
	for _, v := range values {
		s, ok := v.Text()
		if !ok || !i.isPlaceholder(s, v.Kind == value.Bare) {
			return false
		}
	}
	return true
}

// TakesVariable reports whether a positional value is the bare name of a
// parameter, as where a function is described.
func (i *Tool) TakesVariable(r Reading) bool {
	return r.Args.Kind == value.Array && slices.ContainsFunc(r.Args.Items, func(v value.Node) bool {
		_, own := i.Params.Prop(v.Value)
		return v.Kind == value.Bare && own
	})
}

// isPlaceholder reports whether s is in the place of a value: the name of a type, with a
// default or without, or, if bare, of a parameter.
func (i *Tool) isPlaceholder(s string, bare bool) bool {
	if i.isFiller(s) {
		return true
	}
	if typ, _, ok := strings.Cut(s, "="); ok && bare {
		s = strings.TrimSpace(typ)
	}
	if slices.Contains(typeWords, strings.ToLower(s)) {
		return true
	}
	_, own := i.Params.Prop(s)
	return bare && own
}

// Filled reports whether a value is text that only shows what goes there: <city> or
// your_city_here, and, amid text, your_city and [your city], which may be real names.
func (i *Tool) Filled(values []value.Node, amid bool) bool {
	return slices.ContainsFunc(values, func(v value.Node) bool {
		s, ok := v.Text()
		return ok && (i.isFiller(s) || amid && isLooseFiller(s))
	})
}

// isFiller reports whether s is <city> or your_city_here.
func (i *Tool) isFiller(s string) bool {
	if low := strings.ToLower(s); strings.HasPrefix(low, "your") && strings.HasSuffix(low, "here") && len(low) <= 40 {
		return true
	}
	n := len(s) - 1
	return n > 1 && s[0] == '<' && s[n] == '>' && slices.ContainsFunc(strings.FieldsFunc(s[1:n], func(r rune) bool { return strings.ContainsRune(" _->", r) }), func(w string) bool {
		_, own := i.Params.Prop(w)
		return own || w == "your" || w == "value" || slices.Contains(typeWords, w)
	})
}

// isLooseFiller reports whether s is your_city or [your city].
func isLooseFiller(s string) bool {
	low := strings.ToLower(s)
	return strings.HasPrefix(low, "your_") || len(low) > 2 && strings.HasPrefix(low[1:], "your ") && strings.ContainsRune("[{<(", rune(low[0])) && strings.ContainsRune("]}>)", rune(low[len(low)-1]))
}
