package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	packed := append(echoModule(), new(asm).section(sectionCustom, append(str("weir.manifest"), manifest...)...).
		section(sectionCustom, append(str("weir.manifest"), "the second does not count"...)...).bytes()[8:]...)
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

func TestInspectRefuses(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	for _, row := range []struct {
		name string
		wasm []byte
		says string
	}{
		{"a count beyond the bytes", new(asm).section(sectionImport, huge...).bytes(), "its import section is damaged: it says 4294967295 entries in 0 bytes"},
		{"a name beyond them", new(asm).section(sectionCustom, huge...).bytes(), "its custom section is damaged: it says 4294967295 entries in 0 bytes"},
		{"a section beyond the file", append(new(asm).bytes(), 10, 0x7f, 1), "its code section says 127 bytes and 1 are left"},
		{"a number that does not end", new(asm).section(sectionFunction, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff).bytes(), "a number is longer than 32 bits"},
		{"a name that is no text", new(asm).section(sectionExport, 1, 1, 0xff, 0, 0).bytes(), "a name is not UTF-8"},
		{"an import of nothing", new(asm).section(sectionImport, 1, 0, 0, 9).bytes(), "an import of unknown kind 9"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := Inspect(row.wasm); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, want %q", err, row.says)
			}
		})
	}
}

// TestRewriteChangesNamesOnly reads a rewritten module again and compares.
func TestRewriteChangesNamesOnly(t *testing.T) {
	before, err := parseModule(goGuest)
	if err != nil {
		t.Fatal(err)
	}
	wasm, hasInit := before.rewrite()
	after, err := parseModule(wasm)
	if err != nil || !hasInit {
		t.Fatal(err, hasInit)
	}
	for i, b := range before.imports {
		a := after.imports[i]
		if a.name != b.name || !bytes.Equal(a.desc, b.desc) || (a.module != b.module) != (b.module == "extism:host/env" && rerouted[b.name]) {
			t.Errorf("import %v became %v", b, a)
		}
	}
	for i, b := range before.exports {
		a := after.exports[i]
		if a.index != b.index || a.kind != b.kind || (a.name != b.name) != (b.name == "_initialize") {
			t.Errorf("export %v became %v", b, a)
		}
	}
	rest := func(s *structure) (out [][]byte) {
		for _, sec := range s.sections {
			if sec.id != sectionImport && sec.id != sectionExport && sec.id != sectionCustom {
				out = append(out, sec.body)
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
		return new(asm).section(sectionType, types()...).section(sectionFunction, vec([]byte{4})...).
			section(sectionExport, vec(exports...)...).section(10, vec(code())...).bytes()
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

// FuzzInspect holds it to its promise: an answer or a sentence, never a panic,
// and what passes survives being rewritten.
func FuzzInspect(f *testing.F) {
	f.Add(echoModule())
	f.Add(bareModule(0x41, 0))
	f.Add(memoryModule([]byte{1, 1, 1}, 0x41, 0))
	f.Add(startModule(nil, 0, 0x00))
	f.Add(new(asm).section(sectionImport, vec(cat(str("a"), str("b"), []byte{kindMemory, 1, 1, 2}), cat(str("a"), str("c"), []byte{kindTable, 0x70, 0, 1}))...).bytes())
	f.Fuzz(func(t *testing.T, wasm []byte) {
		s, err := parseModule(wasm)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00") || err.Error() == "" {
				t.Errorf("an odd sentence: %q", err)
			}
			return
		}
		again, _ := s.rewrite()
		t2, err := parseModule(again)
		if err != nil {
			t.Fatalf("the rewritten module is damaged: %v", err)
		}
		if len(t2.imports) != len(s.imports) || len(t2.exports) != len(s.exports) || len(t2.funcs) != len(s.funcs) {
			t.Error("the rewritten module is another one")
		}
	})
}
