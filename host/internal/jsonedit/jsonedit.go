// Package jsonedit changes one member of a JSON file that a person wrote. Comments,
// trailing commas and white space elsewhere stay as they are.
package jsonedit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Set sets table.name to value, a JSON text, in a file of JSON that may
// have comments and trailing commas. Everything else stays as it stands. An
// empty text is an empty object.
func Set(text, table, name, value string) (string, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	root, err := hujson.Parse([]byte(text))
	if err != nil {
		return "", fmt.Errorf("it is no JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return "", errors.New("it holds no object")
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
		return "", fmt.Errorf("its %q is no object", table)
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

// memberOf finds a member; nil: there is none. Which of two with one name would
// count is the client's secret.
func memberOf(o *hujson.Object, name string) (*hujson.Value, error) {
	var found *hujson.Value
	for i := range o.Members {
		m := &o.Members[i]
		if l, ok := m.Name.Value.(hujson.Literal); ok && l.String() == name {
			if found != nil {
				return nil, fmt.Errorf("%q stands in it twice", name)
			}
			found = &m.Value
		}
	}
	return found, nil
}

// insert appends a member on a line of its own.
func insert(o *hujson.Object, name string, value hujson.Value, indent string) *hujson.Value {
	value.BeforeExtra = hujson.Extra(" ")
	o.Members = append(o.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra("\n" + indent), Value: hujson.String(name)},
		Value: value,
	})
	// What stood behind the last member, a comment perhaps, stays in front of
	// this one.
	last := &o.Members[len(o.Members)-1]
	if trailing := strings.TrimRight(string(o.AfterExtra), " \t\r\n"); trailing != "" {
		last.Name.BeforeExtra = slices.Concat(hujson.Extra(trailing), last.Name.BeforeExtra)
		o.AfterExtra = o.AfterExtra[len(trailing):]
	}
	return &last.Value
}

// same reports whether two values differ in white space alone.
func same(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	a.Minimize()
	b.Minimize()
	return string(a.Pack()) == string(b.Pack())
}
