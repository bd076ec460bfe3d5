package author_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/toolchain"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/plugintest"
	"github.com/weirhost/weir/internal/testsize"
	"github.com/weirhost/weir/sdk/tool"
)

// TestTemplates: what `weir plugin new` makes builds without a network, and its
// cases hold, for every language and template. Everyday that is so for the languages that
// need no other compiler.
func TestTemplates(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	all := t.TempDir()
	var typed []string
	for _, l := range author.Languages() {
		if !testsize.All() && l.Name != "go" && l.Name != "js" {
			continue
		}
		for _, template := range l.Templates {
			t.Run(l.Name+"/"+template, func(t *testing.T) {
				need(t, l)
				dir := filepath.Join(all, l.Name, template, "sample")
				own, err := author.New(dir, author.Spec{Name: "sample", Language: l.Name, Template: template})
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := author.Of(dir); !ok || got.Name != l.Name {
					t.Errorf("the folder counts as one of %q", got.Name)
				}
				for _, name := range own {
					text, err := os.ReadFile(filepath.Join(dir, name))
					if err != nil || strings.Contains(string(text), "{%") || strings.Contains(string(text), "github.com/weirhost/weir/sdk") {
						t.Errorf("%s: %v\n%s", name, err, text)
					}
				}
				module := "sample.wasm"
				switch l.Name {
				case "assemblyscript":
					linkModules(t, "assemblyscript", dir)
				case "ts":
					linkModules(t, "js", dir)
					module = "main.js"
					typed = append(typed, filepath.Join(dir, "main.ts"))
				}
				if _, err := author.Make(t.Context(), dir, filepath.Join(dir, module), io.Discard); err != nil {
					f, _ := errors.AsType[*author.Failed](err)
					t.Fatalf("%v %+v", err, f)
				}
				plugintest.Check(t, dir, plugintest.Config{CacheDir: guesttest.Cache(t), FuzzCalls: 10})
			})
		}
	}
	if len(typed) == 0 {
		return // need has said why
	}
	// One run for all: the compiler takes 3 seconds to read its own library.
	if text, err := exec.Command(guesttest.Need(t, guesttest.Tsc), append([]string{"--noEmit", "--strict", "--target", "es2022"}, typed...)...).CombinedOutput(); err != nil {
		t.Errorf("types: %v\n%s", err, text)
	}
}

// linkModules puts what npm has fetched for all tests of an SDK into a folder.
func linkModules(t *testing.T, sdk, dir string) {
	t.Helper()
	if err := os.Symlink(filepath.Join(guesttest.Root(t), "sdk", sdk, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
}

// need leaves a language out whose toolchain is missing; in CI none may be.
func need(t *testing.T, l author.Language) {
	t.Helper()
	missing := l.Missing()
	if missing == nil {
		switch l.Name {
		case "assemblyscript":
			guesttest.Need(t, guesttest.Asc)
		case "ts":
			guesttest.Need(t, guesttest.Tsc)
		}
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v: %s", missing, missing.Get)
	}
	t.Skipf("%v: %s", missing, missing.Get)
}

// TestNew: a folder with something in it is left alone, an empty one is taken.
func TestNew(t *testing.T) {
	spec := author.Spec{Name: "sample", Language: "go", Template: "basic"}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := author.New(full, spec)
	if _, ok := errors.AsType[*author.ErrNotEmpty](err); !ok {
		t.Errorf("of a folder that is not empty it says %v", err)
	}
	if left, _ := fs.Glob(os.DirFS(full), "*"); len(left) != 1 {
		t.Errorf("it holds %v now", left)
	}
	if _, err := author.New(t.TempDir(), spec); err != nil {
		t.Error(err)
	}
	if _, err := author.New(t.TempDir(), author.Spec{Name: "sample", Language: "go", Template: "common"}); err == nil {
		t.Error("what all templates have counts as one")
	}
}

// TestLanguageByItsTitle: a language is the same under its name and its title, in any case.
func TestLanguageByItsTitle(t *testing.T) {
	for _, l := range author.Languages() {
		want, err := author.Files(author.Spec{Name: "sample", Language: l.Name, Template: "basic"})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{l.Title, strings.ToUpper(l.Name)} {
			got, err := author.Files(author.Spec{Name: "sample", Language: name, Template: "basic"})
			if err != nil || string(got["plugin.toml"]) != string(want["plugin.toml"]) {
				t.Errorf("%s: %v\n%s", name, err, got["plugin.toml"])
			}
		}
	}
}

// TestFromModule: a module without a manifest gets one that fits it, whatever its functions
// are called; what cannot be a tool is left out or refused.
func TestFromModule(t *testing.T) {
	module := func(exports ...[]byte) string {
		m := wasmtest.New().
			Types(wasmtest.Func(nil, []byte{wasmtest.I32}), wasmtest.Func([]byte{wasmtest.I32}, nil)).
			Functions(0, 1).Exports(exports...).
			Code(wasmtest.Body(0x41, 0), wasmtest.Body())
		file := filepath.Join(t.TempDir(), "m.wasm")
		if err := os.WriteFile(file, m.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	dir := filepath.Join(t.TempDir(), "sample")
	files, err := author.FromModule(dir, "sample", module(wasmtest.ExportFunc("countVowels", 0), wasmtest.ExportFunc("count-vowels", 0),
		wasmtest.ExportFunc("takes_one", 1), wasmtest.ExportFunc("_initialize", 0), wasmtest.ExportFunc("数", 0), wasmtest.ExportFunc("load_tool_history", 0), wasmtest.ExportFunc(`a"b`, 0)))
	if err != nil || !slices.Equal(files, []string{"plugin.toml", "sample.wasm"}) {
		t.Fatal(files, err)
	}
	p, problems := registry.Check(dir, "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var tools []string
	for _, tl := range p.Manifest.Tools {
		tools = append(tools, tl.Spec.Name+"="+tl.Export)
	}
	if want := []string{"count_vowels=countVowels", "sample_2=count-vowels", "sample_3=数", "sample_4=load_tool_history", `sample_5=a"b`}; !slices.Equal(tools, want) {
		t.Errorf("its tools are %q, wanted %q", tools, want)
	}
	if _, err := author.FromModule(dir, "sample", module(wasmtest.ExportFunc("a", 0))); err == nil {
		t.Error("it writes over a plugin")
	}
	text := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(text, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(t.TempDir(), "packed.wasm")
	if err := os.WriteFile(packed, wasmtest.New().Types(wasmtest.Func(nil, nil)).Functions(0).Exports(wasmtest.ExportFunc("a", 0)).Code(wasmtest.Body()).Custom(registry.SectionName, []byte("name = \"a\"")).Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	list, call := registry.ABIDescribe.Exports()
	for _, bad := range []string{text, text + "2", packed, os.DevNull, module(), module(wasmtest.ExportFunc("f", 1)), module(wasmtest.ExportFunc(list, 0), wasmtest.ExportFunc(call, 0))} {
		out := filepath.Join(t.TempDir(), "out")
		if _, err := author.FromModule(out, "sample", bad); err == nil {
			t.Errorf("it takes %s", bad)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("of %s it leaves a folder", bad)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "word_count", "a1"} {
		if why := author.CheckName(good); !why.IsZero() {
			t.Error(why)
		}
	}
	for _, bad := range []string{"", "Word", "1a", "a-b", "a__b", "../a", "load_tool_history", strings.Repeat("a", 65)} {
		if author.CheckName(bad).IsZero() {
			t.Errorf("%q counts as a name", bad)
		}
	}
}

// TestMake: what cannot be built leaves the module that is there alone, and says why.
func TestMake(t *testing.T) {
	dir := t.TempDir()
	wasm := filepath.Join(dir, "a.wasm")
	if err := os.WriteFile(wasm, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := author.Make(t.Context(), dir, wasm, io.Discard); !errors.Is(err, author.ErrUnknown) {
		t.Errorf("of a folder without sources it says %v", err)
	}
	for name, text := range map[string]string{"go.mod": "module example.com/a\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() { nothing() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	_, err := author.Make(t.Context(), dir, wasm, &said)
	f, ok := errors.AsType[*author.Failed](err)
	if !ok || !strings.Contains(f.Output, "main.go:3") || said.String() != f.Output {
		t.Errorf("of sources with a mistake it says %v and prints %q", err, said.String())
	}
	if b, err := os.ReadFile(wasm); err != nil || string(b) != "before" {
		t.Errorf("the module is %q now, %v", b, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".weir-build-*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = author.Make(t.Context(), dir, wasm, io.Discard)
	if m, ok := errors.AsType[*author.Missing](err); !ok || m.Program != "go" || m.Get == "" {
		t.Errorf("without Go it says %v", err)
	}
}

// TestTypeScript: a main.ts beside a script is built into the script by what npm fetches;
// without a script it is AssemblyScript.
func TestTypeScript(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, "main.ts"): "export function a(x: string) { return x }\n",
		filepath.Join(bin, "node"):    "#!/bin/sh\n",
		filepath.Join(bin, "npm"):     "#!/bin/sh\necho npm \"$@\" >>log\n/bin/mkdir -p node_modules/esbuild\n",
		filepath.Join(bin, "npx"):     "#!/bin/sh\necho npx \"$1\" \"$2\" >>log\nfor a; do case $a in --outfile=*) /bin/sed 's/: string//' main.ts >\"${a#--outfile=}\";; esac; done\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if l, _ := author.Of(dir); l.Name != "assemblyscript" {
		t.Errorf("without a script it counts as one of %q", l.Name)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.toml"), []byte("name = \"a\"\nscript = \"main.js\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	script := filepath.Join(dir, "main.js")
	for range 2 {
		b, err := author.Make(t.Context(), dir, script, io.Discard)
		if err != nil || b.Language.Name != "ts" {
			t.Fatal(b.Language.Name, err)
		}
	}
	if text, err := os.ReadFile(script); err != nil || string(text) != "export function a(x) { return x }\n" {
		t.Errorf("%q, %v", text, err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if want := "npm install --prefix . --save-dev --no-audit --no-fund --loglevel=error esbuild@^0.28.0\nnpx esbuild main.ts\nnpx esbuild main.ts\n"; string(log) != want {
		t.Errorf("%s%v", log, err)
	}
}

// TestSourceOfTypeScript: what a tool in TypeScript throws is reported with the place in its
// source, in a call and before any, whatever the script was bundled from.
func TestSourceOfTypeScript(t *testing.T) {
	guesttest.Need(t, guesttest.Tsc)
	dir := filepath.Join(t.TempDir(), "a")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	linkModules(t, "js", dir)
	put := func(name, text string) {
		to := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put("plugin.toml", "schema = 1\nname = \"a\"\nscript = \"main.js\"\n[[tool]]\nname = \"a\"\ndescription = \"d\"\n[tool.params]\ntype = \"object\"\n")
	put("lib/price.ts", "interface Item {\n  price: number;\n}\n\nexport const price = (i?: Item): number =>\n  i!.price;\n")
	put("main.ts", "import { price } from \"./lib/price\";\ntype Args = {\n  deep: boolean;\n};\nexport function a(args: Args): string {\n  if (args.deep) return String(price());\n  throw new RangeError(\"too much\");\n}\n")
	if _, err := author.Make(t.Context(), dir, filepath.Join(dir, "main.js"), io.Discard); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Config{CacheDir: guesttest.Cache(t), Settings: host.Settings{
		Folders: []plugin.Folder{{Path: filepath.Dir(dir), Trust: plugin.TrustGranted}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for deep, want := range map[string]string{"true": "(lib/price.ts:6:3)", "false": "RangeError: too much (main.ts:7:13)"} {
		r, err := h.Session("me", "1").Call(t.Context(), tool.Call{Tool: "a", Args: []byte(`{"deep":` + deep + `}`)})
		if err != nil || r.Err == nil || !strings.Contains(r.Err.Error(), want) {
			t.Errorf("it says %+v, %v; wanted %q", r.Err, err, want)
		}
	}
	put("main.ts", "type Args = {\n};\nexport function a(args: Args): string {\n  return '';\n}\na(undefined!.x);\n")
	if _, err := author.Make(t.Context(), dir, filepath.Join(dir, "main.js"), io.Discard); err != nil {
		t.Fatal(err)
	}
	report, err := plugintest.Run(t.Context(), dir, plugintest.Config{CacheDir: guesttest.Cache(t)})
	if err != nil || len(report.Problems) != 1 || !strings.HasSuffix(report.Problems[0].String(), "main.ts:6:1: TypeError: cannot read property 'x' of undefined") {
		t.Errorf("%v, %v", report.Problems, err)
	}
}

// TestSourceMaps: whatever a source map says, the error of its script is reported: with the
// place in the source, or where the map does not make sense, in the script.
func TestSourceMaps(t *testing.T) {
	for i, tt := range []struct{ sources, mappings, want string }{
		{`["main.ts"]`, "AAAA;" + strings.Repeat("AAAA,", 1000) + "AAEC", "main.ts:3:2: Error: no"},
		{`["main.ts"]`, strings.Repeat("CAAC,", 3000) + "CAAC;AAEA,EACA,QAEC," + strings.Repeat("CAAC,", 3000) + ";AAAA", "main.ts:6:3003: Error: no"},
		{`["main.ts"]`, "AAAA;AA" + strings.Repeat("g", 30) + "BA", "main.js:2:11: Error: no"},
		{`["main.ts"]`, "AAAA;AADA", "main.js:2:11: Error: no"},
		{`[null, "main.ts"]`, "AAAA;AAAA", "main.js:2:11: Error: no"},
		{`["main.ts"]`, "AAAA;ACAA", "main.js:2:11: Error: no"},
		{`["main.ts"]`, "AAAA;!é,AAAA", "main.ts:1:1: Error: no"},
	} {
		dir := t.TempDir()
		source := fmt.Sprintf(`{"version":3,"sources":%s,"mappings":"%s"}`, tt.sources, tt.mappings)
		for name, text := range map[string]string{
			"plugin.toml": "schema = 1\nname = \"a\"\nscript = \"main.js\"\n[[tool]]\nname = \"a\"\ndescription = \"d\"\n[tool.params]\ntype = \"object\"\n",
			"main.js":     "export function a() {}\nthrow new Error('no');\n//# sourceMappingURL=data:application/json;base64," + base64.StdEncoding.EncodeToString([]byte(source)),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		report, err := plugintest.Run(t.Context(), dir, plugintest.Config{CacheDir: guesttest.Cache(t)})
		if err != nil || len(report.Problems) != 1 || !strings.HasSuffix(report.Problems[0].String(), tt.want) {
			t.Errorf("%d: it says %v, %v; wanted %q", i, report.Problems, err, tt.want)
		}
	}
}

// TestCargo: a folder with a Cargo.toml is built by cargo, which finds what it depends on.
func TestCargo(t *testing.T) {
	testsize.Only(t)
	l, _ := author.Named("rust")
	need(t, l)
	compiler, _, _ := toolchain.Rustc()
	if _, err := exec.LookPath(toolchain.Cargo(compiler)); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("cargo is missing: apt install cargo")
		}
		t.Skip("cargo is missing: apt install cargo")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Cargo.toml":      "[package]\nname = \"my-tool\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[lib]\ncrate-type = [\"cdylib\"]\n[dependencies]\nnine = { path = \"nine\" }\n",
		"src/lib.rs":      "#[no_mangle]\npub extern \"C\" fn my_tool() -> i32 { nine::nine() }\n",
		"nine/Cargo.toml": "[package]\nname = \"nine\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
		"nine/src/lib.rs": "pub fn nine() -> i32 { 9 }\n",
	} {
		to := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := author.Of(dir); got.Name != "rust" {
		t.Fatalf("the folder counts as one of %q", got.Name)
	}
	wasm := filepath.Join(dir, "my_tool.wasm")
	if _, err := author.Make(t.Context(), dir, wasm, io.Discard); err != nil {
		f, _ := errors.AsType[*author.Failed](err)
		t.Fatalf("%v %+v", err, f)
	}
	if module, err := os.ReadFile(wasm); err != nil || !bytes.HasPrefix(module, []byte("\x00asm")) || !bytes.Contains(module, []byte("my_tool")) {
		t.Errorf("%d bytes are no module with the tool, %v", len(module), err)
	}
}
