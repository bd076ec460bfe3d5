package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// Parse reads the text of a tools.toml and returns everything that is wrong with
// it. file is its name in the faults. References to variables are not expanded.
func Parse(file, doc string) (Settings, []Fault) {
	d := decode(positions{file, tomlpos.Read(doc)}, doc)
	if d.partial {
		return d.Settings, d.faults
	}
	s, faults := d.Settings, d.faults
	report := func(problem, hint tool.Text, key ...string) {
		if !d.leftOut(key) {
			faults = append(faults, s.positions.fault(problem, hint, key...))
		}
	}
	told := map[string]bool{}
	for _, key := range d.unknown {
		at := key
		for n := range key {
			if typeAt(key[:n+1]) == nil {
				at = key[:n+1]
				break
			}
		}
		if free(key) || told[at.String()] {
			continue
		}
		told[at.String()] = true
		hint := DidYouMean(text.Nearest(at[len(at)-1], keysBeside(at)))
		if hint.IsZero() {
			hint = tool.Textf("check the spelling; tools.toml in the repository explains every key")
		}
		report(tool.Textf("unknown key %s", at), hint, key...)
	}
	check(&s, report)
	slices.SortStableFunc(faults, func(a, b Fault) int { return a.Line - b.Line })
	return s, faults
}

// maxMistyped bounds how many values of the wrong type one run names.
const maxMistyped = 50

// A decoded is a tools.toml without its values of the wrong type.
type decoded struct {
	Settings
	unknown  []toml.Key
	mistyped [][]string // the keys whose values were left out
	faults   []Fault    // one for each of them
	partial  bool       // the file was not decoded to its end
}

// leftOut reports whether a value of the wrong type was left out at a key or below it:
// what its absence leads to is no fault of the file.
func (d decoded) leftOut(key []string) bool {
	key = slices.DeleteFunc(slices.Clone(key), func(part string) bool { // the index of a table in a list
		_, err := strconv.Atoi(part)
		return err == nil
	})
	return slices.ContainsFunc(d.mistyped, func(left []string) bool { return len(key) <= len(left) && slices.Equal(key, left[:len(key)]) })
}

// decode decodes a tools.toml. The library stops at the first value of the wrong type:
// decode removes it and begins again.
func decode(at positions, doc string) (d decoded) {
	for text := doc; ; {
		d.Settings = Settings{}
		md, err := tomlpos.Decode(text, &d.Settings)
		d.positions = at
		fault, key := at.noTable(md)
		if err != nil {
			fault, key = at.tomlFault(text, err)
		}
		if key == nil && err == nil {
			d.unknown = md.Undecoded()
			return d
		}
		if len(d.mistyped) > 0 { // text has other lines than doc
			fault.Line, fault.Col = at.doc.Position(key...)
		}
		d.faults = append(d.faults, fault)
		rest, ok := tomlpos.Without(text, key)
		if !ok || len(d.faults) == maxMistyped {
			d.partial = true
			return d
		}
		text = rest
		d.mistyped = append(d.mistyped, key)
	}
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
