package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// live are the settings of tools.toml that a reload puts in force, by their
// tables and keys; a table stands for all that is below it. All others hold from
// the next start on.
var live = []string{
	"locale", "server.max_turns", "log.level", "models", "agent", "agents", "users", "prompt", "limits", "tools", "grants", "summarize", "approvals", "telemetry",
	"archive", "plugins", "sandbox", "mcpServers",
}

// differences names the settings that are different, as they stand in the file:
// those that a reload puts in force and those that need a restart. Both are
// sorted and never nil.
func differences(before, after Settings) (inForce, restart []string) {
	inForce, restart = []string{}, []string{}
	for _, name := range changedKeys("", reflect.ValueOf(before), reflect.ValueOf(after)) {
		if covers(live, name) {
			inForce = append(inForce, name)
		} else {
			restart = append(restart, name)
		}
	}
	slices.Sort(inForce)
	slices.Sort(restart)
	return inForce, restart
}

// changedKeys goes down to the keys of tables, and to the entries of tables of
// the operator's own making.
func changedKeys(prefix string, a, b reflect.Value) []string {
	var out []string
	for i := range a.NumField() {
		f := a.Type().Field(i)
		x, y := a.Field(i), b.Field(i)
		name := prefix + strings.SplitN(f.Tag.Get("toml"), ",", 2)[0]
		switch {
		case !f.IsExported() || reflect.DeepEqual(x.Interface(), y.Interface()):
		case f.Type.Kind() == reflect.Struct && prefix == "":
			out = append(out, changedKeys(name+".", x, y)...)
		case f.Type.Kind() == reflect.Map && prefix == "":
			out = append(out, changedEntries(name, x, y)...)
		default:
			out = append(out, name)
		}
	}
	return out
}

func changedEntries(name string, a, b reflect.Value) []string {
	var out []string
	entry := func(m, k reflect.Value) any {
		if v := m.MapIndex(k); v.IsValid() {
			return v.Interface()
		}
		return nil
	}
	for _, k := range slices.Concat(a.MapKeys(), b.MapKeys()) {
		if !reflect.DeepEqual(entry(a, k), entry(b, k)) {
			out = append(out, fmt.Sprintf("%s.%s", name, k))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func covers(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return name == s || strings.HasPrefix(name, s+".") })
}
