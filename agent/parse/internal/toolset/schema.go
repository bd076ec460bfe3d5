// Package toolset holds the declared tools. It finds a tool by a model's spelling,
// reads the calls that a value holds (Reading), and gives their arguments the
// names and types of the tool's JSON Schema.
package toolset

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/value"
	"github.com/weirhost/weir/sdk/tool"
)

// A Set is what the parser knows about the declared tools. It is built
// once and only read afterwards.
type Set struct {
	AnyName bool
	exact   map[string]*Tool
	folded  map[string]*Tool // nil where two names fold to one
	written map[string]*Tool // by what their servers call them; nil where two do
	sorted  []string         // folded names, for prefix search
	// shortest are those of sorted that do not start with another one, pairs has a bit
	// for each two bytes that one of them starts with.
	shortest []string
	pairs    [1 << 16 / 64]uint64
	First    [256]bool       // bytes that a declared name may begin with
	Leads    [256]bool       // likewise, namespaces included
	Stops    [256]bool       // bytes of text at which something may begin
	Keys     map[string]bool // every property of every tool
	longest  int             // bytes of the longest name, with room for escapes
}

// A Tool is one tool's name and parameters.
type Tool struct {
	Name     string
	Params   Schema
	Required []string
	// open says that the tool takes keys that it does not name.
	open bool
}

// A Schema is the part of JSON Schema that decides between two readings.
type Schema struct {
	types []string // empty: anything
	Props []prop   // in the document's order
	items *Schema
	extra *Schema // schema of keys that are not named
}

type prop struct {
	name string
	*Schema
}

// New reads the schemas of specs. With anyName every name is a declared one.
func New(specs []tool.Spec, anyName bool) *Set {
	t := &Set{
		AnyName: anyName, longest: 64,
		exact: map[string]*Tool{}, folded: map[string]*Tool{}, written: map[string]*Tool{}, Keys: map[string]bool{},
	}
	for _, s := range specs {
		if s.Name == "" {
			continue
		}
		info := NewTool(s.Name, string(s.Params))
		t.exact[s.Name] = info
		if s.Written != "" {
			if _, taken := t.written[s.Written]; taken {
				t.written[s.Written] = nil
			} else {
				t.written[s.Written] = info
			}
		}
		f := lex.Fold(s.Name)
		if _, taken := t.folded[f]; taken {
			t.folded[f] = nil
		} else {
			t.folded[f] = info
			t.sorted = append(t.sorted, f)
		}
		c := f[0]
		t.First[c] = true
		if 'a' <= c && c <= 'z' {
			t.First[c-'a'+'A'] = true
		}
		t.longest = max(t.longest, 2*len(s.Name))
		for _, p := range info.Params.Props {
			t.Keys[p.name] = true
		}
	}
	for _, c := range []byte{'\n', ':', 0xEF, '`', '<', '>', '[', '{'} {
		t.Stops[c] = true
	}
	for c := range t.Leads {
		low := byte(c) | 0x20
		t.Leads[c] = t.AnyName || t.First[c] || low == 'p' || slices.ContainsFunc(lex.Namespaces, func(ns string) bool { return ns[0] == low })
	}
	slices.Sort(t.sorted)
	t.indexNames()
	return t
}

// NewTool reads the JSON Schema of one tool.
func NewTool(name, params string) *Tool {
	info := &Tool{Name: name}
	n, ok := value.Parse(params)
	if !ok || n.Kind != value.Object {
		info.open = true
		return info
	}
	r := schemaReader{root: n, refs: map[string]*Schema{}}
	info.Params = *r.read(n, 0)
	for _, r := range n.Get("required").Items {
		info.Required = append(info.Required, r.Value)
	}
	extra := n.Get("additionalProperties")
	info.open = extra.Kind == value.Object || extra.Kind == value.Bool && extra.Value == "true" ||
		len(info.Params.Props) == 0 && extra.Kind == value.None && n.Get("properties").Kind == value.None
	return info
}

// maxSchemaDepth ends the reading of schemas that nest without end.
const maxSchemaDepth = 32

// A schemaReader reads the schemas of one document. It reads what a reference names
// once: a schema that leads into itself in several places would otherwise double at
// every level.
type schemaReader struct {
	root value.Node
	refs map[string]*Schema
}

// read reads the schema n. The result of a reference to a schema that is being read is
// complete when the outermost read returns.
func (r schemaReader) read(n value.Node, depth int) *Schema {
	s := &Schema{}
	if n.Kind != value.Object || depth > maxSchemaDepth {
		return s
	}
	if ref, ok := n.Get("$ref").Text(); ok && len(n.Keys) <= 2 { // beside a description
		return r.follow(ref, s)
	}
	r.fill(s, n, depth)
	return s
}

// follow reads what a reference names into s, or returns it where it was read before.
func (r schemaReader) follow(ref string, s *Schema) *Schema {
	if known, ok := r.refs[ref]; ok {
		return known
	}
	r.refs[ref] = s
	n := referred(r.root, ref)
	if next, ok := n.Get("$ref").Text(); ok && len(n.Keys) <= 2 {
		r.refs[ref] = r.follow(next, s)
		return r.refs[ref]
	}
	if n.Kind == value.Object {
		r.fill(s, n, 0)
	}
	return s
}

func (r schemaReader) fill(s *Schema, n value.Node, depth int) {
	switch typ := n.Get("type"); typ.Kind {
	case value.String:
		s.types = []string{typ.Value}
	case value.Array:
		for _, t := range typ.Items {
			s.types = append(s.types, t.Value)
		}
	case value.None:
		s.types = r.impliedTypes(n, depth)
	}
	props := n.Get("properties")
	for i, key := range props.Keys {
		s.Props = append(s.Props, prop{name: key, Schema: r.read(props.Items[i], depth+1)})
	}
	if items := n.Get("items"); items.Kind == value.Object {
		s.items = r.read(items, depth+1)
	}
	if extra := n.Get("additionalProperties"); extra.Kind == value.Object {
		s.extra = r.read(extra, depth+1)
	}
}

// impliedTypes collects the types of a schema that names them in its
// alternatives or parts, by its constants, or by what only text has. An alternative that may be anything makes
// the whole anything.
func (r schemaReader) impliedTypes(n value.Node, depth int) []string {
	var types []string
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, alt := range n.Get(key).Items {
			sub := r.read(alt, depth+1)
			if len(sub.types) == 0 {
				return nil
			}
			types = append(types, sub.types...)
		}
	}
	for _, part := range n.Get("allOf").Items {
		if sub := r.read(part, depth+1); len(types) == 0 {
			types = sub.types
		}
	}
	constants := n.Get("enum").Items
	if c := n.Get("const"); c.Kind != value.None {
		constants = append(slices.Clone(constants), c)
	}
	if len(types) == 0 {
		for _, v := range constants {
			types = append(types, v.Kind.SchemaType())
		}
	}
	if len(types) == 0 && slices.ContainsFunc([]string{"pattern", "minLength", "maxLength", "format"}, func(k string) bool { return n.Get(k).Kind != value.None }) {
		types = []string{"string"}
	}
	return types
}

// referred returns the part of a document that a reference such as #/$defs/id names.
func referred(root value.Node, ref string) value.Node {
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		if ref == "#" {
			return root
		}
		return value.Node{}
	}
	for key := range strings.SplitSeq(path, "/") {
		if root.Kind != value.Object {
			return value.Node{}
		}
		root = root.Get(key)
	}
	return root
}

// is reports whether the schema allows the type by name; a schema without
// types allows all.
func (s Schema) is(names ...string) bool {
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
func (s Schema) untyped() bool { return len(s.types) == 0 || slices.Contains(s.types, "any") }

// Prop returns the schema of a property.
func (s Schema) Prop(name string) (Schema, bool) {
	for _, p := range s.Props {
		if p.name == name {
			return *p.Schema, true
		}
	}
	return Schema{}, false
}

// key returns the tool's own spelling of a parameter's name.
func (i *Tool) key(name string) (string, bool) {
	if _, ok := i.Params.Prop(name); ok {
		return name, true
	}
	found := ""
	for _, p := range i.Params.Props {
		if lex.Fold(p.name) == lex.Fold(name) {
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

// Fits reports whether every key is a parameter of the tool.
func (i *Tool) Fits(keys []string) bool {
	for _, k := range keys {
		if _, ok := i.key(k); !ok {
			return false
		}
	}
	return true
}

// Complete reports whether no required parameter is missing from keys.
func (i *Tool) Complete(keys []string) bool {
	for _, r := range i.Required {
		if !slices.ContainsFunc(keys, func(k string) bool { own, _ := i.key(k); return own == r }) {
			return false
		}
	}
	return true
}
