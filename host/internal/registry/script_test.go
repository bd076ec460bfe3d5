package registry

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/js"
)

// scripted is a manifest with a script and the tools of these names.
func scripted(script string, tools ...string) []byte {
	text := "schema = 1\nname = \"p\"\n" + script + "\n"
	for _, name := range tools {
		text += "[[tool]]\nname = \"" + name + "\"\ndescription = \"d\"\n[tool.params]\ntype = \"object\"\n"
	}
	return []byte(text)
}

// What is run, and named by its digest, is the module; what is kept is the script.
func TestScript(t *testing.T) {
	dir, source := t.TempDir(), []byte("export function a() { return 'x' }")
	put(t, filepath.Join(dir, "p", "plugin.toml"), scripted(`script = "src/p.js"`, "a", "b"))
	put(t, filepath.Join(dir, "p", "src", "p.js"), source)
	s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{})
	if len(s.Plugins) != 1 {
		t.Fatal(report(s, dir))
	}
	p := s.Plugins[0]
	want, err := js.Module("p.js", source, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Read()
	if err != nil || !bytes.Equal(got, want) || p.WasmSHA256 != digest(want) || p.WasmBytes != len(want) {
		t.Errorf("the module is not the one of the script: %v", err)
	}
	files, _, err := p.Files()
	if err != nil || len(files) != 2 || !bytes.Equal(files["src/p.js"], source) {
		t.Errorf("kept are %d files, %v", len(files), err)
	}
	put(t, filepath.Join(dir, "p", "src", "p.js"), append(source, ' '))
	if _, err := p.Read(); !errors.Is(err, ErrChanged) {
		t.Errorf("another script: %v", err)
	}
}

// The index knows what was made of a script for the tools of that time.
func TestScriptInTheIndex(t *testing.T) {
	dir, x := t.TempDir(), modindex.Open("", "1")
	path := filepath.Join(dir, "p", "p.js")
	put(t, path, []byte("//"))
	for _, tools := range [][]string{{"a"}, {"a", "b"}, {"b"}} {
		put(t, filepath.Join(dir, "p", "plugin.toml"), scripted(`script = "p.js"`, tools...))
		want, err := js.Module("p.js", []byte("//"), tools...)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Index: x})
			if len(s.Plugins) != 1 || s.Plugins[0].WasmSHA256 != digest(want) {
				t.Fatalf("%v: %s", tools, report(s, dir))
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			x.Keep(s.Plugins[0].indexKey(), info, time.Now().Add(time.Hour), inspectModule(want, digest(want)))
		}
	}
}

// A script is packed as the module that it makes.
func TestPackScript(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "p", "plugin.toml"), scripted(`script = "p.js"`, "a"))
	put(t, filepath.Join(dir, "p", "p.js"), []byte("export const a = () => 1"))
	_, packed, problems := Pack(filepath.Join(dir, "p"), "", false)
	if len(errorsOf(problems)) > 0 {
		t.Fatal(problems)
	}
	out := filepath.Join(t.TempDir(), "p.wasm")
	put(t, out, packed)
	if p, problems := Check(out, ""); len(errorsOf(problems)) > 0 || p.IsScript() {
		t.Error(problems)
	}
}

// What a script says of itself once it has run decides whether its tools are there.
func TestScriptReport(t *testing.T) {
	for _, tt := range []struct {
		name string
		says Description
		want string
	}{
		{"all is there", Description{Answer: []byte(`{"exports":["other","a"]}`)}, ""},
		{"an export is missing", Description{Answer: []byte(`{"exports":["other"]}`)}, `p.js: the script exports no function "a", which the tool a runs; export it from the source, or set export to one of: other`},
		{"it threw", Description{Answer: []byte(`{"error":"SyntaxError: no","line":2,"column":7}`)}, "p.js:2:7: SyntaxError: no"},
		{"it imports a module of Node.js", Description{Answer: []byte(`{"error":"ReferenceError: could not load module 'fs'"}`)}, "p.js: ReferenceError: could not load module 'fs'; a script is one file and has no modules of Node.js; "},
		{"a source of it threw", Description{Answer: []byte(`{"error":"Error: no","file":"lib/main.ts","line":2,"column":7}`)}, "p/lib/main.ts:2:7: Error: no"},
		{"a file elsewhere threw", Description{Answer: []byte(`{"error":"Error: no","file":"../../etc/passwd","line":2,"column":7}`)}, "p/p.js:2:7: Error: no"},
		{"a file without an end threw", Description{Answer: []byte(`{"error":"Error: no","file":"` + strings.Repeat("a", 2000) + `","line":2,"column":7}`)}, "p/p.js:2:7: Error: no"},
		{"it threw nowhere", Description{Answer: []byte(`{"error":"boom","line":-2}`)}, "p.js: boom"},
		{"it does not end", Description{Err: errors.New("it did not answer within 10s")}, "p.js: the top level of the script cannot run: it did not answer within 10s"},
		{"it says nonsense", Description{Answer: []byte("[")}, "p.js: the top level of the script cannot run: "},
		{"nothing yet", Description{Pending: true}, "pending"},
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "p", "plugin.toml"), scripted(`script = "p.js"`, "a"))
		put(t, filepath.Join(dir, "p", "p.js"), []byte("//"))
		s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Describe: func(_ context.Context, all []*Plugin) []Description {
			if len(all) != 1 || all[0].Asked() != js.Check {
				t.Errorf("%s: asked are %v", tt.name, all)
			}
			return []Description{tt.says}
		}})
		switch got := report(s, dir); {
		case tt.want == "" && len(s.Plugins) != 1, tt.want == "pending" && len(s.Pending) != 1:
			t.Errorf("%s: %s", tt.name, got)
		case tt.want != "" && tt.want != "pending" && (len(s.Refused) != 1 || !strings.Contains(got, tt.want)):
			t.Errorf("%s: %s\nwanted %q", tt.name, got, tt.want)
		}
	}
}

// What a script says of itself may hold sequences that a terminal obeys.
func TestScriptReportIsClean(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "plugin.toml"), scripted(`script = "p.js"`, "a"))
	put(t, filepath.Join(dir, "p.js"), []byte("//"))
	p, problems := Check(dir, "0.1.0")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := p.CheckScript(t.Context(), func(context.Context, []*Plugin) []Description {
		return []Description{{Answer: []byte(`{"error":"Error: \u001b[31mno","file":"a\u001b.ts","line":1,"column":1}`)}}
	})
	if len(got) != 1 || strings.Contains(got[0].String(), "\x1b") || !strings.Contains(got[0].String(), "Error: ") {
		t.Errorf("it says %q", got)
	}
}

// The SDK of scripts writes result objects: a manifest need not say so.
func TestFormatOfScripts(t *testing.T) {
	for text, want := range map[string]Format{"script = \"p.js\"": FormatMCP, "wasm = \"p.wasm\"": FormatText} {
		if m, problems := ParseManifest("plugin.toml", scripted(text, "a")); len(m.Tools) != 1 || m.Tools[0].Format != want {
			t.Errorf("%s: %v, %v", text, m.Tools, problems)
		}
	}
}

func TestScriptProblems(t *testing.T) {
	for _, tt := range []struct{ line, script, want string }{
		{`script = "p.js"`, "", "the script is missing; put it there, build it from TypeScript with `weir plugin build`"},
		{`script = "p.js"`, "\xff\xfe", "is not UTF-8"},
		{`script = "p.js"`, strings.Repeat("/", js.MaxScript+1), "at most 4194304"},
		{`script = "p.ts"`, "1", "is TypeScript; write script = \"main.js\""},
		{`script = "p.mjs"`, "1", "is no JavaScript"},
		{`script = "../p.js"`, "1", "leads out of the manifest's folder"},
		{`wasm = "p.js"`, "1", "is a script"},
		{"script = \"p.js\"\nwasm = \"p.wasm\"", "1", "are both there"},
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "p", "plugin.toml"), scripted(tt.line, "a"))
		if tt.script != "" {
			put(t, filepath.Join(dir, "p", "p.js"), []byte(tt.script))
		}
		s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{})
		if got := report(s, dir); len(s.Plugins) != 0 || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s\nwanted %q", tt.line, got, tt.want)
		}
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "p", "plugin.toml"), scripted(`script = "p.js"`, "a"))
	if err := os.Mkdir(filepath.Join(dir, "p", "p.js"), 0o755); err != nil {
		t.Fatal(err)
	}
	if s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{}); len(s.Plugins) != 0 {
		t.Error("a folder passed for a script")
	}
}
