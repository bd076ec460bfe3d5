package clientfile

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/weirhost/weir/host/internal/jsonedit"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/tomledit"
	"github.com/weirhost/weir/host/internal/tomlpos"
)

// A Set is one value of a file.
type Set struct {
	Path  []string
	Value any  // as JSON has it
	Own   bool // the value is a table of weir's alone, whatever was in it before
}

// An editor edits texts of one format.
type editor interface {
	// get returns the value at a path as JSON; empty: there is none.
	get(text string, path []string) (string, error)
	// set sets a value. Equal values stay as they are written.
	set(text string, s Set) (string, error)
	// remove removes a value, and the tables around it that have nothing else.
	remove(text string, s Set) (string, error)
}

type jsonEditor struct{}

func (jsonEditor) get(text string, path []string) (string, error) {
	v, _, err := jsonedit.Get(text, path)
	return v, err
}

func (jsonEditor) set(text string, s Set) (string, error) {
	raw, err := json.MarshalIndent(s.Value, "", "  ")
	if err != nil {
		return "", err
	}
	now, there, err := jsonedit.Get(text, s.Path)
	if err != nil || there && sameJSON(now, string(raw)) {
		return text, err
	}
	return jsonedit.Set(text, s.Path, string(raw))
}

func (jsonEditor) remove(text string, s Set) (string, error) { return jsonedit.Remove(text, s.Path) }

// sameJSON reports whether two JSON texts mean the same.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// A tomlEditor writes tables of texts, which is all that programs with such a file need.
type tomlEditor struct{}

func (tomlEditor) get(text string, path []string) (string, error) {
	doc := map[string]any{}
	if _, err := tomlpos.Decode(text, &doc); err != nil {
		return "", msg.Errorf("it is not TOML: %s", tomlpos.Explain(err))
	}
	var at any = doc
	for _, name := range path {
		table, ok := at.(map[string]any)
		if at, ok = table[name]; !ok {
			return "", nil
		}
	}
	raw, err := json.Marshal(at)
	return string(raw), err
}

func (e tomlEditor) set(text string, s Set) (string, error) {
	raw, err := json.Marshal(s.Value)
	if err != nil {
		return "", err
	}
	now, err := e.get(text, s.Path)
	if err != nil || now != "" && sameJSON(now, string(raw)) {
		return text, err
	}
	if text, err = tomledit.RemoveTable(text, s.Path...); err != nil {
		return "", err
	}
	return tomledit.Apply(text, changes(s.Path, s.Value))
}

// changes returns the texts in a table and the tables below it, each table's own first.
func changes(path []string, v any) (out []tomledit.Change) {
	table, ok := v.(map[string]any)
	if !ok {
		return []tomledit.Change{{Path: path, Value: v}}
	}
	for _, tables := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if _, is := table[name].(map[string]any); is == tables {
				out = append(out, changes(append(slices.Clone(path), name), table[name])...)
			}
		}
	}
	return out
}

func (tomlEditor) remove(text string, s Set) (string, error) {
	return tomledit.RemoveTable(text, s.Path...)
}
