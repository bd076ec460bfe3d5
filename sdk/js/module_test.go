package js

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

func TestModuleIsTheSameEachTime(t *testing.T) {
	a, err := Module("x.js", []byte("export const x = 1"), "x", "y")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Module("x.js", []byte("export const x = 1"), "x", "y")
	if !bytes.Equal(a, b) {
		t.Error("two modules of one script differ")
	}
	if !bytes.Contains(a, []byte("export const x = 1")) || !bytes.Contains(a, []byte(`const FILE = "x.js";`)) {
		t.Error("the module lacks its texts")
	}
	for _, mark := range []string{"[sizes]!", "[prelude]", "[script]"} {
		if bytes.Contains(a, []byte(mark)) {
			t.Errorf("the place of %s is empty", mark)
		}
	}
}

func TestModuleProblems(t *testing.T) {
	for _, tt := range []struct {
		script string
		tools  []string
		want   string
	}{
		{"1", nil, "needs the name of a tool"},
		{"\xff", []string{"x"}, "not UTF-8"},
		{strings.Repeat(" ", MaxScript+1), []string{"x"}, "at most 4194304"},
		{"1", []string{"x", "x"}, `"x" cannot be the name`},
		{"1", []string{""}, `"" cannot be the name`},
		{"1", []string{"memory"}, `"memory" cannot be the name`},
		{"1", []string{"weir_mailbox"}, "cannot be the name"},
	} {
		if wasm, err := Module("x.js", []byte(tt.script), tt.tools...); err == nil || wasm != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, wanted %q", tt.tools, err, tt.want)
		}
	}
}

// A runtime that is cut short anywhere is an error and never a panic.
func TestCutRuntime(t *testing.T) {
	for n := 8; n < len(runtime); n += 1 + n/50 {
		if _, err := read(runtime[:n]); err == nil {
			t.Errorf("%d bytes are taken for the whole", n)
		}
	}
}

// A source map in the last line is taken out of the script; anything else there stays.
func TestCutSourceMap(t *testing.T) {
	const begins = "//# sourceMappingURL=data:application/json;base64,"
	of := func(text string) string { return begins + base64.StdEncoding.EncodeToString([]byte(text)) }
	script, m := cutSourceMap([]byte("f();\n" + of(`{"version":3,"sources":["../main.ts","../../lib/a.ts","/etc/x"],"mappings":"AAAA"}`) + "\n"))
	if string(script) != "f();\n" || m == nil || m.Mappings != "AAAA" || !slices.Equal(m.Sources, []string{"main.ts", "lib/a.ts", "etc/x"}) {
		t.Errorf("%q %+v", script, m)
	}
	if _, m := cutSourceMap([]byte(of(`{"sources":["` + strings.Repeat("a", 256) + `",null,"b"],"mappings":"AAAA"}`))); m == nil || !slices.Equal(m.Sources, []string{"", "", "b"}) {
		t.Errorf("of a name without an end it makes %v", m)
	}
	for _, last := range []string{"", begins, begins + "!", of("[]"), of("{}"), of(`{"mappings":"AAAA"}`), of(`{"sources":1,"mappings":"A"}`), of(`{"mappings":"A"}`) + "\ng();", "//# sourceMappingURL=main.js.map"} {
		if script, m := cutSourceMap([]byte("f();\n" + last)); m != nil || string(script) != "f();\n"+last {
			t.Errorf("%q: %q %+v", last, script, m)
		}
	}
}

// The starts of a source map are where its mappings begin, with what is known there, and
// end where a number makes no sense.
func TestStarts(t *testing.T) {
	many := strings.Repeat("EACC,", startSpacing/5+1)
	for _, tt := range []struct {
		mappings string
		want     []start
	}{
		{"", []start{}},
		{"AAAA", []start{}},
		{"AAAA,A;;EACC,", []start{{Row: 1}}},
		{"A,AAAA,", []start{{Row: 1, Offset: 2}}},
		{many + "D;;IACC;" + many, []start{{Row: 1, Column: 2}, {Row: 3, Column: 4, Offset: len(many) + 3, Before: [4]int{0, 0, 410, 410}}}},
		{many + "ggggggggggggg;" + many, []start{{Row: 1, Column: 2}}},
	} {
		if got := startsOf(tt.mappings); !slices.Equal(got[:min(2, len(got))], tt.want) {
			t.Errorf("%.20q: %+v", tt.mappings, got)
		}
	}
}

// A file and a source may be called like what the prelude is filled in at.
func TestPreludeIsFilledInOnce(t *testing.T) {
	p, err := preludeFor("const ORIGINS = null", &sourceMap{Sources: []string{`const FILE = "tool.js"`}, Mappings: "A"})
	for _, want := range []string{`const FILE = "const ORIGINS = null";`, `const ORIGINS = {"sources":["const FILE = \"tool.js\""],"mappings":"A","starts":null};`} {
		if err != nil || !bytes.Contains(p, []byte(want)) {
			t.Errorf("it does not contain %s; %v", want, err)
		}
	}
}
