package toolschema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A writer writes nodes by the rules of a provider.
type writer struct {
	Rules
	locale tool.Locale
	left   int // bytes, about, that may still be written; negative: they were too many
}

// schema returns a node as a schema.
func (w *writer) schema(n *node) *object {
	if w.left -= 8; w.left < 0 {
		return &object{}
	}
	t, null := w.typesOf(n), false
	if t&tNumber != 0 {
		t &^= tInteger
	}
	if w.nullable && t&tNull != 0 {
		if t, null = t&^tNull, true; t == 0 {
			t = tString
		}
	}
	switch {
	case n.union != nil:
		return w.alternatives(n, n.union)
	case t == 0 && w.typed:
		return w.alternatives(n, w.anything())
	case t != 0 && len(t.each()) > 1 && !w.lists:
		return w.alternatives(n, n.split(t, null))
	}
	return w.single(n, t, null)
}

// typesOf returns the types of a node; where the rules want them, also those that it does
// not say, by what it says of its values. 0: any.
func (w *writer) typesOf(n *node) types {
	t := n.types
	switch {
	case t != 0 || !w.typed || n.union != nil:
	case n.listed:
		for _, v := range n.enum {
			t |= typeOfValue(v)
		}
	case n.hasObject():
		t = tObject
	case n.items != nil || n.tuple != nil:
		t = tArray
	case n.words != nil:
		for _, key := range n.words.keys {
			t |= kindOf(key)
		}
	}
	return t
}

func typeOfValue(v any) types {
	switch v := v.(type) {
	case string:
		return tString
	case bool:
		return tBoolean
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return tNumber
		}
		return tInteger
	case []any:
		return tArray
	case *object:
		return tObject
	}
	return tNull
}

// ofType returns the values that have one of the types.
func ofType(values []any, t types) []any {
	if t&(tInteger|tNumber) != 0 {
		t |= tInteger | tNumber
	}
	return slices.DeleteFunc(slices.Clone(values), func(v any) bool { return typeOfValue(v)&t == 0 })
}

// split returns a node as alternatives of one type each, without its notes.
func (n *node) split(t types, null bool) []*node {
	var out []*node
	for _, one := range t.each() {
		c := &node{types: one}
		if n.listed {
			if c.enum, c.listed = ofType(n.enum, one), true; len(c.enum) == 0 {
				continue
			}
		}
		if n.words != nil {
			for _, key := range n.words.keys {
				if kindOf(key)&one != 0 {
					c.setWord(key, n.words.values[key])
				}
			}
		}
		switch one {
		case tObject:
			c.props, c.required, c.closed, c.open, c.more = n.props, n.required, n.closed, n.open, n.more
		case tArray:
			c.items, c.tuple = n.items, n.tuple
		case tNull:
			c.enum, c.listed = nil, false
		}
		if null {
			c.types |= tNull
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		out = append(out, &node{types: tString})
	}
	return out
}

// anything returns the alternatives that fit every value.
func (w *writer) anything() []*node {
	return []*node{{types: tString}, {types: tNumber}, {types: tBoolean}, {types: tObject}, {types: tArray}, {types: tNull}}
}

// alternatives writes a node that is one of several.
func (w *writer) alternatives(n *node, all []*node) *object {
	null := false
	if w.nullable {
		others := slices.DeleteFunc(slices.Clone(all), func(b *node) bool { return b.types == tNull })
		if null = len(others) < len(all); len(others) > 0 {
			all = others
		}
	}
	var list []any
	for _, b := range all {
		o := w.schema(b)
		if inner, ok := o.get("anyOf").([]any); ok {
			list = append(list, inner...)
			continue
		}
		list = append(list, o)
	}
	if null {
		list[0].(*object).set("nullable", true)
	}
	out := &object{}
	w.words(out, n, 0, true)
	switch {
	case len(list) == 1:
		for _, key := range list[0].(*object).keys {
			if key != "description" || !out.has(key) {
				out.set(key, list[0].(*object).values[key])
			}
		}
		return out
	case w.lone:
		if text, ok := out.get("description").(string); ok {
			for _, o := range list {
				o := o.(*object)
				own, _ := o.get("description").(string)
				if w.left -= len(text); own != text {
					o.set("description", strings.TrimSpace(text+" "+own))
				}
			}
		}
		out = &object{}
	}
	out.set("anyOf", list)
	return out
}

// single writes a node of one type, or of a list of types where the rules allow that.
func (w *writer) single(n *node, t types, null bool) *object {
	out := &object{}
	switch all := t.each(); len(all) {
	case 0:
	case 1:
		out.set("type", t.name())
	default:
		list := make([]any, len(all))
		for i, one := range all {
			list[i] = one.name()
		}
		out.set("type", list)
	}
	if null {
		out.set("nullable", true)
	}
	w.words(out, n, t, false)
	if n.listed {
		w.enum(out, n.enum, t, null)
	}
	if t&tArray != 0 || t == 0 && (n.items != nil || n.tuple != nil) {
		out.set("items", w.elements(n))
	}
	if t&tObject != 0 || t == 0 && n.hasObject() {
		w.object(out, n)
	}
	return out
}

// words writes the plain keywords that belong to the types, 0: to any, or only those that
// are notes. What the provider does not take is told in the description.
func (w *writer) words(out *object, n *node, t types, notes bool) {
	if n.words == nil {
		return
	}
	var told []string
	for _, key := range n.words.keys {
		v := n.words.values[key]
		text, _ := v.(string)
		kind := kindOf(key)
		w.left -= len(key) + size(v)
		switch {
		case kind != 0 && (notes || t != 0 && kind&t == 0):
		case key == "pattern" && w.patterns != nil && !w.patterns(text):
			told = append(told, say(w.locale, "pattern: ", "正则表达式：")+text)
		case key == "format" && !w.formats(t.name(), text):
			told = append(told, say(w.locale, "format: ", "格式：")+text)
		case w.keywords(key):
			out.set(key, v)
		}
	}
	for _, text := range told {
		w.tell(out, text)
	}
}

func say(l tool.Locale, en, zh string) string {
	if l == tool.Zh {
		return zh
	}
	return en
}

// tell adds a remark to the description of a schema.
func (w *writer) tell(out *object, remark string) {
	if len(remark) > maxRemark {
		return
	}
	w.left -= len(remark)
	text, _ := out.get("description").(string)
	out.set("description", sentence(text, remark))
}

// enum writes the values that fit.
func (w *writer) enum(out *object, values []any, t types, null bool) {
	if t != 0 {
		values = ofType(values, t)
	}
	if len(values) == 0 {
		return
	}
	w.left -= size(values)
	refused := func(v any) bool { s, ok := v.(string); return !ok || s == "" }
	if w.texts && (t != tString || slices.ContainsFunc(values, refused)) {
		var list []string
		for _, v := range values {
			list = append(list, string(encode(v)))
		}
		w.tell(out, say(w.locale, "one of: ", "取值之一：")+strings.Join(list, ", "))
		return
	}
	out.set("enum", values)
}

// elements returns the schema of a list's elements.
func (w *writer) elements(n *node) *object {
	all := slices.Clone(n.tuple)
	if n.items != nil {
		all = append(all, n.items)
	}
	switch {
	case slices.ContainsFunc(all, (*node).isFree) || len(all) == 0:
		return w.element()
	case len(all) == 1:
		return w.schema(all[0])
	}
	rd := &reader{left: w.left}
	one := rd.either(all)
	w.left = rd.left
	return w.schema(one)
}

// element returns the schema of elements of which nothing is known.
func (w *writer) element() *object {
	if !w.nullable {
		return &object{}
	}
	out := &object{} // which the provider wants to have a type, and so without an end
	out.set("anyOf", []any{
		w.single(&node{}, tString, false), w.single(&node{}, tNumber, false), w.single(&node{}, tBoolean, false), w.single(&node{}, tObject, false),
	})
	return out
}

// object writes of what an object consists.
func (w *writer) object(out *object, n *node) {
	props := &object{}
	for _, p := range n.props {
		w.left -= len(p.name)
		props.set(p.name, w.schema(p.node))
	}
	var required []any
	for _, name := range n.required {
		if !props.has(name) {
			props.set(name, w.schema(first(n.more, &node{})))
		}
		required = append(required, name)
	}
	if len(props.keys) > 0 || w.filled {
		out.set("properties", props)
	}
	if len(required) > 0 {
		out.set("required", required)
	}
	switch {
	case !w.others:
	case n.closed:
		out.set("additionalProperties", false)
	case n.more != nil:
		out.set("additionalProperties", w.schema(n.more))
	case n.open:
		out.set("additionalProperties", true)
	}
}
