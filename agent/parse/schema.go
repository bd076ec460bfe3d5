package parse

import (
	"slices"
	"strings"
)

// A toolset is what the parser knows about the declared tools. It is built
// once and only read afterwards.
type toolset struct {
	any     bool
	exact   map[string]*toolInfo
	folded  map[string]*toolInfo // nil where two names fold to one
	sorted  []string             // folded names, for prefix search
	first   [256]bool            // bytes that a declared name may begin with
	leads   [256]bool            // likewise, namespaces included
	stops   [256]bool            // bytes of text at which something may begin
	keys    map[string]bool      // every property of every tool
	longest int                  // bytes of the longest name, with room for escapes
}

// A toolInfo is one tool's name and parameters.
type toolInfo struct {
	name     string
	params   schema
	required []string
	// open says that the tool takes keys that it does not name.
	open bool
}

// A schema is the part of JSON Schema that decides between two readings.
type schema struct {
	types []string // empty: anything
	props []prop   // in the document's order
	items *schema
	extra *schema // schema of keys that are not named
}

type prop struct {
	name string
	schema
}

func newToolset(o Options) *toolset {
	t := &toolset{
		any: o.AnyName, longest: 64,
		exact: map[string]*toolInfo{}, folded: map[string]*toolInfo{}, keys: map[string]bool{},
	}
	for _, s := range o.Tools {
		if s.Name == "" {
			continue
		}
		info := newToolInfo(s.Name, string(s.Params))
		t.exact[s.Name] = info
		f := fold(s.Name)
		if _, taken := t.folded[f]; taken {
			t.folded[f] = nil
		} else {
			t.folded[f] = info
			t.sorted = append(t.sorted, f)
		}
		c := f[0]
		t.first[c] = true
		if 'a' <= c && c <= 'z' {
			t.first[c-'a'+'A'] = true
		}
		t.longest = max(t.longest, 2*len(s.Name))
		for _, p := range info.params.props {
			t.keys[p.name] = true
		}
	}
	for _, c := range []byte{'\n', ':', 0xEF, '`', '<', '['} {
		t.stops[c] = true
	}
	for c := range t.leads {
		low := byte(c) | 0x20
		t.leads[c] = t.any || t.first[c] || low == 'p' || slices.ContainsFunc(namespaces, func(ns string) bool { return ns[0] == low })
	}
	slices.Sort(t.sorted)
	return t
}

func newToolInfo(name, params string) *toolInfo {
	info := &toolInfo{name: name}
	n, ok := readValue(params)
	if !ok || n.kind != kindObject {
		info.open = true
		return info
	}
	info.params = readSchema(n, 0)
	for _, r := range n.get("required").items {
		info.required = append(info.required, r.s)
	}
	extra := n.get("additionalProperties")
	info.open = extra.kind == kindObject || extra.kind == kindBool && extra.s == "true" ||
		len(info.params.props) == 0 && extra.kind == kindNone && n.get("properties").kind == kindNone
	return info
}

// maxSchemaDepth ends the reading of schemas that nest without end.
const maxSchemaDepth = 32

func readSchema(n node, depth int) schema {
	var s schema
	if n.kind != kindObject || depth > maxSchemaDepth {
		return s
	}
	switch typ := n.get("type"); typ.kind {
	case kindString:
		s.types = []string{typ.s}
	case kindArray:
		for _, t := range typ.items {
			s.types = append(s.types, t.s)
		}
	case kindNone:
		s.types = impliedTypes(n, depth)
	}
	props := n.get("properties")
	for i, key := range props.keys {
		s.props = append(s.props, prop{key, readSchema(props.items[i], depth+1)})
	}
	if items := n.get("items"); items.kind == kindObject {
		sub := readSchema(items, depth+1)
		s.items = &sub
	}
	if extra := n.get("additionalProperties"); extra.kind == kindObject {
		sub := readSchema(extra, depth+1)
		s.extra = &sub
	}
	return s
}

// impliedTypes collects the types of a schema that names them in its
// alternatives or by its constants. An alternative that may be anything makes
// the whole anything.
func impliedTypes(n node, depth int) []string {
	var types []string
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, alt := range n.get(key).items {
			sub := readSchema(alt, depth+1)
			if len(sub.types) == 0 {
				return nil
			}
			types = append(types, sub.types...)
		}
	}
	if len(types) == 0 && len(n.get("enum").items) > 0 {
		for _, v := range n.get("enum").items {
			types = append(types, v.kind.schemaType())
		}
	}
	return types
}

// is reports whether the schema allows the type by name; a schema without
// types allows all.
func (s schema) is(names ...string) bool {
	if len(s.types) == 0 {
		return true
	}
	for _, t := range s.types {
		for _, n := range names {
			if strings.EqualFold(t, n) || n == "object" && t == "dict" || n == "number" && t == "float" || n == "any" {
				return true
			}
		}
		if t == "any" {
			return true
		}
	}
	return false
}

// untyped reports whether the schema says nothing about types.
func (s schema) untyped() bool { return len(s.types) == 0 || slices.Contains(s.types, "any") }

func (s schema) prop(name string) (schema, bool) {
	for _, p := range s.props {
		if p.name == name {
			return p.schema, true
		}
	}
	return schema{}, false
}

// key returns the tool's own spelling of a parameter's name.
func (i *toolInfo) key(name string) (string, bool) {
	if _, ok := i.params.prop(name); ok {
		return name, true
	}
	found := ""
	for _, p := range i.params.props {
		if fold(p.name) == fold(name) {
			if found != "" {
				return name, false
			}
			found = p.name
		}
	}
	if found != "" {
		return found, true
	}
	return name, i.open
}

// fits reports whether every key is a parameter of the tool.
func (i *toolInfo) fits(keys []string) bool {
	for _, k := range keys {
		if _, ok := i.key(k); !ok {
			return false
		}
	}
	return true
}

// complete reports whether no required parameter is missing from keys.
func (i *toolInfo) complete(keys []string) bool {
	for _, r := range i.required {
		if !slices.ContainsFunc(keys, func(k string) bool { own, _ := i.key(k); return own == r }) {
			return false
		}
	}
	return true
}
