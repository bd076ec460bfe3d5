// Package jsonedit changes single members of a JSON file that a person wrote. Comments,
// trailing commas and white space elsewhere stay as they are.
package jsonedit

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/weirhost/weir/host/internal/msg"
)

// Set sets the member at a path of objects to value, a JSON text, in a JSON text that may
// have comments and trailing commas. All other text does not change. An empty text is an
// empty object.
func Set(text string, path []string, value string) (string, error) {
	root, top, err := parse(text)
	if err != nil {
		return "", err
	}
	o := top
	for i, name := range path[:len(path)-1] {
		at, err := memberOf(o, name)
		if err != nil {
			return "", err
		}
		if at == nil {
			at = insert(o, name, hujson.Value{Value: &hujson.Object{}}, i)
		}
		next, ok := at.Value.(*hujson.Object)
		if !ok {
			return "", msg.Errorf("its %q is not an object", strings.Join(path[:i+1], "."))
		}
		o = next
	}
	depth, name := len(path)-1, path[len(path)-1]
	entry, err := hujson.Parse([]byte(strings.ReplaceAll(value, "\n", "\n"+indent(depth+1))))
	if err != nil {
		return "", err
	}
	old, err := memberOf(o, name)
	if err != nil {
		return "", err
	}
	if old == nil {
		insert(o, name, entry, depth)
	} else if !same(*old, entry) {
		old.Value = entry.Value
	}
	if !strings.Contains(string(top.AfterExtra), "\n") {
		top.AfterExtra = append(top.AfterExtra, '\n')
	}
	return string(root.Pack()), nil
}

// Get returns the value of the member at a path, without comments and white space; false:
// there is none.
func Get(text string, path []string) (value string, ok bool, err error) {
	_, o, err := parse(text)
	for i, name := range path {
		if err != nil || o == nil {
			return "", false, err
		}
		at, err := memberOf(o, name)
		if err != nil || at == nil {
			return "", false, err
		}
		if i == len(path)-1 {
			v := at.Clone()
			v.Minimize()
			return string(v.Pack()), true, nil
		}
		o, _ = at.Value.(*hujson.Object)
	}
	return "", false, err
}

// Standard returns a JSON text without its comments and trailing commas.
func Standard(text string) (string, error) {
	root, err := hujson.Parse([]byte(text))
	if err != nil {
		return "", msg.Errorf("it is not JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	root.Standardize()
	return string(root.Pack()), nil
}

// Remove removes the member at a path, and the objects around it that have nothing else.
// Comments beside it stay. Without that member nothing changes.
func Remove(text string, path []string) (string, error) {
	root, o, err := parse(text)
	if err != nil {
		return "", err
	}
	around := []*hujson.Object{o}
	for i, name := range path {
		at, err := memberOf(o, name)
		if err != nil {
			return "", err
		}
		if at == nil {
			return text, nil
		}
		next, ok := at.Value.(*hujson.Object)
		if !ok && i < len(path)-1 {
			return text, nil
		}
		o = next
		around = append(around, o)
	}
	for n := len(path) - 1; n >= 0; n-- {
		remove(around[n], path[n])
		if len(around[n].Members) > 0 || strings.TrimSpace(string(around[n].AfterExtra)) != "" {
			break
		}
	}
	return string(root.Pack()), nil
}

// parse reads a text and returns its object.
func parse(text string) (*hujson.Value, *hujson.Object, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	root, err := hujson.Parse([]byte(text))
	if err != nil {
		return nil, nil, msg.Errorf("it is not JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, nil, msg.Errorf("it contains no object")
	}
	return &root, top, nil
}

// memberOf returns the member of a name; nil: there is none. Two members of one name
// are an error: only the reading program knows which of them counts.
func memberOf(o *hujson.Object, name string) (*hujson.Value, error) {
	var found *hujson.Value
	for i := range o.Members {
		m := &o.Members[i]
		if l, ok := m.Name.Value.(hujson.Literal); ok && l.String() == name {
			if found != nil {
				return nil, msg.Errorf("it has %q twice", name)
			}
			found = &m.Value
		}
	}
	return found, nil
}

// insert appends a member on its own line to an object at that depth.
func insert(o *hujson.Object, name string, value hujson.Value, depth int) *hujson.Value {
	value.BeforeExtra = hujson.Extra(" ")
	o.Members = append(o.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra("\n" + indent(depth+1)), Value: hujson.String(name)},
		Value: value,
	})
	// Text after the last member, such as a comment, stays before the new one.
	last := &o.Members[len(o.Members)-1]
	if trailing := strings.TrimRight(string(o.AfterExtra), " \t\r\n"); trailing != "" {
		last.Name.BeforeExtra = slices.Concat(hujson.Extra(trailing), last.Name.BeforeExtra)
		o.AfterExtra = o.AfterExtra[len(trailing):]
	}
	if !strings.Contains(string(o.AfterExtra), "\n") {
		o.AfterExtra = append(o.AfterExtra, "\n"+indent(depth)...)
	}
	return &last.Value
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

// remove removes a member of an object, and leaves the comments around it.
func remove(o *hujson.Object, name string) {
	i := slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool {
		l, ok := m.Name.Value.(hujson.Literal)
		return ok && l.String() == name
	})
	if i < 0 {
		return
	}
	m := o.Members[i]
	said := hujson.Extra(strings.TrimRight(string(m.Name.BeforeExtra), " \t\r\n"))
	for _, x := range []hujson.Extra{m.Name.AfterExtra, m.Value.BeforeExtra, m.Value.AfterExtra} {
		if strings.TrimSpace(string(x)) != "" {
			said = slices.Concat(said, hujson.Extra(" "), x)
		}
	}
	o.Members = slices.Delete(o.Members, i, i+1)
	if i < len(o.Members) {
		o.Members[i].Name.BeforeExtra = before(said, o.Members[i].Name.BeforeExtra)
		return
	}
	if i > 0 { // a comma after the last member is there as it was
		last := &o.Members[i-1].Value
		switch {
		case m.Value.AfterExtra == nil:
			said, last.AfterExtra = slices.Concat(last.AfterExtra, said), nil
		case last.AfterExtra == nil:
			last.AfterExtra = hujson.Extra{}
		}
	}
	o.AfterExtra = before(said, o.AfterExtra)
}

// before returns comments and what follows them. A comment up to the end of its line has one.
func before(said, rest hujson.Extra) hujson.Extra {
	if len(said) > 0 && !strings.HasPrefix(string(rest), "\n") {
		said = append(said, '\n')
	}
	return slices.Concat(said, rest)
}

// same reports whether two values differ only in white space.
func same(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	a.Minimize()
	b.Minimize()
	return string(a.Pack()) == string(b.Pack())
}
