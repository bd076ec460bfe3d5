package toolschema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

const (
	// maxSource is the longest schema that is read, in bytes.
	maxSource = 256 << 10
	// maxGrowth is by how much references and alternatives may lengthen one schema, and
	// maxTotal by how much those of a request together, in bytes; minGrowth, one schema in
	// any case.
	minGrowth = 1 << 10
	maxGrowth = 32 << 10
	maxTotal  = 512 << 10
	// failedTry is what a try that would be too long takes of maxTotal, in bytes.
	failedTry = 8 << 10
	// maxDescription is the longest description that every provider takes, in bytes.
	maxDescription = 1024
)

// A Declared is one tool as a provider is given it.
type Declared struct {
	Name, Description string
	// Params is the schema of the arguments; nil: the tool has none, and the provider does
	// not take a schema that says so.
	Params json.RawMessage

	spec      *tool.Spec
	arguments map[string]string // by the name that the provider is given: the tool's
}

// Tools are the tools of one request, as a provider is given them.
type Tools struct {
	rules Rules
	// List has a Declared for each tool, in their order.
	List []Declared
}

// Declare returns the tools as a provider is given them, described in language l.
func (r Rules) Declare(specs []tool.Spec, l tool.Locale) Tools {
	t := Tools{rules: r, List: make([]Declared, len(specs))}
	taken := map[string]bool{}
	for _, s := range specs {
		taken[s.Name] = true
	}
	room := maxTotal
	for i := range specs {
		s := &specs[i]
		d := Declared{Name: s.Name, Description: s.Describe(l), spec: s}
		for n := 0; !r.toolName(d.Name) || d.Name != s.Name && taken[d.Name]; n++ {
			d.Name = r.rename(s.Name, n)
		}
		taken[d.Name] = true
		f := r.fit(s.Params, l, min(max(room, minGrowth), maxGrowth))
		d.Params, d.arguments = f.params, f.arguments
		room = max(0, room-max(0, len(d.Params)-len(s.Params))-f.failed*failedTry)
		if f.remark != "" && len(d.Description)+len(f.remark) < maxDescription {
			d.Description = sentence(d.Description, f.remark)
		}
		t.List[i] = d
	}
	return t
}

// rename returns a name that the provider takes for one that it does not. It depends on
// the name and n alone, so that calls of earlier requests are told alike.
func (r Rules) rename(name string, n int) string {
	plain := strings.TrimLeft(strings.Map(func(c rune) rune {
		if isNameRune(c) {
			return c
		}
		return '_'
	}, name), "-_0123456789")
	if plain == "" {
		plain = "t"
	}
	sum := sha256.Sum256(append([]byte(name), byte(n)))
	tail := "_" + hex.EncodeToString(sum[:4])
	return plain[:min(len(plain), maxName-len(tail))] + tail
}

// A fitted is the schema of a tool's arguments by the rules.
type fitted struct {
	params    json.RawMessage   // nil: none
	arguments map[string]string // that were replaced: the tool's names by the new ones
	remark    string            // what the description has to say of them
	failed    int               // tries that were too long
}

func (r Rules) fit(raw json.RawMessage, l tool.Locale, growth int) (f fitted) {
	root := &object{}
	if len(raw) <= maxSource {
		if v, ok := parse(raw); ok {
			if o, ok := v.(*object); ok {
				root = o
			}
		}
	}
	for _, refs := range tries(raw) {
		rd := &reader{root: root, locale: l, refs: refs, left: 8*len(raw) + 2*growth}
		n, ok := rd.read(root, 0), false
		if rd.left >= 0 {
			f.params, f.arguments, ok = r.finish(n, root, raw, l, growth)
		}
		if ok {
			f.remark = n.remark
			return f
		}
		f.failed++
	}
	rd, n := &reader{root: root, left: len(raw)}, &node{} // it is too much, however little is followed
	if props, ok := root.get("properties").(*object); ok {
		for _, name := range props.keys {
			n.add(name, rd.outline(props.values[name]))
		}
	}
	var ok bool
	if f.params, f.arguments, ok = r.finish(n, root, raw, l, growth); !ok {
		f.params, f.arguments, _ = r.finish(&node{}, root, nil, l, minGrowth)
	}
	return f
}

// tries returns how many references to follow within one another, the most first: those
// that double at each step would be too many.
func tries(raw []byte) []int {
	if bytes.Contains(raw, []byte("ref")) || bytes.Contains(raw, []byte("Ref")) {
		return []int{8, 4, 2, 1, 0}
	}
	return []int{0}
}

// finish writes the schema of a tool. It returns false if that is too long. A schema that
// fits is returned as it was written.
func (r Rules) finish(n *node, source *object, raw []byte, l tool.Locale, growth int) (json.RawMessage, map[string]string, bool) {
	n.never, n.listed, n.union, n.types = false, false, nil, tObject
	names := r.renameArguments(n)
	w := &writer{Rules: r, locale: l, left: 2 * (len(raw) + growth)}
	out := w.schema(n)
	if w.left < 0 {
		return nil, nil, false
	}
	if props, ok := out.get("properties").(*object); !ok || len(props.keys) == 0 && !r.filled {
		return nil, nil, true
	}
	if same(source, out, false) {
		return raw, names, true
	}
	text := encode(out)
	return text, names, len(text) <= len(raw)+growth
}

// renameArguments gives the properties at the root names that the provider takes. It
// returns the tool's names by the new ones.
func (r Rules) renameArguments(n *node) map[string]string {
	var names map[string]string
	for i := range n.props {
		p := &n.props[i]
		if r.argumentName(p.name) {
			continue
		}
		fit := p.name
		for k := 0; !r.argumentName(fit) || n.prop(fit) >= 0 || names[fit] != ""; k++ {
			fit = r.rename(p.name, k)
		}
		if names == nil {
			names = map[string]string{}
		}
		names[fit] = p.name
		for j, name := range n.required {
			if name == p.name {
				n.required[j] = fit
			}
		}
		p.name = fit
	}
	n.at = nil
	return names
}

// Sent returns a call of an earlier reply by the names that the provider is given.
func (t Tools) Sent(c tool.Call) tool.Call {
	for _, d := range t.List {
		if d.spec.Name == c.Tool {
			c.Tool = d.Name
			if d.arguments != nil {
				own := map[string]string{}
				for given, name := range d.arguments {
					own[name] = given
				}
				c.Args = renamed(c.Args, own)
			}
			return c
		}
	}
	c.Tool = t.Name(c.Tool)
	return c
}

// Name returns the name that the provider is given for a tool, which may be one of an
// earlier request.
func (t Tools) Name(name string) string {
	for _, d := range t.List {
		if d.spec.Name == name {
			return d.Name
		}
	}
	if !t.rules.toolName(name) {
		return t.rules.rename(name, 0)
	}
	return name
}

// Own returns a call of the provider's by the tool's own names.
func (t Tools) Own(c tool.Call) tool.Call {
	for _, d := range t.List {
		if d.Name == c.Tool {
			c.Tool = d.spec.Name
			c.Args = renamed(c.Args, d.arguments)
			return c
		}
	}
	return c
}

// renamed returns arguments with other names. What is no object stays as it is.
func renamed(args json.RawMessage, names map[string]string) json.RawMessage {
	if len(names) == 0 {
		return args
	}
	v, _ := parse(args)
	o, ok := v.(*object)
	if !ok {
		return args
	}
	out := &object{}
	for _, key := range o.keys {
		name, ok := names[key]
		if !ok {
			name = key
		}
		out.set(name, o.values[key])
	}
	return encode(out)
}
