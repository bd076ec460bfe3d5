package sandbox

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/wasmtest"
)

func TestInspect(t *testing.T) {
	info, err := Inspect(goGuest)
	if err != nil {
		t.Fatal(err)
	}
	if !info.IsGo || !slices.Contains(info.Exports, "echo") || !slices.Contains(info.Imports, "extism:host/user.weir_http") {
		t.Errorf("got %v %v %v", info.IsGo, info.Exports, info.Imports)
	}
	manifest := []byte(`{"name":"x"}`)
	packed := append(echoModule(), wasmtest.New().Section(wasmtest.SectionCustom, append(wasmtest.Name("weir.manifest"), manifest...)...).
		Section(wasmtest.SectionCustom, append(wasmtest.Name("weir.manifest"), "the second does not count"...)...).Bytes()[8:]...)
	info, err = Inspect(packed)
	if err != nil {
		t.Fatal(err)
	}
	want := Info{Exports: []string{"run"}, Imports: []string{"extism:host/env.input_offset", "extism:host/env.input_length", "extism:host/env.output_set"},
		Sections: map[string][]byte{"weir.manifest": manifest}}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Error(diff)
	}
}

// Inspect refuses a bomb that package wasmcheck refuses.
func TestInspectChecksTheModule(t *testing.T) {
	const says = "the import section declares 4294967295 imports in 0 bytes"
	bomb := wasmtest.New().Section(wasmtest.SectionImport, wasmtest.Lie(1<<32-1)...).Bytes()
	if _, err := Inspect(bomb); err == nil || err.Error() != says {
		t.Errorf("got %v, want %q", err, says)
	}
	e := newEngine(t, Config{})
	if _, err := e.Load(t.Context(), Plugin{Name: "bomb", Wasm: bomb}); err == nil || err.Error() != "plugin bomb: "+says {
		t.Errorf("got %v", err)
	}
}

// A rewritten module differs from the original in names only.
func TestRewriteChangesNamesOnly(t *testing.T) {
	before, err := parseModule(goGuest)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := newExtismFront(hclog.NewNullLogger(), true).plan(before)
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseModule(plan.wasm)
	if err != nil || len(plan.init) != 1 {
		t.Fatal(err, plan.init)
	}
	for i, b := range before.Imports {
		a := after.Imports[i]
		if a.Name != b.Name || !bytes.Equal(a.Desc, b.Desc) || (a.Module != b.Module) != (b.Module == "extism:host/env" && rerouted[b.Name]) {
			t.Errorf("import %v became %v", b, a)
		}
	}
	for i, b := range before.Exports {
		a := after.Exports[i]
		if a.Index != b.Index || a.Kind != b.Kind || (a.Name != b.Name) != (b.Name == "_initialize") {
			t.Errorf("export %v became %v", b, a)
		}
	}
	rest := func(s *structure) (out [][]byte) {
		for _, sec := range s.Sections {
			if sec.ID != wasmtest.SectionImport && sec.ID != wasmtest.SectionExport && sec.ID != wasmtest.SectionCustom {
				out = append(out, sec.Body)
			}
		}
		return out
	}
	if !slices.EqualFunc(rest(before), rest(after), bytes.Equal) {
		t.Error("something else changed")
	}
}

func TestInitializer(t *testing.T) {
	module := func(names ...string) []byte {
		var exports [][]byte
		for _, n := range names {
			exports = append(exports, exp(n, 0))
		}
		return wasmtest.New().Section(wasmtest.SectionType, types()...).Section(wasmtest.SectionFunction, wasmtest.Vec([]byte{4})...).
			Section(wasmtest.SectionExport, wasmtest.Vec(exports...)...).Section(wasmtest.SectionCode, wasmtest.Vec(code())...).Bytes()
	}
	for _, row := range []struct {
		exports []string
		want    string
	}{
		{[]string{"run"}, ""},
		{[]string{"_initialize"}, "_initialize"},
		{[]string{"__wasm_call_ctors"}, "__wasm_call_ctors"},
		{[]string{"__wasm_call_ctors", "_initialize"}, "_initialize"}, // the one that includes the other
		{[]string{"hs_init", "_initialize"}, ""},                      // left to the SDK
	} {
		s, err := parseModule(module(row.exports...))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.initializer(); got != row.want {
			t.Errorf("%v: got %q, want %q", row.exports, got, row.want)
		}
	}
}
