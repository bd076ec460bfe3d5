package toolschema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

const (
	// maxLevels bounds the levels of a node, with the references that were followed.
	maxLevels = 40
	// maxSame is how often a schema that leads back to itself is followed within itself.
	maxSame = 2
)

// A reader reads the schema of one tool.
type reader struct {
	root    any
	locale  tool.Locale
	refs    int            // how many references are followed within one another
	left    int            // bytes, about, that may still be read; negative: they were too many
	follows []any          // the schemas whose references are being followed
	anchors map[string]any // nil: not looked for yet
}

// spend counts work. It returns false if there was too much of it.
func (r *reader) spend(n int) bool {
	r.left -= n
	return r.left >= 0
}

// read returns the node of a schema. What is no schema stands for one that fits everything.
func (r *reader) read(v any, level int) *node {
	n := &node{}
	o, ok := v.(*object)
	if !ok {
		n.never = v == false
		return n
	}
	if !r.spend(8+8*len(o.keys)) || level > maxLevels {
		return n
	}
	var others []any // schemas that fit too
	for _, key := range o.keys {
		if more := r.keyword(n, o, key, level); more != nil {
			others = append(others, more...)
		}
	}
	if o.has("patternProperties") { // which would be closed out
		n.closed, n.more = false, nil
	}
	for _, other := range others {
		if sub := r.part(other, level); sub != nil {
			r.join(n, sub)
		}
	}
	if o.get("nullable") == true {
		n.allowNull()
	}
	r.settle(n, level == 0)
	return n
}

// keyword reads one keyword into a node. It returns schemas that fit too.
func (r *reader) keyword(n *node, o *object, key string, level int) []any {
	v := o.values[key]
	list, _ := v.([]any)
	switch key {
	case "$ref", "$recursiveRef":
		if ref, ok := v.(string); ok {
			return []any{reference(ref)}
		}
	case "allOf":
		return list
	case "anyOf", "oneOf":
		for _, e := range list {
			if n.union == nil || key == "anyOf" || !o.has("anyOf") {
				n.union = append(n.union, r.read(e, level+1))
			}
		}
	case "type":
		n.types = typeOf(v)
		for _, e := range list {
			n.types |= typeOf(e)
		}
	case "enum":
		if len(list) > 0 && r.spend(size(v)) {
			n.enum, n.listed = list, true
		}
	case "const":
		if r.spend(size(v)) {
			n.enum, n.listed = []any{v}, true
		}
	case "properties":
		props, _ := v.(*object)
		if props != nil {
			r.properties(n, props, level)
		}
	case "required":
		seen := map[string]bool{}
		for _, e := range list {
			if name, ok := e.(string); ok && r.spend(len(name)) && !seen[name] {
				seen[name] = true
				n.required = append(n.required, name)
			}
		}
	case "additionalProperties":
		switch v := v.(type) {
		case bool:
			n.open, n.closed = v, !v
		case *object:
			n.more = r.read(v, level+1)
		}
	case "items", "prefixItems", "additionalItems":
		r.elements(n, o, key, level)
	default:
		r.plain(n, o, key)
	}
	return nil
}

// A reference is the text of $ref, in a list of schemas.
type reference string

// part returns the node of a schema that a reference leads to, or of a part; nil: it leads
// nowhere.
func (r *reader) part(v any, level int) *node {
	ref, ok := v.(reference)
	if !ok {
		return r.read(v, level+1)
	}
	target, ok := r.resolve(string(ref))
	if !ok {
		return nil
	}
	same := 0
	for _, f := range r.follows {
		if f == target {
			same++
		}
	}
	if len(r.follows) >= r.refs || same >= maxSame {
		return r.outline(target)
	}
	r.follows = append(r.follows, target)
	defer func() { r.follows = r.follows[:len(r.follows)-1] }()
	return r.read(target, level+1)
}

// outline returns the node of a schema without its parts.
func (r *reader) outline(v any) *node {
	n := &node{}
	if o, ok := v.(*object); ok {
		r.keyword(n, o, "type", maxLevels)
		for _, key := range []string{"title", "description"} {
			r.plain(n, o, key)
		}
	}
	return n
}

func (r *reader) properties(n *node, props *object, level int) {
	for _, name := range props.keys {
		switch v := props.values[name]; v.(type) {
		case *object, bool:
			if sub := r.read(v, level+1); r.spend(len(name)) && !sub.never && n.prop(name) < 0 {
				n.add(name, sub)
			}
		}
	}
}

// elements reads the schemas of a list's elements: items and additionalItems as older
// drafts have them, prefixItems and items as the newer do.
func (r *reader) elements(n *node, o *object, key string, level int) {
	v := o.values[key]
	list, isList := v.([]any)
	_, older := o.get("items").([]any)
	switch {
	case isList && key != "additionalItems":
		for _, e := range list {
			n.tuple = append(n.tuple, r.read(e, level+1))
		}
	case key == "additionalItems" && !older || key == "prefixItems":
	default:
		if o, ok := v.(*object); ok {
			n.items = r.read(o, level+1)
		}
	}
}

// plain copies a keyword. In the first drafts, exclusiveMinimum was a boolean that is about
// minimum.
func (r *reader) plain(n *node, o *object, key string) {
	v, ok := o.values[key]
	if bound, exclusive := strings.CutPrefix(key, "exclusive"); exclusive && v == true {
		v = o.get(strings.ToLower(bound))
	}
	if ok && isPlain(key) && fits(key, v) && r.spend(size(v)) {
		n.setWord(key, v)
	}
}

// resolve returns the schema that a reference within the document leads to.
func (r *reader) resolve(ref string) (any, bool) {
	root, _ := r.root.(*object)
	if id, ok := root.get("$id").(string); ok {
		ref = strings.TrimPrefix(ref, strings.TrimSuffix(id, "#"))
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || !r.spend(len(ref)) {
		return nil, false
	}
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	if pointer != "" && pointer[0] != '/' {
		v, ok := r.anchor(pointer)
		return v, ok
	}
	v := r.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case *object:
			if v, ok = at.values[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	switch v.(type) {
	case *object, bool:
		return v, true
	}
	return nil, false
}

// anchor returns the schema with a name of its own.
func (r *reader) anchor(name string) (any, bool) {
	if r.anchors == nil {
		r.anchors = map[string]any{}
		r.findAnchors(r.root)
	}
	v, ok := r.anchors[name]
	return v, ok
}

func (r *reader) findAnchors(v any) {
	switch v := v.(type) {
	case *object:
		if name, ok := v.get("$anchor").(string); ok {
			r.anchors[name] = v
		}
		for _, key := range v.keys {
			r.findAnchors(v.values[key])
		}
	case []any:
		for _, e := range v {
			r.findAnchors(e)
		}
	}
}
