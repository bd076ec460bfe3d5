package declared

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/host/internal/config"
)

// The settings of tools and plugins are checked against the manifests.
func TestCheckManifests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"probe": "schema = 1\nname = \"probe\"\n[config.depth]\ntype = \"integer\"\ndefault = 1\n[[tool]]\nname = \"look\"\ndescription = \"d\"\n[[tool]]\nname = \"watch\"\ndescription = \"d\"\n",
		"plain": "schema = 1\nname = \"plain\"\n[[tool]]\nname = \"say\"\ndescription = \"d\"\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "plugin.toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, faults := config.Parse("tools.toml", "[[plugins.folder]]\npath = '"+dir+"'\n[tools.look]\nconfig = { depth = 2 }\n[tools.watch]\nconfig = { depth = 'two', dept = 1 }\n[tools.say]\nconfig = { x = 1 }\n[grants.probe]\nconfig = { width = 3 }\n[tools.other]\nconfig = { y = 1 }\n")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var got []string
	for _, f := range CheckManifests(t.Context(), s, "0.1.0") {
		got = append(got, f.String())
	}
	want := []string{
		`tools.toml:6:27: [tools.watch] config sets dept, which the plugin probe does not have (did you mean depth?)`,
		`tools.toml:6:12: [tools.watch] config: depth is "two", and must be of type integer (correct the value)`,
		`tools.toml:8:12: [tools.say] config sets x, which the plugin plain does not have (remove it: the plugin has no settings)`,
		`tools.toml:10:12: [grants.probe] config sets width, which the plugin probe does not have (the plugin has: depth)`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A recommendation names the limit in force and those that suit the model's window.
func TestRecommendations(t *testing.T) {
	s, faults := config.Parse("tools.toml", "[models.big]\nprovider='vllm'\nmodel='x'\nwindow=131072\n[models.new]\nprovider='vllm'\nmodel='y'\n[agent]\nmodel='big'\n[agents.plain]\nmodel='new'\n[agents.show]\nmax_tool_result_length=2000\n[models.ark]\nprovider='ark'\nmodel='doubao-seed-1-6'\n[agents.search]\nmodel='ark'\n")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var got []string
	for _, r := range Recommendations(s.WithDefaults()) {
		got = append(got, r.Text().String())
	}
	want := []string{
		"profile default, model big: max_tool_result_length is 24000 (the model's window of 131072 tokens); recommended for 131072 tokens: 16000 to 32000",
		"profile plain, model new: max_tool_result_length is 4000 (the model's window is unknown). The model's window is not known without asking it; set window in [models.new], which `weir model test --window` measures; docs/limits.md lists the recommended limits",
		"profile search, model ark: max_tool_result_length is 24000 (the model's window of 224000 tokens); recommended for 224000 tokens: 16000 to 32000",
		"profile show, model demo: max_tool_result_length is 2000 (max_tool_result_length = 2000); recommended for 32768 tokens: 8000 to 16000",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
