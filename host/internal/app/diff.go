package app

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/config"
)

// reloadable are the settings of tools.toml that a reload applies, by their tables and
// keys. A table includes all keys below it. All others apply from the next start.
var reloadable = []string{
	"locale", "server.max_turns", "server.page_folders", "log.level", "models", "agent", "agents", "users", "clients", "prompt", "limits", "tools", "grants", "summarize", "approvals", "telemetry",
	"archive", "tool_search", "plugins", "sandbox", "mcpServers",
	"scripts.offer", "scripts.folder", "scripts.tools", "scripts.calls", "scripts.parallel_calls", "scripts.at_once", "scripts.run_time", "scripts.patience",
}

// Diff returns the names of the settings that differ, as they are written in the
// file: those that a reload applies, and those that need a restart. Both are sorted
// and never nil.
func Diff(before, after config.Settings) (inForce, restart []string) {
	inForce, restart = []string{}, []string{}
	for _, name := range changedKeys("", reflect.ValueOf(before), reflect.ValueOf(after)) {
		if covers(reloadable, name) {
			inForce = append(inForce, name)
		} else {
			restart = append(restart, name)
		}
	}
	slices.Sort(inForce)
	slices.Sort(restart)
	return inForce, restart
}

// changedKeys returns the names of the keys of tables that differ, and of the entries
// of tables whose names the operator chooses.
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

// changedEntries returns the names of the entries that differ.
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

// covers reports whether a name or a table that includes it is in the list.
func covers(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return name == s || strings.HasPrefix(name, s+".") })
}
