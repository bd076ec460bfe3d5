package registry

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
)

// TestNoNameIsTakenForAnother refuses newcomers whose names can be taken for
// another plugin's or the host's.
func TestNoNameIsTakenForAnother(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a", "plugin.toml"), least("read_file", "read_file"))
	put(t, filepath.Join(dir, "a", "read_file.wasm"), module([]string{"read_file"}, nil))
	for i, tool := range []string{"readfi1e", "l0ad_tool_history", "describetool", "other"} {
		name := string(rune('b' + i))
		put(t, filepath.Join(dir, name, "plugin.toml"), least(name, tool))
		put(t, filepath.Join(dir, name, name+".wasm"), module([]string{tool}, nil))
	}
	put(t, filepath.Join(dir, "z", "plugin.toml"), least("readfile", "z"))
	put(t, filepath.Join(dir, "z", "readfile.wasm"), module([]string{"z"}, nil))
	got := report(Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{}), dir)
	for _, want := range []string{
		"ready read_file", "ready e",
		`refused b: b/plugin.toml: the tool name "readfi1e" is easily taken for read_file of the plugin read_file (a/plugin.toml)`,
		`refused c: c/plugin.toml:4:8: "l0ad_tool_history" is easily taken for load_tool_history, which the host provides itself`,
		`refused d: d/plugin.toml:4:8: "describetool" is easily taken for describe_tool`,
		`refused readfile: z/plugin.toml: the plugin name "readfile" is easily taken for that of read_file (a/plugin.toml)`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestNothingUnseenInParameters refuses what a person who approves a schema or
// an example cannot see, and bounds what they have to read.
func TestNothingUnseenInParameters(t *testing.T) {
	head := string(least("a", "a"))
	for _, row := range []struct{ what, toml, says string }{
		{"a description", "[tool.params]\ntype = \"object\"\n[tool.params.properties.x]\ndescription = \"a\u200bb\"", ""}, // left out
		{"an argument's name", "[tool.params]\ntype = \"object\"\n[tool.params.properties.\"x\u200b\"]\ntype = \"string\"", "holds characters that cannot be seen"},
		{"a choice", "[tool.params]\ntype = \"object\"\nproperties.x.enum = [\"a\U000e0041\"]", "holds characters that cannot be seen"},
		{"a default", "[tool.params]\ntype = \"object\"\nproperties.x.default = \"\u202ea\"", "holds characters that cannot be seen"},
		{"an example", "[tool.params]\ntype = \"object\"\nproperties.x.type = \"string\"\n[[tool.examples]]\nask = \"q\"\nargs = { x = \"\u2066\" }", "holds characters that cannot be seen"},
		{"lines in an example", "[tool.params]\ntype = \"object\"\nproperties.x.type = \"string\"\n[[tool.examples]]\nask = \"q\"\nargs = { x = \"a\\nb\" }", ""},
		{"a long description", "[tool.params]\ntype = \"object\"\nproperties.x.description = \"" + strings.Repeat("a", 1025) + "\"", "a description of 1025 bytes"},
		{"a long argument's name", "[tool.params]\ntype = \"object\"\nproperties." + strings.Repeat("a", 129) + ".type = \"string\"", "a name of 129 bytes"},
		{"a long schema", "[tool.params]\ntype = \"object\"\nproperties.x.enum = [\"" + strings.Repeat("a", 33<<10) + "\"]", "tool.params takes 338"},
		{"a long example", "[tool.params]\ntype = \"object\"\nproperties.x.type = \"string\"\n[[tool.examples]]\nask = \"q\"\nargs = { x = \"" + strings.Repeat("a", 5000) + "\" }", "takes 5008 bytes"},
		{"many examples", strings.Repeat("[[tool.examples]]\nask = \"q\"\n", 21), "tool.examples holds 21, and at most 20 are read"},
		{"a long version", "", "version is 65 bytes long"},
	} {
		t.Run(row.what, func(t *testing.T) {
			said := head + row.toml
			if row.what == "a long version" {
				said = "version = \"" + strings.Repeat("1", 65) + "\"\n" + said
			}
			m, problems := ParseManifest("plugin.toml", []byte(said))
			bad := errorsOf(problems)
			switch {
			case row.says == "" && len(bad) > 0:
				t.Errorf("refused: %v", bad)
			case row.says != "" && (len(bad) == 0 || !strings.Contains(bad[0].String(), row.says)):
				t.Errorf("got %v, want %q", problems, row.says)
			}
			if len(bad) == 0 && text.Clean(string(m.Tools[0].Spec.Params)) != string(m.Tools[0].Spec.Params) {
				t.Errorf("left in: %+q", m.Tools[0].Spec.Params)
			}
		})
	}
}

// TestProblemsAreTame shows a manifest that talks to the terminal of whoever
// reads its errors, and one that has too many of them.
func TestProblemsAreTame(t *testing.T) {
	_, problems := ParseManifest("plugin.toml", append(least("a", "a"), "\"x\\u001b]0;owned\\u0007\\u202e\" = 1\nformat = \"\\u001b[2Jmcp\"\n"...))
	if len(problems) == 0 {
		t.Fatal("nothing was said")
	}
	for _, p := range problems {
		if s := p.String(); text.Clean(s) != s || strings.ContainsAny(s, "\n\t\x1b") {
			t.Errorf("%+q", s)
		}
	}
	var many strings.Builder
	many.Write(least("a", "a"))
	for range 10_000 {
		many.WriteString("[[tool]]\nname = 1\n")
	}
	if _, problems = ParseManifest("plugin.toml", []byte(many.String())); len(problems) != MaxReported {
		t.Errorf("%d problems are told", len(problems))
	}
}
