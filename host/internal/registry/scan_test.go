package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// module makes a WebAssembly module that exports functions without a body worth
// running, and holds custom sections.
func module(exports []string, sections map[string]string) []byte {
	b := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, body string) {
		b = append(b, id)
		b = append(b, leb(len(body))...)
		b = append(b, body...)
	}
	section(1, "\x01\x60\x00\x00") // one type: () -> ()
	funcs, names, code := string(leb(len(exports))), string(leb(len(exports))), string(leb(len(exports)))
	for i, e := range exports {
		funcs += "\x00"
		names += string(leb(len(e))) + e + "\x00" + string(leb(i))
		code += "\x02\x00\x0b"
	}
	section(3, funcs)
	section(7, names)
	section(10, code)
	for name, text := range sections {
		section(0, string(leb(len(name)))+name+text)
	}
	return b
}

func leb(n int) []byte {
	var out []byte
	for {
		c := byte(n & 0x7f)
		if n >>= 7; n == 0 {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// least is the shortest manifest of a plugin with one tool.
func least(plugin, tool string) []byte {
	return fmt.Appendf(nil, "schema = 1\nname = %q\n[[tool]]\nname = %q\ndescription = \"d\"\n", plugin, tool)
}

// report lists a snapshot, with paths relative to dir.
func report(s *Snapshot, dir string) string {
	var out []string
	for _, p := range s.Plugins {
		out = append(out, "ready "+p.Manifest.Name)
	}
	for _, r := range s.Refused {
		out = append(out, "refused "+r.Name+": "+r.Why().String())
	}
	for _, w := range s.Warnings {
		out = append(out, w.String())
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), dir+string(filepath.Separator), "")
}

func TestScan(t *testing.T) {
	wasm := module([]string{"a", "_start"}, nil)
	tests := []struct {
		name  string
		files map[string][]byte
		want  string
	}{
		{"a folder of its own", map[string][]byte{"a/plugin.toml": least("a", "a"), "a/a.wasm": wasm}, "ready a"},
		{"a module that carries its manifest", map[string][]byte{"a.wasm": module([]string{"a"}, map[string]string{SectionName: string(least("a", "a"))})}, "ready a"},
		{"things that are no plugins", map[string][]byte{"README.md": []byte("x"), "src/main.go": []byte("x"), ".git/plugin.toml": []byte("x"), "_old/plugin.toml": []byte("x"), ".x.wasm": []byte("x")}, ""},
		{"a module without a manifest", map[string][]byte{"a.wasm": wasm},
			"refused a: a.wasm: the module carries no manifest; put it into a folder of its own beside a plugin.toml with a [[tool]] for a; `weir plugin pack` makes one file of the two"},
		{"a script alone", map[string][]byte{"a.js": []byte("//")},
			"refused a.js: a.js: no plugin.toml beside it names its tools; give it a folder with a plugin.toml that says script = \"a.js\" and has a [[tool]] for each of its functions; `weir plugin new` makes one to start from"},
		{"a folder with a script alone", map[string][]byte{"a/main.js": []byte("//")}, "refused a: a/main.js: no plugin.toml beside it names its tools; give it a folder"},
		{"a TypeScript file alone", map[string][]byte{"a.ts": []byte("//")},
			"refused a.ts: a.ts: no plugin.toml beside it names its tools; give it a folder as main.ts with a plugin.toml that says script = \"main.js\" and has a [[tool]] for each of its functions; `weir plugin build` makes main.js of it, `weir plugin new --lang ts` a folder to start from"},
		{"a folder with a TypeScript file alone", map[string][]byte{"a/main.ts": []byte("//")}, "refused a: a/main.ts: no plugin.toml beside it names its tools; give it a folder as main.ts"},
		{"Go for TinyGo", map[string][]byte{"a.wasm": module([]string{"_initialize"}, map[string]string{"producers": "\x02Go"})}, "refused a: a.wasm: the module carries no manifest; write //go:wasmexport above the function, and build again: Go's own compiler ignores //export, which is TinyGo's"},
		{"a packed manifest with a fault", map[string][]byte{"a.wasm": module([]string{"a"}, map[string]string{SectionName: "schema = 1\nname = \"A\"\n"})},
			"refused a: a.wasm#weir.manifest:1:1: the manifest declares no tool; add a [[tool]] with name, description and parameters (and 1 more)"},
		{"an empty folder", map[string][]byte{"a/": nil}, "refused a: a: the folder is empty; put a plugin into it, or remove it"},
		{"a folder with a module but no manifest", map[string][]byte{"a/a.wasm": wasm}, "refused a: a/a.wasm: no plugin.toml beside it names its tools; give it a folder with a plugin.toml that says wasm = \"a.wasm\" and has a [[tool]] for each of its functions; `weir plugin new` makes one to start from"},
		{"a missing module", map[string][]byte{"a/plugin.toml": least("a", "a")},
			"refused a: a/a.wasm: the module is missing; build it with `weir plugin build`, or in weir's own repository with `make plugins`"},
		{"a missing export", map[string][]byte{"a/plugin.toml": least("a", "b"), "a/a.wasm": wasm},
			`refused a: a/a.wasm: the module does not export "b", which the tool b runs; export it from the source, or set export to one of: a`},
		{"a module without exports", map[string][]byte{"a/plugin.toml": least("a", "b"), "a/a.wasm": module(nil, nil)},
			`refused a: a/a.wasm: the module does not export "b", which the tool b runs; export it from the source, and build again`},
		{"a script", map[string][]byte{"a/plugin.toml": least("a", "a"), "a/a.wasm": []byte("#!/bin/sh\n")},
			"refused a: a/a.wasm: this is not a WebAssembly file; build the plugin for wasm32, for example with GOOS=wasip1 GOARCH=wasm; build it again as a core WebAssembly module"},
		{"an empty file", map[string][]byte{"a/plugin.toml": least("a", "a"), "a/a.wasm": nil},
			"refused a: a/a.wasm: the file is empty; build it again as a core WebAssembly module"},
		{"a file cut short", map[string][]byte{"a.wasm": wasm[:len(wasm)-5]}, "refused a: a.wasm: the file is cut short"},
		{"a component", map[string][]byte{"a.wasm": []byte("\x00asm\x0d\x00\x01\x00")}, "refused a: a.wasm: this is a WebAssembly component"},
		{"a newer plugin", map[string][]byte{"a/plugin.toml": []byte("schema = 1\nname = \"a\"\nmin_host = \"9.0\"\nbrand_new = true\n"), "a/a.wasm": wasm},
			"refused a: a/plugin.toml: the plugin needs weir 9.0 or newer, and this is 0.1.0; update weir, or use an older version of the plugin"},
		{"a manifest that is a folder", map[string][]byte{"a/plugin.toml/x": nil}, "refused a: a/plugin.toml: the manifest cannot be read: it is not a regular file"},
		{"two plugins of one name", map[string][]byte{"a/plugin.toml": least("p", "a"), "a/p.wasm": wasm, "b/plugin.toml": least("p", "b"), "b/p.wasm": module([]string{"b"}, nil)},
			"ready p\nrefused p: b/plugin.toml: the plugin name \"p\" belongs to a/plugin.toml already; rename or remove one of the two"},
		{"two tools of one name", map[string][]byte{"a/plugin.toml": least("a", "a"), "a/a.wasm": wasm, "b/plugin.toml": least("b", "a"), "b/b.wasm": wasm},
			"ready a\nrefused b: b/plugin.toml: the tool name \"a\" belongs to the plugin a (a/plugin.toml) already; rename the tool in b, or remove one of the two plugins"},
		{"a plugin named like another's tool", map[string][]byte{"a/plugin.toml": least("a", "a"), "a/a.wasm": wasm, "b/plugin.toml": least("b", "c"), "b/b.wasm": module([]string{"c"}, nil), "c/plugin.toml": least("c", "d"), "c/c.wasm": module([]string{"d"}, nil)},
			"ready a\nready b\nready c"},
		{"a warning", map[string][]byte{"a/plugin.toml": append([]byte("homepage = \"x\"\n"), least("a", "a")...), "a/a.wasm": wasm},
			"ready a\na/plugin.toml:1:1: warning: homepage is not a key this host knows, and is ignored"},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		for name, text := range tt.files {
			if !strings.HasSuffix(name, "/") {
				put(t, filepath.Join(dir, name), text)
			} else if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Version: "0.1.0"})
		if got := report(s, dir); !strings.HasPrefix(got, tt.want) || strings.Count(got, "\n") != strings.Count(tt.want, "\n") {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestScanStopsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a", "plugin.toml"), least("a", "a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := Scan(ctx, []plugin.Folder{{Path: dir}}, Options{}); len(s.Plugins)+len(s.Refused) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestFoldersHaveAnOrder(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	wasm := module([]string{"a"}, nil)
	for _, dir := range []string{first, second} {
		put(t, filepath.Join(dir, "a", "plugin.toml"), least("a", "a"))
		put(t, filepath.Join(dir, "a", "a.wasm"), wasm)
	}
	old := Scan(t.Context(), []plugin.Folder{{Path: second, Trust: plugin.TrustGranted}}, Options{})
	both := []plugin.Folder{{Path: first}, {Path: second}}
	if s := Scan(t.Context(), both, Options{}); !strings.HasPrefix(s.Plugins[0].Source, first) {
		t.Errorf("the first folder comes first: %s", s.Plugins[0].Source)
	}
	if s := Scan(t.Context(), both, Options{Previous: old}); !strings.HasPrefix(s.Plugins[0].Source, second) || len(s.Refused) != 1 {
		t.Errorf("but who was there stays: %s", s.Plugins[0].Source)
	}
}

func TestReadRefusesOtherBytes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "a.wasm")
	wasm := module([]string{"a"}, nil)
	put(t, filepath.Join(dir, "a", "plugin.toml"), least("a", "a"))
	put(t, path, wasm)
	p := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{}).Plugins[0]
	if got, err := p.Read(); err != nil || string(got) != string(wasm) {
		t.Errorf("%v", err)
	}
	put(t, path, append(wasm, 0, 2, 1, 'x'))
	if _, err := p.Read(); !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
	os.Remove(path)
	if _, err := p.Read(); err == nil || errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
}

func TestUnreadable(t *testing.T) {
	denied := &os.PathError{Op: "open", Path: "/p/a/plugin.toml", Err: syscall.EACCES}
	for _, tt := range []struct {
		path, want string
		err        error
		why        string
	}{
		{"/p/a/plugin.toml", "/p/a/plugin.toml: it cannot be read: permission denied; let the user that runs weir read it, for example with: chmod a+rX /p/a /p/a/plugin.toml", denied, "permissions: what to run"},
		{"/my p/it's.wasm", `/my p/it's.wasm: it cannot be read: permission denied; let the user that runs weir read it, for example with: chmod a+rX '/my p' '/my p/it'\''s.wasm'`, denied, "a path that a shell would take apart"},
		{"/p/b.wasm", "/p/b.wasm: it cannot be read: it is not a regular file", errors.New("it is not a regular file"), "anything else: permissions do not matter"},
	} {
		if got := unreadable(tt.path, tool.Textf("it cannot be read"), tt.err).String(); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.why, got, tt.want)
		}
	}
}

// TestShippedToolsKeepTheirNames: a plugin of another folder replaces a shipped one by its
// own name alone. It takes no tool's name from one, and none that is easily confused.
func TestShippedToolsKeepTheirNames(t *testing.T) {
	shipped, dir := t.TempDir(), t.TempDir()
	add := func(folder, name, tool string) {
		put(t, filepath.Join(folder, name, name+".wasm"), module([]string{tool}, nil))
		put(t, filepath.Join(folder, name, "plugin.toml"), least(name, tool))
	}
	for _, name := range []string{"repo_map", "read_file", "grep_search"} {
		add(shipped, name, name)
	}
	add(dir, "aa", "repo_rnap")
	add(dir, "bb", "read_file")
	add(dir, "grep_search", "grep_search")
	add(dir, "read_fi1e", "mine")
	s := Scan(t.Context(), []plugin.Folder{{Path: dir}, {Path: shipped, Shipped: true}}, Options{})
	var got []string
	for _, p := range s.Plugins {
		from := "shipped"
		if strings.HasPrefix(p.Source, dir) {
			from = "other"
		}
		got = append(got, from+" "+p.Manifest.Name)
	}
	if want := []string{"other grep_search", "shipped read_file", "shipped repo_map"}; !slices.Equal(got, want) {
		t.Errorf("%q instead of %q\n%s", got, want, report(s, dir))
	}
	if out := report(s, dir); !strings.Contains(out, "is easily taken for repo_map") || !strings.Contains(out, "easily taken for that of read_file") || !strings.Contains(out, "belongs to the plugin read_file") {
		t.Errorf("%s", out)
	}
}
