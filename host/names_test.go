package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/plugin"
)

// A broken plugin that says it has the name of one that works does not
// hide it: not before it is approved, and not while its approved copy serves.
func TestABrokenStrangerHidesNoPlugin(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, "a", wanting("a", "1", ""), generation(1))
	write(t, filepath.Join(dir, "000", "plugin.toml"), []byte(`name = "a"`))
	h := pinned(t, dir, nil)
	agree(t, h, "a")
	says(t, h, "a", generation(1))
	lay(t, dir, "a", wanting("a", "2", ""), generation(2))
	agree(t, h, "a")
	says(t, h, "a", generation(2))
	if p := info(t, h, "000"); p.State != plugin.Invalid || !strings.Contains(p.Source, "000") {
		t.Errorf("the stranger is listed under its folder's name: %+v", p)
	}
	for name, err := range map[string]error{
		"disable": h.Disable(t.Context(), "a", "cli"), "enable": h.Enable(t.Context(), "a"), "rollback": h.Rollback(t.Context(), "a", ""),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	write(t, filepath.Join(dir, "a", "plugin.toml"), []byte(`name = "a"`))
	if r, err := h.Review(t.Context(), "a"); err != nil || r.Serving == nil || r.Serving.Version != "1" || r.Plugin.Pending == nil || strings.Contains(r.Plugin.Pending.Source, "000") {
		t.Errorf("while its copy serves: %+v, %v", r, err)
	}
	lay(t, dir, "a", wanting("a", "3", ""), generation(3))
	if _, err := h.Remove(t.Context(), "a", true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "000", "plugin.toml")); err != nil {
		t.Errorf("the stranger's files: %v", err)
	}
}

// Nor does one whose folder has the name of a plugin that works.
func TestABrokenFolderHidesNoPlugin(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "zzz", "plugin.toml"), []byte(strings.Replace(string(wanting("a", "1", "")), "schema = 1", "schema = 1\nwasm = \"zzz.wasm\"", 1)))
	write(t, filepath.Join(dir, "zzz", "zzz.wasm"), answering("a", generation(1)))
	write(t, filepath.Join(dir, "a", "plugin.toml"), []byte(`not a manifest`))
	h := pinned(t, dir, nil)
	agree(t, h, "a")
	says(t, h, "a", generation(1))
	if p := info(t, h, filepath.Join(dir, "a", "plugin.toml")); p.State != plugin.Invalid {
		t.Errorf("%+v", p)
	}
}
