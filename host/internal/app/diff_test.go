package app

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/host/internal/config"
)

// fixed are the settings that a reload leaves to the next start.
var fixed = []string{
	"server.addr", "server.hosts", "server.drain", "server.resume_grace", "mcp", "log.format",
	"scripts.memory", "scripts.cpu_time", "store.url",
}

// Every key of tools.toml is known to hold at once or not, so that a new one is
// thought about.
func TestEveryKeyHoldsAtOnceOrIsKnownNotTo(t *testing.T) {
	var keys []string
	top := reflect.TypeFor[config.Settings]()
	for i := range top.NumField() {
		f := top.Field(i)
		if !f.IsExported() { // which is no key
			continue
		}
		name := strings.SplitN(f.Tag.Get("toml"), ",", 2)[0]
		if f.Type.Kind() != reflect.Struct {
			keys = append(keys, name)
			continue
		}
		for j := range f.Type.NumField() {
			keys = append(keys, name+"."+strings.SplitN(f.Type.Field(j).Tag.Get("toml"), ",", 2)[0])
		}
	}
	for _, k := range keys {
		if covers(reloadable, k) == covers(fixed, k) {
			t.Errorf("%s: reloadable %v, fixed %v", k, covers(reloadable, k), covers(fixed, k))
		}
	}
	for _, k := range slices.Concat(reloadable, fixed) {
		if !slices.ContainsFunc(keys, func(known string) bool { return known == k || strings.HasPrefix(known, k+".") }) {
			t.Errorf("%s is no key of tools.toml", k)
		}
	}
}

func TestDiff(t *testing.T) {
	text := func(s string) config.Settings {
		t.Helper()
		out, faults := config.Parse("t", s)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		return out.WithDefaults()
	}
	before := text("[models.a]\nprovider='vllm'\nmodel='x'\n[models.b]\nprovider='vllm'\nmodel='x'\n[limits]\nmax_chars=5000\n[tools.t]\nmax_chars=900\n[sandbox]\nspares=2\n")
	after := text("locale='zh'\n[server]\naddr='127.0.0.1:1'\nmax_turns=3\n[models.a]\nprovider='vllm'\nmodel='y'\n[models.c]\nprovider='vllm'\nmodel='x'\n[limits]\nmax_chars=5000\n" +
		"[agents.p]\nmax_tool_calls=3\n[archive]\nthreshold=5\nmax_count=9\n")
	inForce, restart := Diff(before, after)
	want := []string{"agent.locale", "agents.p", "archive.max_count", "archive.threshold", "locale", "models.a", "models.b", "models.c", "sandbox.spares", "server.max_turns", "tools.t"}
	if d := cmp.Diff(want, inForce); d != "" {
		t.Errorf("in force (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"server.addr"}, restart); d != "" {
		t.Errorf("restart (-want +got):\n%s", d)
	}
	if a, b := Diff(before, before); len(a)+len(b) > 0 || a == nil || b == nil {
		t.Errorf("of the same: %v %v", a, b)
	}
}
