package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// LeftOut counts what Shorten left out of a value. What is inside of an item or a member
// that is left out is not counted again.
type LeftOut struct {
	Items   int `json:"items,omitempty"`
	Chars   int `json:"characters,omitempty"`
	Members int `json:"members,omitempty"`
}

// Zero reports whether nothing was left out.
func (l LeftOut) Zero() bool { return l == LeftOut{} }

// Decode returns a JSON value as Shorten and Fits take it, with numbers as they are written.
func Decode(text json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// Shorten returns v as at most n characters of JSON that fit the schema, and what it left
// out: items from the end of arrays, then the ends of strings, then optional members. Strings
// with a format, a pattern, an enum or a const stay whole, and so do lists and objects with an
// enum or a const. Nothing is added and v is not modified. ok is false if that is impossible.
// If s is nil, every value fits.
func (s *Schema) Shorten(v any, n int) (out any, left LeftOut, ok bool) {
	defer func() {
		if recover() != nil { // a panic of the library ends this attempt alone
			out, left, ok = nil, LeftOut{}, false
		}
	}()
	var root []*jsonschema.Schema
	if s != nil {
		marked := compileMarked(s.params)
		if marked == nil || !s.Fits(v) {
			return nil, left, false
		}
		root = []*jsonschema.Schema{marked}
	}
	tree := newShortener().node(v, applicable(root), 0)
	if tree == nil {
		return nil, left, false
	}
	for _, try := range tries {
		c, found := try.find(tree, n)
		if !found {
			continue
		}
		out, left = c.cut(tree)
		return out, left, s == nil || s.Fits(out)
	}
	return nil, left, false
}

// compileMarked compiles a schema that Compile has accepted, in which strings with a format,
// of whatever name, have a pattern, too: the library does not say what it does not check.
// It returns nil if that fails.
func compileMarked(params json.RawMessage) *jsonschema.Schema {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return nil
	}
	mark(root)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(boundedRegexp)
	if c.AddResource(schemaURL, root) != nil {
		return nil
	}
	s, err := c.Compile(schemaURL)
	if err != nil {
		return nil
	}
	return s
}

// mark adds a pattern that every string matches to what has a format. What is no schema, such
// as a default, may be changed: nothing is checked by it.
func mark(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"format", "contentEncoding", "contentMediaType"} {
			if _, is := v[key].(string); is && v["pattern"] == nil {
				v["pattern"] = ""
			}
		}
		for _, sub := range v {
			mark(sub)
		}
	case []any:
		for _, sub := range v {
			mark(sub)
		}
	}
}

// maxNodes bounds the values that are looked at, and maxApply the subschemas of one value.
const (
	maxNodes = 300_000
	maxApply = 64
)

// A node is a value with what may be left out of it.
type node struct {
	value any
	fixed bool // it stays whole
	least int  // items, or characters of a string, that stay
	items []*node
	keys  []string // in order
	must  []bool   // of keys
	size  int      // characters of JSON, whole
}

type shortener struct{ nodes int }

func newShortener() *shortener { return new(shortener) }

// node returns the tree of a value; nil: it is too large or too deep.
func (b *shortener) node(v any, all []*jsonschema.Schema, depth int) *node {
	if b.nodes++; b.nodes > maxNodes || depth > maxDepth {
		return nil
	}
	n := &node{value: v, fixed: whole(all, v)}
	switch v := v.(type) {
	case []any:
		n.size = max(len(v)+1, 2)
		unique := false
		for _, s := range all {
			unique = unique || s.UniqueItems
			if s.MinItems != nil {
				n.least = max(n.least, *s.MinItems)
			}
		}
		for i, item := range v {
			sub := b.node(item, applicable(ofItem(all, i)), depth+1)
			if sub == nil {
				return nil
			}
			sub.fixed = sub.fixed || unique // two items that are cut could become one
			n.items, n.size = append(n.items, sub), n.size+sub.size
		}
	case map[string]any:
		n.size = max(len(v)+1, 2)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			sub := b.node(v[key], applicable(ofMember(all, key)), depth+1)
			if sub == nil {
				return nil
			}
			n.keys, n.items = append(n.keys, key), append(n.items, sub)
			n.must = append(n.must, slices.ContainsFunc(all, func(s *jsonschema.Schema) bool { return slices.Contains(s.Required, key) }))
			n.size += chars(key) + 1 + sub.size
		}
	case string:
		n.size = chars(v)
		for _, s := range all {
			if s.MinLength != nil {
				n.least = max(n.least, *s.MinLength)
			}
		}
	default:
		n.size = chars(v)
	}
	return n
}

// chars returns the characters of a scalar's JSON.
func chars(v any) int { return utf8.RuneCount(Encode(v)) }

// Encode returns the JSON of a value, without what encoding/json escapes for web pages.
func Encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // it was JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// whole reports whether a value has to stay as it is.
func whole(all []*jsonschema.Schema, v any) bool {
	_, isText := v.(string)
	return slices.ContainsFunc(all, func(s *jsonschema.Schema) bool {
		return s.Enum != nil || s.Const != nil || isText && s.Pattern != nil
	})
}

// applicable returns schemas with all that may apply to the same value: those that they
// refer to, and all alternatives.
func applicable(all []*jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	todo := slices.Clone(all)
	for len(todo) > 0 && len(out) < maxApply {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s == nil || slices.Contains(out, s) {
			continue
		}
		out = append(out, s)
		todo = append(todo, s.Ref, s.RecursiveRef, s.If, s.Then, s.Else, s.Not)
		if s.DynamicRef != nil {
			todo = append(todo, s.DynamicRef.Ref)
		}
		todo = slices.Concat(todo, s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.DependentSchemas)))
	}
	return out
}

// ofItem returns the schemas of an item.
func ofItem(all []*jsonschema.Schema, i int) (out []*jsonschema.Schema) {
	for _, s := range all {
		out = append(out, s.Items2020, s.Contains, s.UnevaluatedItems)
		if i < len(s.PrefixItems) {
			out = append(out, s.PrefixItems[i])
		}
		for _, either := range []any{s.Items, s.AdditionalItems} {
			switch sub := either.(type) {
			case *jsonschema.Schema:
				out = append(out, sub)
			case []*jsonschema.Schema:
				if i < len(sub) {
					out = append(out, sub[i])
				}
			}
		}
	}
	return out
}

// ofMember returns the schemas of a member.
func ofMember(all []*jsonschema.Schema, key string) (out []*jsonschema.Schema) {
	for _, s := range all {
		out = append(out, s.Properties[key], s.UnevaluatedProperties)
		for pattern, sub := range s.PatternProperties {
			if pattern.MatchString(key) {
				out = append(out, sub)
			}
		}
		if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
			out = append(out, sub)
		}
	}
	return out
}

// A cutter leaves out all items after the first items of each array, all after the first
// text characters of each string, and optional members that are longer than member characters.
type cutter struct{ items, text, member int }

const unbounded = 1 << 40

// A try is a range of cutters: items, then text, then members become fewer, each down to its
// least.
type try struct {
	from, to cutter
}

// tries are in the order in which a reader misses least.
var tries = []try{
	{cutter{unbounded, unbounded, unbounded}, cutter{10, unbounded, unbounded}},
	{cutter{10, unbounded, unbounded}, cutter{10, 200, unbounded}},
	{cutter{10, 200, unbounded}, cutter{3, 200, unbounded}},
	{cutter{3, 200, unbounded}, cutter{3, 40, unbounded}},
	{cutter{3, 40, unbounded}, cutter{1, 40, unbounded}},
	{cutter{1, 40, unbounded}, cutter{1, 40, 40}},
	{cutter{1, 40, 40}, cutter{0, 0, 40}},
	{cutter{0, 0, 40}, cutter{0, 0, 0}},
}

// find returns the cutter between both ends that leaves the most within n characters.
func (t try) find(tree *node, n int) (cutter, bool) {
	if t.to.size(tree) > n {
		return cutter{}, false
	}
	low, high := 0, 1024 // steps from the one that fits to the other
	for low < high {
		mid := (low + high + 1) / 2
		if t.at(mid, tree.size).size(tree) <= n {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return t.at(low, tree.size), true
}

// at returns the cutter step 1/1024ths of the way from to towards from. No count is above
// most, the size of the value.
func (t try) at(step, most int) cutter {
	between := func(to, from int) int {
		to, from = min(to, most), min(from, most)
		return to + (from-to)*step*step/(1024*1024) // finer where little is left
	}
	return cutter{between(t.to.items, t.from.items), between(t.to.text, t.from.text), between(t.to.member, t.from.member)}
}

// size returns the characters of JSON of what is left.
func (c cutter) size(n *node) int {
	switch v := n.value.(type) {
	case []any:
		if n.fixed {
			return n.size
		}
		k := c.kept(n)
		size := max(k+1, 2)
		for _, item := range n.items[:k] {
			size += c.size(item)
		}
		return size
	case map[string]any:
		if n.fixed {
			return n.size
		}
		size, kept := 2, 0
		for i, item := range n.items {
			if sub := c.size(item); c.keeps(n, i, sub) {
				size += chars(n.keys[i]) + 1 + sub
				kept++
			}
		}
		return size + max(kept-1, 0)
	case string:
		if n.fixed || n.size-2 <= c.text {
			return n.size
		}
		return chars(v[:c.end(n, v)])
	}
	return n.size
}

// kept returns how many items of an array stay.
func (c cutter) kept(n *node) int { return min(len(n.items), max(c.items, n.least)) }

// keeps reports whether a member stays that is cut to size characters.
func (c cutter) keeps(n *node, i, size int) bool { return n.must[i] || size <= max(c.member, 0) }

// end returns where a string is cut.
func (c cutter) end(n *node, s string) int {
	count, most := 0, max(c.text, n.least)
	for i := range s {
		if count == most {
			return i
		}
		count++
	}
	return len(s)
}

// cut returns what is left of a value.
func (c cutter) cut(n *node) (out any, left LeftOut) {
	add := func(sub LeftOut) {
		left = LeftOut{left.Items + sub.Items, left.Chars + sub.Chars, left.Members + sub.Members}
	}
	switch v := n.value.(type) {
	case []any:
		if n.fixed {
			return v, left
		}
		list := make([]any, 0, c.kept(n))
		for _, item := range n.items[:c.kept(n)] {
			one, sub := c.cut(item)
			list = append(list, one)
			add(sub)
		}
		add(LeftOut{Items: len(v) - len(list)})
		return list, left
	case map[string]any:
		if n.fixed {
			return v, left
		}
		object := map[string]any{}
		for i, item := range n.items {
			if !c.keeps(n, i, c.size(item)) {
				add(LeftOut{Members: 1})
				continue
			}
			one, sub := c.cut(item)
			object[n.keys[i]] = one
			add(sub)
		}
		return object, left
	case string:
		if n.fixed {
			return v, left
		}
		short := v[:c.end(n, v)]
		return short, LeftOut{Chars: utf8.RuneCountInString(v) - utf8.RuneCountInString(short)}
	}
	return n.value, left
}
