package tomlpos

import (
	"slices"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// A Table is one table of a decoded document, read key by key. It records which
// keys were read; Unknown returns the others. A nil Table has no keys. It is not safe
// for concurrent use.
type Table struct {
	// Path is the full name, for example tool.output; empty: the document itself.
	Path     string
	Values   map[string]any
	Position *Position

	tell  Teller
	known []string
}

// A Teller receives one fault: its position, the full name of the key, the problem
// and the fix.
type Teller func(at *Position, name string, msg, fix tool.Text)

// NewTable makes the table of a whole document.
func NewTable(values map[string]any, root *Position, tell Teller) *Table {
	return &Table{Values: values, Position: root, tell: tell}
}

// Name is a key's full name, as messages show it.
func (t *Table) Name(key string) string {
	if t == nil || t.Path == "" {
		return key
	}
	return t.Path + "." + key
}

// Bad reports a fault of a key's value, or of the table if the key is missing.
func (t *Table) Bad(key string, fix tool.Text, format string, args ...any) {
	t.tell(t.Position.Key(key), t.Name(key), tool.Textf(format, args...), fix)
}

// Get returns a key's raw value and marks the key as known.
func (t *Table) Get(key string) (any, bool) {
	if t == nil {
		return nil, false
	}
	t.known = append(t.known, key)
	v, ok := t.Values[key]
	return v, ok
}

// Typed returns the key's value if it is a T, and tells if it is something else.
// want is what to write.
func Typed[T any](t *Table, key string, want tool.Text) (v T, ok bool) {
	raw, there := t.Get(key)
	if !there {
		return v, false
	}
	if v, ok = raw.(T); !ok {
		t.Bad(key, tool.Textf("write %s", want), "%s is %s", t.Name(key), Kind(raw))
	}
	return v, ok
}

// Child returns a table of the table; nil when it is not there.
func (t *Table) Child(key string) *Table {
	m, ok := Typed[map[string]any](t, key, tool.Textf("a table: [%s]", t.Name(key)))
	if !ok {
		return nil
	}
	return t.below(key, m, t.Position.Key(key))
}

// Children returns the tables of a list of at most so many, be it written as [[key]]
// or inline.
func (t *Table) Children(key string, most int) []*Table {
	raw, ok := t.Get(key)
	if !ok {
		return nil
	}
	list, ok := raw.([]any)
	if maps, headers := raw.([]map[string]any); headers {
		ok = true
		for _, m := range maps {
			list = append(list, m)
		}
	}
	if !ok {
		t.Bad(key, tool.Textf("write a list of tables: %s = [{ … }], or [[%s]]", key, t.Name(key)), "%s is %s", t.Name(key), Kind(raw))
	}
	var out []*Table
	for i, e := range t.Some(key, list, most) {
		if m, isTable := e.(map[string]any); isTable {
			out = append(out, t.below(key, m, t.Position.Key(key).Item(i)))
			continue
		}
		t.BadItem(key, i, e, tool.Textf("write a table: { … }"))
	}
	return out
}

// Some holds a list to a length that can be read, and returns that much of it.
func (t *Table) Some(key string, list []any, most int) []any {
	if len(list) <= most {
		return list
	}
	t.Bad(key, tool.Textf("shorten it to %d", most), "%s holds %d, and at most %d are read", t.Name(key), len(list), most)
	return list[:most]
}

// BadItem tells that an element of a list is of another kind than it should be.
func (t *Table) BadItem(key string, i int, v any, fix tool.Text) {
	t.tell(t.Position.Key(key).Item(i), t.Name(key), tool.Textf("%s[%d] is %s", t.Name(key), i, Kind(v)), fix)
}

// Known lists the keys that were asked for, in that order.
func (t *Table) Known() []string { return t.known }

// Unknown returns the keys that were never read, as they are written.
func (t *Table) Unknown() (out []string) {
	if t == nil {
		return nil
	}
	for _, key := range t.Position.Order {
		if !slices.Contains(t.known, key) {
			out = append(out, key)
		}
	}
	return out
}

func (t *Table) below(key string, m map[string]any, at *Position) *Table {
	return &Table{Path: t.Name(key), Values: m, Position: at, tell: t.tell}
}

// Kind names the type of a decoded value for people.
func Kind(v any) tool.Text {
	switch v := v.(type) {
	case string:
		return tool.Textf("a string")
	case int64:
		return tool.Textf("a whole number")
	case float64:
		return tool.Textf("a number with a fraction")
	case bool:
		return tool.Textf("true or false")
	case time.Time:
		return tool.Textf("a date or time")
	case map[string]any:
		return tool.Textf("a table")
	case []any, []map[string]any:
		return tool.Textf("a list")
	default:
		return tool.Textf("%v", v)
	}
}
