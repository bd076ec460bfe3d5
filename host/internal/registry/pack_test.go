package registry

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/plugin"
)

// inParts puts a plugin's manifest and module into a folder of its own.
func inParts(t *testing.T, manifest string, wasm []byte) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "plugin.toml"), []byte(manifest))
	put(t, filepath.Join(dir, "a.wasm"), wasm)
	return dir
}

func TestPack(t *testing.T) {
	manifest := string(least("a", "a"))
	wasm := module([]string{"a"}, map[string]string{SectionName: "an older manifest", "name": "debugging data"})
	dir := inParts(t, manifest, wasm)
	p, packed, problems := Pack(dir, "0.1.0", false)
	if len(problems) > 0 || p.Manifest.Name != "a" {
		t.Fatalf("%+v %v", p, problems)
	}
	info, err := sandbox.Inspect(packed)
	if err != nil || string(info.Sections[SectionName]) != manifest || string(info.Sections["name"]) != "debugging data" {
		t.Fatalf("sections %q, %v", info.Sections, err)
	}
	if n := bytes.Count(packed, []byte(SectionName)); n != 1 {
		t.Errorf("the section is there %d times", n)
	}
	if _, again, _ := Pack(dir, "0.1.0", false); !bytes.Equal(packed, again) {
		t.Error("the same files give other bytes")
	}
	put(t, filepath.Join(dir, "a.wasm"), packed)
	if _, again, _ := Pack(dir, "0.1.0", false); !bytes.Equal(packed, again) {
		t.Error("packing what was packed gives other bytes")
	}
	if _, stripped, _ := Pack(dir, "0.1.0", true); bytes.Contains(stripped, []byte("debugging data")) || !bytes.Contains(stripped, []byte(manifest)) {
		t.Error("strip drops the others and nothing else")
	}
	alone := t.TempDir()
	put(t, filepath.Join(alone, "whatever.wasm"), packed)
	if got := report(Scan(t.Context(), []plugin.Folder{{Path: alone}}, Options{}), alone); got != "ready a" {
		t.Errorf("dropped alone: %s", got)
	}
}

// A Go guest that is stripped is still known as one: its runtime wants memory.
func TestStripKeepsTheCompilersMark(t *testing.T) {
	dir := inParts(t, string(least("a", "a")), module([]string{"a", "_initialize"}, map[string]string{"go:buildid": "x"}))
	_, packed, problems := Pack(dir, "", true)
	info, err := sandbox.Inspect(packed)
	if err != nil || !info.IsGo {
		t.Errorf("%v %v %v", info, err, problems)
	}
}

const withFile = `schema = 1
name = "a"
[[tool]]
name = "a"
description = "d"
"params_file" = "schemas/a.json" # beside it
export = "a"
[[tool]]
name = "b"
description = "d"
export = "a"
params_file = '''schemas/b.json'''
`

func TestPackTakesSchemasAlong(t *testing.T) {
	wasm := module([]string{"a"}, nil)
	dir := inParts(t, withFile, wasm)
	a := `{"type":"object","properties":{"z":{"type":"string","description":"a \"quoted\" \\ line\n\u007f"},"y":{"type":"number","minimum":1.50,"maximum":2e3},"x":{"enum":[true,"1",1]}},"required":["z"]}`
	put(t, filepath.Join(dir, "schemas", "a.json"), []byte(a))
	put(t, filepath.Join(dir, "schemas", "b.json"), []byte(`{"type":"object","properties":{}}`))
	_, packed, problems := Pack(dir, "", false)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	alone := filepath.Join(t.TempDir(), "a.wasm")
	put(t, alone, packed)
	p, problems := Check(alone, "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := strings.Join(p.Manifest.Tools[0].Schema.Names(), " "); got != "z y x" {
		t.Errorf("arguments in the order %q", got)
	}

	put(t, filepath.Join(dir, "schemas", "b.json"), []byte(`{"type":"object","properties":{"n":{"enum":[null]}}}`))
	_, packed, problems = Pack(dir, "", false)
	if packed != nil || len(problems) != 1 || !strings.Contains(problems[0].String(), "plugin.toml:12:1: the schema in schemas/b.json cannot be packed: it holds a null, which TOML does not have; write the schema into [tool.params]") {
		t.Errorf("%v", problems)
	}
}

func TestPackRefuses(t *testing.T) {
	wasm := module([]string{"a"}, nil)
	tests := []struct {
		name string
		path string
		want string
	}{
		{"a fault of the manifest", inParts(t, "schema = 1\nname = \"A\"\n", wasm), "plugin.toml:1:1: the manifest declares no tool"},
		{"a missing export", inParts(t, string(least("a", "b")), wasm), `does not export "b"`},
		{"nothing", filepath.Join(t.TempDir(), "none"), "the plugin cannot be read: no such file or directory; name the folder of a plugin, or its .wasm file"},
		{"no manifest", t.TempDir(), "the folder holds no plugin.toml"},
	}
	packed := filepath.Join(t.TempDir(), "a.wasm")
	put(t, packed, module([]string{"a"}, map[string]string{SectionName: string(least("a", "a"))}))
	tests = append(tests, struct{ name, path, want string }{"one file already", packed, "a .wasm alone is no plugin in parts"})
	for _, tt := range tests {
		_, out, problems := Pack(tt.path, "", false)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if out != nil || !strings.Contains(strings.Join(got, "\n"), tt.want) {
			t.Errorf("%s: %d bytes, %s", tt.name, len(out), strings.Join(got, "\n"))
		}
	}
}

// Rewrap keeps all sections but the custom ones, unchanged and in their order.
func TestRewrapKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wasm := []byte("\x00asm\x01\x00\x00\x00")
		var rest []byte
		add := func(id byte, body []byte) {
			part := append(binary.AppendUvarint([]byte{id}, uint64(len(body))), body...)
			wasm = append(wasm, part...)
			if id != 0 {
				rest = append(rest, part...)
			}
		}
		names := rapid.SliceOfN(rapid.SampledFrom([]string{SectionName, "name", "x", ""}), 0, 6).Draw(t, "names")
		for _, n := range names {
			if rapid.Bool().Draw(t, "other") {
				add(11, []byte{0}) // an empty data section, once
				break
			}
			add(0, append(append([]byte{byte(len(n))}, n...), rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "content")...))
		}
		manifest := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "manifest")
		out, err := sandbox.Rewrap(wasm, SectionName, manifest, true)
		if err != nil {
			t.Fatal(err)
		}
		info, err := sandbox.Inspect(out)
		if err != nil || !bytes.Equal(info.Sections[SectionName], manifest) || len(info.Sections) != 1 || !bytes.HasPrefix(out[8:], rest) {
			t.Fatalf("%v %v", info.Sections, err)
		}
	})
}

// A script alone is what it is in a plugin folder too: no plugin until a manifest names
// its tools.
func TestCheckOfAScriptAlone(t *testing.T) {
	for name, want := range map[string]string{"lone.js": "`weir plugin new` makes one", "lone.ts": "`weir plugin build` makes main.js of it"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte("export function lone() {}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, problems := Check(file, ""); len(problems) != 1 || !strings.Contains(problems[0].String(), "no plugin.toml beside it names its tools") || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "Weather-Now.2.wasm")
	put(t, file, module([]string{"describe", "call"}, nil))
	p, problems := Check(file, "")
	if len(problems) > 0 || p.ABI != ABIDescribe || p.Manifest.Name != "weather_now_2" {
		t.Errorf("%+v %v", p, problems)
	}
	if err := os.WriteFile(file, []byte("<html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, problems = Check(file, ""); len(problems) != 1 || !strings.Contains(problems[0].Msg.String(), "not a WebAssembly file") {
		t.Error(problems)
	}
}

// Check reports the problems of the manifest and of the module together.
func TestCheckReportsEveryProblem(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "plugin.toml"), []byte("schema = 1\nname = \"p\"\nnonsense = 1\n[[tool]]\nname = \"a\"\ndescription = \"d\"\n[[tool]]\nname = \"b\"\n"))
	put(t, filepath.Join(dir, "p.wasm"), module([]string{"a"}, nil))
	_, problems := Check(dir, "")
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{"plugin.toml:3:1", "plugin.toml:7:", `does not export "b"`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in:\n%s", want, text)
		}
	}
	put(t, filepath.Join(dir, "p.wasm"), []byte("no module"))
	if _, again := Check(dir, ""); len(errorsOf(again)) < len(errorsOf(problems)) {
		t.Errorf("of a file that is no module it says %v", again)
	}
}
