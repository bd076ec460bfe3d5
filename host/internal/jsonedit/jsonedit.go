// Package jsonedit changes one member of a JSON file that a person wrote. Comments,
// trailing commas and white space elsewhere stay as they are.
package jsonedit

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/weirhost/weir/host/internal/msg"
)

// Set sets table.name to value, a JSON text, in a JSON text that may have comments and
// trailing commas. All other text does not change. An empty text is an empty object.
func Set(text, table, name, value string) (string, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	root, err := hujson.Parse([]byte(text))
	if err != nil {
		return "", msg.Errorf("it is not JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return "", msg.Errorf("it contains no object")
	}
	at, err := memberOf(top, table)
	if err != nil {
		return "", err
	}
	if at == nil {
		at = insert(top, table, hujson.Value{Value: &hujson.Object{}}, "  ")
	}
	servers, ok := at.Value.(*hujson.Object)
	if !ok {
		return "", msg.Errorf("its %q is not an object", table)
	}
	entry, err := hujson.Parse([]byte(strings.ReplaceAll(value, "\n", "\n    ")))
	if err != nil {
		return "", err
	}
	old, err := memberOf(servers, name)
	if err != nil {
		return "", err
	}
	if old != nil {
		if !same(*old, entry) {
			old.Value = entry.Value
		}
	} else {
		insert(servers, name, entry, "    ")
		if !strings.Contains(string(servers.AfterExtra), "\n") {
			servers.AfterExtra = append(servers.AfterExtra, "\n  "...)
		}
	}
	if !strings.Contains(string(top.AfterExtra), "\n") {
		top.AfterExtra = append(top.AfterExtra, '\n')
	}
	return string(root.Pack()), nil
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

// insert appends a member on its own line.
func insert(o *hujson.Object, name string, value hujson.Value, indent string) *hujson.Value {
	value.BeforeExtra = hujson.Extra(" ")
	o.Members = append(o.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra("\n" + indent), Value: hujson.String(name)},
		Value: value,
	})
	// Text after the last member, such as a comment, stays before the new one.
	last := &o.Members[len(o.Members)-1]
	if trailing := strings.TrimRight(string(o.AfterExtra), " \t\r\n"); trailing != "" {
		last.Name.BeforeExtra = slices.Concat(hujson.Extra(trailing), last.Name.BeforeExtra)
		o.AfterExtra = o.AfterExtra[len(trailing):]
	}
	return &last.Value
}

// same reports whether two values differ only in white space.
func same(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	a.Minimize()
	b.Minimize()
	return string(a.Pack()) == string(b.Pack())
}
