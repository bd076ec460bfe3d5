package toolschema

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// join narrows a node, which the caller owns, to what another one fits too. Where both say
// different things about a keyword, either alone admits all that both do.
func (r *reader) join(a, b *node) {
	if !r.spend(8 * (1 + len(b.props) + len(b.enum) + len(b.required) + len(b.union) + len(b.tuple))) {
		return
	}
	a.never = a.never || b.never
	if both := meet(a.types, b.types); both != 0 {
		a.types = both
	}
	switch {
	case !a.listed:
		a.enum, a.listed = b.enum, b.listed
	case b.listed:
		if both := slices.DeleteFunc(slices.Clone(a.enum), func(v any) bool { return !holds(b.enum, v) }); r.spend(len(a.enum)*len(b.enum)) && len(both) > 0 {
			a.enum = both
		}
	}
	for _, p := range b.props {
		i := a.prop(p.name)
		if i < 0 {
			a.add(p.name, p.node)
			continue
		}
		sub := a.props[i].node.copy()
		r.spend(8 * (1 + len(sub.props)))
		r.join(sub, p.node)
		r.settle(sub, false)
		a.props[i].node = sub
	}
	for _, name := range b.required {
		if !slices.Contains(a.required, name) && r.spend(len(a.required)) {
			a.required = append(a.required, name)
		}
	}
	a.closed, a.open = a.closed || b.closed, a.open || b.open
	a.more = first(a.more, b.more)
	if a.items != nil && b.items != nil {
		a.items = a.items.copy()
		r.join(a.items, b.items)
		r.settle(a.items, false)
	}
	a.items = first(a.items, b.items)
	if a.tuple == nil {
		a.tuple = b.tuple
	}
	if a.union == nil {
		a.union = b.union
	}
	if b.words != nil {
		for _, key := range b.words.keys {
			if a.words.get(key) == nil {
				a.setWord(key, b.words.values[key])
			}
		}
	}
}

func first(a, b *node) *node {
	if a != nil {
		return a
	}
	return b
}

func holds(list []any, v any) bool {
	return slices.ContainsFunc(list, func(e any) bool { return same(e, v, false) })
}

// allowNull adds null to what fits.
func (n *node) allowNull() {
	if n.types != 0 {
		n.types |= tNull
	}
	if n.listed && !holds(n.enum, nil) {
		n.enum = append(slices.Clip(n.enum), nil)
	}
	if n.union != nil {
		n.union = append(slices.Clip(n.union), &node{types: tNull})
	}
}

// settle makes the alternatives of a node its only ones: each says all of what it fits,
// and the node itself only tells about them; or there are none, and the node has what any
// of them has. At the root there are none.
func (r *reader) settle(n *node, root bool) {
	if n.union == nil {
		return
	}
	all := r.flatten(n)
	switch {
	case len(all) == 0 || slices.ContainsFunc(all, (*node).isFree):
		n.union = nil
	case len(all) == 1:
		n.union = nil
		r.join(n, all[0])
		r.settle(n, root)
	case root || n.hasObject() && !slices.ContainsFunc(all, func(b *node) bool { return meet(meet(n.types, b.types), tObject) == 0 }):
		n.union = nil
		if remark := r.fold(n, all); root {
			n.remark = remark
		} else if remark != "" {
			n.setWord("description", sentence(n.word("description"), remark))
		}
	default:
		r.push(n, all)
	}
}

// flatten returns the alternatives of a node that can fit, with those of alternatives that
// have nothing else in place of these.
func (r *reader) flatten(n *node) []*node {
	var out []*node
	for _, b := range n.union {
		switch {
		case b.never || n.types != 0 && b.types != 0 && meet(n.types, b.types) == 0:
		case b.union != nil && r.spend(8*len(b.union)): // settled: it has nothing else
			out = append(out, b.union...)
		default:
			out = append(out, b)
		}
	}
	return out
}

// push moves what a node says of its values into each of the alternatives.
func (r *reader) push(n *node, all []*node) {
	told := n.copy()
	told.union, told.words = nil, nil
	kept := &object{}
	if n.words != nil {
		for _, key := range n.words.keys {
			if isNote(key) {
				kept.set(key, n.words.values[key])
			} else {
				told.setWord(key, n.words.values[key])
			}
		}
	}
	*n = node{words: kept}
	for _, b := range all {
		if !told.isFree() {
			b = b.copy()
			r.spend(8 * len(b.props))
			r.join(b, told)
		}
		n.union = append(n.union, b)
	}
}

// fold gives an object the properties that any of its alternatives has. It returns what is
// needed together; empty: nothing.
func (r *reader) fold(n *node, all []*node) string {
	all = slices.DeleteFunc(all, func(b *node) bool { return meet(b.types, tObject) == 0 })
	n.types = tObject
	if len(all) == 0 {
		return ""
	}
	found := &object{} // name → the nodes that alternatives have for it
	closed := true
	common := slices.Clone(all[0].required)
	for _, b := range all {
		for _, p := range b.props {
			if !r.spend(16) {
				return ""
			}
			list, _ := found.get(p.name).([]*node)
			found.set(p.name, append(list, p.node))
		}
		for _, name := range b.required { // which it may leave undescribed
			if b.prop(name) < 0 {
				list, _ := found.get(name).([]*node)
				found.set(name, append(list, &node{}))
			}
		}
		closed = closed && b.closed
		r.spend(len(common) * len(b.required))
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(b.required, name) })
	}
	for _, name := range found.keys {
		r.foldProperty(n, name, found.values[name].([]*node), len(all))
	}
	n.closed = n.closed || closed
	for _, name := range common {
		if !slices.Contains(n.required, name) {
			n.required = append(n.required, name)
		}
	}
	return needs(n.required, all, r.locale)
}

// foldProperty gives an object a property that some of its alternatives have.
func (r *reader) foldProperty(n *node, name string, subs []*node, alternatives int) {
	one := r.either(subs)
	i := n.prop(name)
	switch {
	case one.never:
	case i < 0:
		n.add(name, one)
	case len(subs) == alternatives: // each narrows what the object itself says
		sub := n.props[i].node.copy()
		r.join(sub, one)
		r.settle(sub, false)
		n.props[i].node = sub
	}
}

// either returns a node that fits what one of several does.
func (r *reader) either(subs []*node) *node {
	var out []*node
	seen := map[string]bool{}
	for _, s := range subs {
		text := r.text(s)
		if seen[text] {
			continue
		}
		seen[text] = true
		if last := len(out) - 1; last >= 0 && out[last].listsOnly() && s.listsOnly() && out[last].types == s.types {
			both := out[last].copy()
			for _, v := range s.enum {
				if r.spend(len(both.enum)) && !holds(both.enum, v) {
					both.enum = append(both.enum, v)
				}
			}
			out[last] = both
			continue
		}
		out = append(out, s)
	}
	if len(out) == 1 {
		return out[0]
	}
	n := &node{union: out}
	r.settle(n, false)
	return n
}

// listsOnly reports whether a node is a list of values.
func (n *node) listsOnly() bool {
	return n.listed && !n.hasObject() && n.items == nil && n.tuple == nil && n.union == nil && !n.bounds()
}

// text returns a node as text: nodes with the same one fit the same.
func (r *reader) text(n *node) string {
	w := &writer{Rules: Rules{keywords: isPlain, formats: anyFormat, lists: true, others: true}, left: r.left}
	o := w.schema(n)
	r.left = w.left
	return string(encode(o))
}

// anyFormat takes every format: a text for comparing is for no provider.
func anyFormat(string, string) bool { return true }

// maxRemark bounds what a description says of alternatives, in bytes.
const maxRemark = 300

// needs says which names the alternatives need, beside those that are always needed;
// empty: one of them needs no other.
func needs(always []string, all []*node, l tool.Locale) string {
	var sets []string
	for _, b := range all {
		names := slices.DeleteFunc(slices.Clone(b.required), func(name string) bool { return slices.Contains(always, name) })
		if len(names) == 0 {
			return ""
		}
		if set := strings.Join(names, " + "); !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	remark := say(l, "one of these is needed: ", "须提供其中之一：") + strings.Join(sets, ", ")
	if len(remark) > maxRemark {
		return ""
	}
	return remark
}
