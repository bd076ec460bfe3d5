package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/plugin"
)

// claim has an index say that the file at path holds wasm.
func claim(t *testing.T, x *modindex.Index, path string, wasm []byte) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	x.Keep(path, info, time.Now().Add(time.Hour), inspectModule(wasm, digest(wasm)))
}

// listed returns the tool list for every third-party plugin.
func listed(_ context.Context, plugins []*Plugin) []Description {
	out := make([]Description, len(plugins))
	for i := range out {
		out[i].Answer = []byte(`{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}`)
	}
	return out
}

// What the index knows is not read, in all three forms: here it claims other
// bytes than lie there, so that reading them would show. Loading them does.
func TestIndexedFilesAreNotRead(t *testing.T) {
	section := func(version string) map[string]string {
		return map[string]string{SectionName: "version = \"" + version + "\"\n" + string(least("p", "p"))}
	}
	for _, tt := range []struct {
		form, file        string
		was, is           []byte
		manifest          []byte
		version, version2 string
	}{
		{"a folder", "p/p.wasm", module([]string{"p"}, nil), module([]string{"p", "q"}, nil), least("p", "p"), "", ""},
		{"a module with its manifest", "p.wasm", module([]string{"p"}, section("1")), module([]string{"p"}, section("2")), nil, "1", "2"},
		{"a module for other hosts", "p.wasm", module([]string{"describe", "call"}, nil), module([]string{"describe", "call", "more"}, nil), nil, "", ""},
	} {
		dir, x := t.TempDir(), modindex.Open("", "1")
		path := filepath.Join(dir, tt.file)
		put(t, path, tt.is)
		if tt.manifest != nil {
			put(t, filepath.Join(dir, "p", "plugin.toml"), tt.manifest)
		}
		claim(t, x, path, tt.was)
		opt := Options{Index: x, Describe: listed}
		first := Scan(t.Context(), []plugin.Folder{{Path: dir}}, opt)
		if len(first.Plugins) != 1 {
			t.Fatalf("%s: %s", tt.form, report(first, dir))
		}
		p := first.Plugins[0]
		if p.WasmSHA256 != digest(tt.was) || p.WasmBytes != len(tt.was) || p.Manifest.Version != tt.version {
			t.Errorf("%s: it was read: %+v", tt.form, p)
		}
		if _, err := p.Read(); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: loading what the index mistook: %v", tt.form, err)
		}
		opt.Previous = first
		again := Scan(t.Context(), []plugin.Folder{{Path: dir}}, opt)
		if len(again.Plugins) != 1 || again.Plugins[0].WasmSHA256 != digest(tt.is) || again.Plugins[0].Manifest.Version != tt.version2 {
			t.Errorf("%s: the index is still believed: %s", tt.form, report(again, dir))
		}
		if got, err := again.Plugins[0].Read(); err != nil || string(got) != string(tt.is) {
			t.Errorf("%s: %v", tt.form, err)
		}
	}
}

// What was read once is known. A refused module is known until weir ends: the next one
// may take it.
func TestReadFilesAreIndexed(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "index")
	x := modindex.Open(file, "1")
	good, bad := filepath.Join(dir, "good.wasm"), filepath.Join(dir, "bad.wasm")
	put(t, good, module([]string{"good"}, map[string]string{SectionName: string(least("good", "good"))}))
	put(t, bad, []byte("#!/bin/sh"))
	past := &scan{opt: Options{Index: x}, snap: &Snapshot{}, now: func() time.Time { return time.Now().Add(time.Hour) }}
	for _, path := range []string{good, bad} {
		past.open(candidate{source: path, packed: true})
	}
	if err := x.Save(); err != nil {
		t.Fatal(err)
	}
	next := modindex.Open(file, "1")
	for _, path := range []string{good, bad} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := x.Find(path, info); !ok || (f.Err == nil) != (path == good) {
			t.Errorf("%s: known is %v, %+v", path, ok, f)
		}
		if f, ok := next.Find(path, info); ok != (path == good) || ok && f.Exports[0] != "good" {
			t.Errorf("%s: the next one knows %v, %+v", path, ok, f)
		}
	}
}

// The index replaces no check: a link out of the folder and a pipe are refused even
// if the index contains their file.
func TestTheIndexAllowsNoLinkOutOfTheFolder(t *testing.T) {
	dir, x := t.TempDir(), modindex.Open("", "1")
	wasm := module([]string{"a"}, nil)
	far := filepath.Join(t.TempDir(), "a.wasm")
	put(t, far, wasm)
	put(t, filepath.Join(dir, "a", "plugin.toml"), least("a", "a"))
	link := filepath.Join(dir, "a", "a.wasm")
	if err := os.Symlink(far, link); err != nil {
		t.Fatal(err)
	}
	claim(t, x, link, wasm)
	claim(t, x, far, wasm)
	s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Index: x})
	if got := report(s, dir); !strings.Contains(got, "a link leads out of the plugin's folder") {
		t.Error(got)
	}
}

// A manifest that was sound is not judged again where that takes long: the index
// vouches here for one that is not, and the first call finds out.
func TestSoundManifestIsNotValidatedAgain(t *testing.T) {
	dir, x := t.TempDir(), modindex.Open("", "1")
	put(t, filepath.Join(dir, "a", "a.wasm"), module([]string{"a"}, nil))
	text := append(least("a", "a"), "[tool.params]\ntype = \"object\"\nproperties = { n = { type = \"nonsense\" } }\n"...)
	put(t, filepath.Join(dir, "a", "plugin.toml"), text)
	if s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Index: x}); len(s.Refused) != 1 || x.Sound(digest(text)) {
		t.Fatalf("%s", report(s, dir))
	}
	x.Vouch(digest(text))
	s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Index: x})
	if len(s.Plugins) != 1 {
		t.Fatalf("it was judged again: %s", report(s, dir))
	}
	schema := s.Plugins[0].Manifest.Tools[0].Schema
	if wrong := schema.Check(map[string]any{}); len(wrong) != 1 || len(schema.Names()) != 0 {
		t.Errorf("a schema that cannot be compiled takes everything: %v", wrong)
	}
}

// Read once more, a sound manifest says the same, and takes the same arguments.
func TestSoundManifestDecodesTheSame(t *testing.T) {
	files, err := filepath.Glob("../../../plugins/*/" + ManifestName)
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, problems := Parse(file, text, false, nil)
		again, more := Parse(file, text, true, nil)
		if len(problems)+len(more) > 0 {
			t.Fatal(file, problems, more)
		}
		for i := range first.Tools {
			a, b := &first.Tools[i], &again.Tools[i]
			for _, e := range a.Spec.Examples {
				args, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Args))
				if wrong := b.Schema.Check(args); err != nil || len(wrong) > 0 {
					t.Errorf("%s: %s: %v %v", file, e.Args, err, wrong)
				}
			}
			none := map[string]any{"no such argument": true}
			if x, y := fmt.Sprint(a.Schema.Check(none)), fmt.Sprint(b.Schema.Check(none)); x != y || !slices.Equal(a.Schema.Names(), b.Schema.Names()) {
				t.Errorf("%s: %v and %v", file, x, y)
			}
			a.Schema, b.Schema = nil, nil
		}
		if !reflect.DeepEqual(first, again) {
			t.Errorf("%s:\n%+v\n%+v", file, first, again)
		}
	}
}

// A manifest without errors is vouched for, with the files that it refers to.
func TestVouchedManifests(t *testing.T) {
	for name, tt := range map[string]struct {
		more  string
		sound bool
	}{
		"sound":            {"", true},
		"with a warning":   {"unheard_of = 1\n", true},
		"with a file":      {"params_file = \"p.json\"\n", true},
		"with a bad value": {"export = 1\n", false},
	} {
		dir, x := t.TempDir(), modindex.Open("", "1")
		text := append(least("a", "a"), tt.more...)
		put(t, filepath.Join(dir, "a", "plugin.toml"), text)
		put(t, filepath.Join(dir, "a", "p.json"), []byte(`{"type":"object"}`))
		put(t, filepath.Join(dir, "a", "a.wasm"), module([]string{"a"}, nil))
		Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Index: x})
		if x.Sound(digest(text)) != tt.sound {
			t.Errorf("a manifest %s: vouched for is %v", name, !tt.sound)
		}
		if name == "with a file" {
			put(t, filepath.Join(dir, "a", "p.json"), []byte(`{"type":"wrong"}`))
			if s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Index: x}); len(s.Plugins) > 0 || len(s.Refused) != 1 {
				t.Error("another file is taken for the one that was vouched for")
			}
		}
	}
}
