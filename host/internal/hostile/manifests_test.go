package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	w "github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// branching is the schema of a list of lists, as TOML, with three references to itself.
const branching = "[tool.params]\ntype = \"object\"\nproperties.x = { \"$ref\" = \"#/$defs/a\" }\n[tool.params.\"$defs\".a]\ntype = \"array\"\n" +
	"items = { anyOf = [{ \"$ref\" = \"#/$defs/a\" }, { \"$ref\" = \"#/$defs/a\" }, { \"$ref\" = \"#/$defs/a\" }, { type = \"string\" }] }\n"

// A manifestBomb is the end of a manifest, and the reason to refuse it; empty: it is
// read, with warnings.
type manifestBomb struct{ lines, why string }

// manifestBombs are manifests that cost much to read or to check.
func manifestBombs() map[string]manifestBomb {
	const most = 250_000 // bytes: what a manifest may hold
	params := "[tool.params]\ntype = \"object\"\n"
	lists := func(n int) string { return strings.Repeat("[", n) + "5" + strings.Repeat("]", n) }
	example := "[[tool.examples]]\nask = \"x\"\nargs = { x = " + lists(50) + " }\n"
	count := func(n int, line func(int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	numbered := func(line string) func(int) string { return func(i int) string { return fmt.Sprintf(line, i) } }
	return map[string]manifestBomb{
		"example":       {branching + example, `needs more than 20000 steps`},
		"examples":      {branching + strings.Repeat(example, 20), `needs more than 20000 steps`},
		"deep_schema":   {params + "properties.x = " + strings.Repeat("{ items = ", 60) + "{}" + strings.Repeat(" }", 60) + "\n", `nests deeper than 64`},
		"deep_toml":     {"[" + strings.TrimSuffix(strings.Repeat("a.", 100_000), ".") + "]\n", `nests deeper than 64`},
		"deep_list":     {"x = " + lists(100_000) + "\n", `nests deeper than 64`},
		"wide_toml":     {count(20_000, numbered("k%d = 1\n")), ``},
		"wide_tables":   {count(15_000, numbered("[config.k%d]\n")), `type is missing`},
		"huge_enum":     {params + "properties.x = { enum = [" + strings.Repeat("1, ", 80_000) + "] }\n", `bytes as JSON`},
		"huge_pattern":  {params + "properties.x = { pattern = '" + strings.Repeat("(x{9}){9}", 3000) + "' }\n", `27000 bytes long`},
		"class_pattern": {params + "properties.x = { pattern = '" + strings.Repeat(`\pL`, 1000) + "' }\n", `expressions are too large`},
		"many_patterns": {params + count(400, numbered("properties.k%d = { pattern = 'x{90}' }\n")), `expressions are too large`},
		"keep_patterns": {"[tool.output]\nkeep = [" + strings.Repeat("'"+strings.Repeat("x{1000}", 140)+"', ", 99) + "]\n", `expressions are too large`},
		"long_string":   {"description_zh = \"" + strings.Repeat("x", most) + "\"\n", `250000 bytes long`},
		"long_name":     {params + "properties." + strings.Repeat("x", most) + " = {}\n", `bytes as JSON`},
		"doubling": {params + "\"$ref\" = \"#/$defs/d0\"\n[tool.params.\"$defs\"]\nd40 = {}\n" + count(40, func(i int) string {
			return fmt.Sprintf("d%d = { allOf = [%[2]s, %[2]s] }\n", i, fmt.Sprintf("{ \"$ref\" = \"#/$defs/d%d\" }", i+1))
		}), `multiply too often`},
		"circle":         {params + "anyOf = [{ \"$ref\" = \"#\" }]\n", `lead back to themselves`},
		"dynamic":        {params + "properties.x = { \"$dynamicRef\" = \"#x\" }\n", `$dynamicRef`},
		"many_parts":     {params + "anyOf = [" + strings.Repeat("{}, ", 10_000) + "]\n", `more than 2000 parts`},
		"many_tools":     {count(2000, numbered("[[tool]]\nname = \"t%d\"\ndescription = \"d\"\n")), `at most 200`},
		"many_schemas":   {count(199, numbered("[[tool]]\nname = \"t%d\"\ndescription = \"d\"\nparams_file = \"params.json\"\n")), `1048576 bytes together`},
		"many_arguments": {params + count(6000, numbered("properties.k%d.type = \"string\"\n")), `bytes as JSON`},
	}
}

// A folder of manifests that cost much to read: each is refused with a reason, and an
// honest plugin beside them is ready.
func TestAFolderOfHostileManifests(t *testing.T) {
	before := resident()
	dir := t.TempDir()
	bombs := manifestBombs()
	for name, bomb := range bombs {
		writeManifest(t, dir, name, bomb.lines)
	}
	large := `{"type":"object","description":"` + strings.Repeat("word ", 200) + `","properties":{"x":{"enum":["` + strings.Repeat(`a","`, 6000) + `b"]}}}`
	if err := os.WriteFile(filepath.Join(dir, "many_schemas", "params.json"), []byte(large), 0o644); err != nil {
		t.Fatal(err)
	}
	h := survives(t, dir, nil)
	seen := 0
	for _, p := range h.Plugins() {
		bomb, listed := bombs[p.Name]
		if !listed {
			continue
		}
		seen++
		said := fmt.Sprint(p.Why, p.Problems)
		if refused := p.State == plugin.Invalid; refused != (bomb.why != "") || !strings.Contains(said, bomb.why) {
			t.Errorf("%s is %s: %.500s", p.Name, p.State, said)
		}
	}
	if seen != len(bombs) {
		t.Errorf("%d of %d manifests are listed", seen, len(bombs))
	}
	if grown := resident() - before; grown > mostMemory() {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

// A plugin whose schema multiplies serves; arguments that would cost too much are
// refused, and the honest plugin answers.
func TestHostileArguments(t *testing.T) {
	dir := t.TempDir()
	writeManifest(t, dir, "lists", branching)
	h := survives(t, dir, nil)
	const fits = tool.Code("")
	for args, want := range map[string]tool.Code{
		`{"x":[["a"],[]]}`: fits,
		`{"x":` + strings.Repeat("[", 50) + "5" + strings.Repeat("]", 50) + `}`:          tool.BadArgs,
		`{"x":[` + strings.Repeat("[5],", 400_000) + `[]]}`:                              tool.BadArgs,
		`{"x":[` + strings.Repeat("[5],", 500_000) + `[]]}`:                              tool.TooLarge, // over a million values
		`{"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`:      tool.BadArgs,
		`{"x":["` + strings.Repeat("x", 1<<20) + `"]}`:                                   fits,
		`{"x":[` + strings.Repeat("1e-9999999,", 1000) + `1]}`:                           tool.BadArgs,
		`{"x":[],` + strings.Repeat(`"a":1,`, 1000) + `"b":` + `1e-9999999` + ` }`:       tool.BadArgs,
		`{"x":[],"` + strings.Repeat("x", 1<<20) + `":` + strings.Repeat("9", 200) + `}`: tool.BadArgs,
	} {
		r, _ := ask(t, h, tool.En, "lists", args)
		if r.Err == nil {
			r.Err = &tool.Error{}
		}
		if r.Err.Code != want || len(r.Err.Error()) > 4000 {
			t.Errorf("%.60s: code %q, want %q; %d characters", args, r.Err.Code, want, len(r.Err.Error()))
		}
	}
}

// writeManifest writes a plugin that echoes, and the given lines at the end of its
// manifest.
func writeManifest(t *testing.T, dir, name, lines string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("schema = 1\nname = %q\nversion = \"1.0.0\"\ndescription = \"made by a test\"\n[[tool]]\nname = %q\ndescription = \"made by a test\"\nexport = \"run\"\nhints = { read_only = true }\n", name, name)
	for file, content := range map[string][]byte{"plugin.toml": []byte(head + lines), name + ".wasm": w.Echo("run")} {
		if err := os.WriteFile(filepath.Join(at, file), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
