// Package settingkeys says which keys of tools.toml a client of the daemon may write, what
// they mean, and where their values come from.
//
// Whoever has the operator's token can use these keys; with no key here can they run a
// program, reach another host, read a folder or learn a secret.
package settingkeys

import (
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/tomledit"
)

// The bounds of a change.
const (
	mostChanges  = 100
	mostText     = 20_000 // characters of one text
	mostElements = 1_000
	mostName     = 80
)

// Changes checks the changes that a client requests, and returns them with the types of
// TOML. The error is an *api.Problem.
func Changes(list []api.SettingChange) ([]tomledit.Change, error) {
	if len(list) == 0 || len(list) > mostChanges {
		return nil, bad(`send {"changes": [{"key": ["limits", "max_chars"], "value": 6000}]}`, "there are %d changes; 1 to %d can be sent", len(list), mostChanges)
	}
	var out []tomledit.Change
	for _, c := range list {
		if _, ok := find(c.Key); !ok {
			return nil, api.Problemf(http.StatusForbidden, "not_writable", "edit tools.toml on this machine; GET /api/settings/schema lists the keys that can be written here", "the key %s is never written over the API", shown(c.Key))
		}
		v, err := value(c)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o tomledit.Change) bool { return slices.Equal(o.Path, c.Key) }) {
			return nil, bad("send each key once", "the key %s is sent twice", shown(c.Key))
		}
		out = append(out, tomledit.Change{Path: c.Key, Value: v})
	}
	return out, nil
}

func bad(hint, format string, args ...any) *api.Problem {
	return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, format, args...)
}

func shown(key []string) string { return api.Clip(strings.Join(key, "."), 120) }

// find returns the row of a key.
func find(key []string) (row, bool) {
	for _, r := range rows() {
		pattern := strings.Split(r.key, ".")
		if len(pattern) != len(key) {
			continue
		}
		fits := true
		for i, p := range pattern {
			fits = fits && (p == key[i] || p == "*" && goodName(key[i]))
		}
		if fits {
			return r, true
		}
	}
	return row{}, false
}

// goodName reports whether a name that a client chooses can be a table's.
func goodName(name string) bool {
	return name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= mostName && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// value returns a change's value with the type of its key; nil: the key is removed.
func value(c api.SettingChange) (any, error) {
	if len(c.Value) == 0 || string(c.Value) == "null" {
		return nil, nil
	}
	kind := typeOf(c.Key)
	var v any
	err := json.Unmarshal(c.Value, &v)
	ok := err == nil
	switch n := v.(type) {
	case bool:
		ok = ok && kind.Kind() == reflect.Bool
	case string:
		ok = ok && (kind.Kind() == reflect.String || isText(kind))
	case float64:
		switch {
		case kind.Kind() == reflect.Float64:
		case kind.Kind() == reflect.Int || kind.Kind() == reflect.Int64 && !isText(kind):
			var whole int64
			ok = json.Unmarshal(c.Value, &whole) == nil
			v = whole
		default:
			ok = false
		}
	case []any:
		ok = ok && len(n) <= mostElements && (kind.Kind() == reflect.Slice || isText(kind) && kind.Kind() == reflect.Struct)
		for _, e := range n {
			_, text := e.(string)
			ok = ok && text
		}
	default:
		ok = false
	}
	if !ok {
		return nil, bad("GET /api/settings/schema lists the types", "the value of %s has the wrong type", shown(c.Key))
	}
	return v, checkTexts(c.Key, v)
}

// checkTexts refuses texts that are too long, and references to variables: what a client
// writes must not bring out what is in the environment.
func checkTexts(key []string, v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		text, _ := e.(string)
		switch {
		case strings.Contains(text, "${"):
			return api.Problemf(http.StatusForbidden, "not_writable", "edit tools.toml on this machine", "the value of %s refers to a variable, which is never written over the API", shown(key))
		case utf8.RuneCountInString(text) > mostText:
			return bad("shorten it", "the value of %s has more than %d characters", shown(key), mostText)
		}
	}
	return nil
}

// isText reports whether a type reads itself from a text.
func isText(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || p.Implements(reflect.TypeFor[toml.Unmarshaler]())
}

// typeOf returns the Go type of a key, without pointers. The key is one of rows.
func typeOf(key []string) reflect.Type {
	t := reflect.TypeFor[config.Settings]()
	for _, name := range key {
		if t.Kind() == reflect.Map {
			t = t.Elem()
		} else {
			for _, f := range reflect.VisibleFields(t) {
				if tag, _, _ := strings.Cut(f.Tag.Get("toml"), ","); tag == name && f.IsExported() {
					t = f.Type
					break
				}
			}
		}
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// kindOf returns the name of a type for a schema.
func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[config.KeepLines]() || t == reflect.TypeFor[config.MCPTools]():
		return "string or list"
	case isText(t), t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Slice:
		return "list"
	}
	return "integer"
}

// NeedTables returns the tables of a change that only exist if the file has them: a model
// and a user need more than a client may write.
func NeedTables(changes []tomledit.Change) (tables [][]string) {
	for _, c := range changes {
		if c.Path[0] == "models" || c.Path[0] == "users" {
			tables = append(tables, c.Path[:2])
		}
	}
	return tables
}
