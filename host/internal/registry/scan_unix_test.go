//go:build unix

package registry

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestScanDoesNotHangOrFollow(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.wasm"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "a", "plugin.toml"), least("a", "a"))
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "a", "a.wasm")); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "big.wasm")
	put(t, big, nil)
	if err := os.Truncate(big, maxWasm+1); err != nil {
		t.Fatal(err)
	}
	s := Scan(t.Context(), []Folder{{Path: dir}, {Path: filepath.Join(dir, "gone")}}, Options{})
	got := report(s, dir)
	for _, want := range []string{
		"pipe.wasm: the module cannot be read: it is not a regular file", "a/a.wasm: the module cannot be read: it is not a regular file",
		"big.wasm: the module cannot be read: it is 16777217 bytes long, and at most 16777216 are read; build it without names and debugging data", "gone: warning: the plugin folder does not exist",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A file that a manifest names is shown to a model: it lies in the plugin's own
// folder, and a link out of it is not followed.
func TestNoLinkLeadsOutOfAPluginsFolder(t *testing.T) {
	dir, private := t.TempDir(), t.TempDir()
	put(t, filepath.Join(private, "keys.json"), []byte(`{"type":"object","description":"my secret"}`))
	put(t, filepath.Join(dir, "a", "a.wasm"), module([]string{"a"}, nil))
	put(t, filepath.Join(dir, "a", "plugin.toml"), append(least("a", "a"), "params_file = \"out/keys.json\"\n"...))
	put(t, filepath.Join(dir, "b", "b.wasm"), module([]string{"b"}, nil))
	put(t, filepath.Join(dir, "b", "plugin.toml"), append(least("b", "b"), "params_file = \"in/p.json\"\n"...))
	put(t, filepath.Join(dir, "b", "real", "p.json"), []byte(`{"type":"object"}`))
	for link, to := range map[string]string{filepath.Join("a", "out"): private, filepath.Join("b", "in"): "real"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := Scan(t.Context(), []Folder{{Path: dir}}, Options{})
	got := report(s, dir)
	if strings.Contains(got, "my secret") || !strings.Contains(got, "out/keys.json cannot be read") || len(s.Plugins) != 1 || s.Plugins[0].Manifest.Name != "b" {
		t.Errorf("%s", got)
	}
}
