package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// Parse reads the text of a tools.toml and returns everything that is wrong with
// it. file is its name in the faults. References to variables are not expanded.
func Parse(file, doc string) (Settings, []Fault) {
	var s Settings
	md, err := tomlpos.Decode(doc, &s)
	s.positions = positions{file, tomlpos.Read(doc)}
	if err != nil {
		return s, []Fault{s.positions.tomlFault(doc, err)}
	}
	var faults []Fault
	report := func(problem, hint tool.Text, key ...string) {
		faults = append(faults, s.positions.fault(problem, hint, key...))
	}
	for _, key := range md.Undecoded() {
		if free(key) {
			continue
		}
		hint := didYouMean(text.Nearest(key[len(key)-1], keysBeside(key)))
		if hint.IsZero() {
			hint = tool.Textf("check the spelling; tools.toml in the repository explains every key")
		}
		report(tool.Textf("unknown key %s", key), hint, key...)
	}
	check(&s, report)
	slices.SortStableFunc(faults, func(a, b Fault) int { return a.Line - b.Line })
	return s, faults
}

// free reports whether a key is in a table whose keys the operator chooses.
func free(key toml.Key) bool {
	return len(key) > 2 && ((key[0] == "tools" || key[0] == "grants") && key[2] == "config" || key[0] == "models" && key[2] == "extra")
}

// keysBeside returns the keys of the table that a key is in. Nil: there is no such
// table.
func keysBeside(key toml.Key) []string {
	t := typeAt(key[:len(key)-1])
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		if name := keyOf(f); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}

// typeAt returns the Go type of a key of tools.toml, without pointers and slices.
// Nil: there is no such key.
func typeAt(key []string) reflect.Type {
	t := reflect.TypeFor[Settings]()
	for _, part := range key {
		if t = element(t); t.Kind() == reflect.Map {
			t = t.Elem()
			continue
		}
		if t.Kind() != reflect.Struct {
			return nil
		}
		var next reflect.Type
		for _, f := range reflect.VisibleFields(t) {
			if keyOf(f) == part {
				next = f.Type
			}
		}
		if t = next; t == nil {
			return nil
		}
	}
	return element(t)
}

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// keyOf returns the key of a field in tools.toml; empty: it has none.
func keyOf(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("toml"), ","); name != "-" {
		return name
	}
	return ""
}
