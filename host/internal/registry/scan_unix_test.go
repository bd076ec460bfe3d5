//go:build unix

package registry

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhost/weir/host/plugin"
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
	s := Scan(t.Context(), []plugin.Folder{{Path: dir}, {Path: filepath.Join(dir, "gone")}}, Options{})
	got := report(s, dir)
	for _, want := range []string{
		"pipe.wasm: the module cannot be read: it is not a regular file", "a/a.wasm: the module cannot be read: a link leads out of the plugin's folder",
		"big.wasm: the module cannot be read: it is 16777217 bytes long, and at most 16777216 are read; build it without names and debugging data", "gone: warning: the plugin folder does not exist",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A module must be inside its manifest's folder, too. The folder itself may be a
// link, and so may a single .wasm: a person created both.
func TestNoModuleLeadsOutOfAPluginsFolder(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	put(t, filepath.Join(work, "far.wasm"), module([]string{"far"}, nil))
	put(t, filepath.Join(work, "linked", "linked.wasm"), module([]string{"linked"}, nil))
	put(t, filepath.Join(work, "linked", "plugin.toml"), least("linked", "linked"))
	put(t, filepath.Join(work, "lone.wasm"), module([]string{"lone"}, map[string]string{SectionName: string(least("lone", "lone"))}))
	for _, name := range []string{"far", "rel", "below", "within"} {
		put(t, filepath.Join(dir, name, "plugin.toml"), least(name, name))
	}
	put(t, filepath.Join(dir, "below", "plugin.toml"), append([]byte("wasm = \"out/far.wasm\"\n"), least("below", "far")...))
	put(t, filepath.Join(dir, "within", "build", "w.wasm"), module([]string{"within"}, nil))
	put(t, filepath.Join(dir, "turns", "plugin.toml"), least("turns", "turns"))
	put(t, filepath.Join(dir, "turns", "turns.wasm"), module([]string{"turns"}, nil))
	up, err := filepath.Rel(filepath.Join(dir, "rel"), filepath.Join(work, "far.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		filepath.Join("far", "far.wasm"): filepath.Join(work, "far.wasm"), filepath.Join("rel", "rel.wasm"): up, filepath.Join("below", "out"): work,
		filepath.Join("within", "within.wasm"): filepath.Join("build", "w.wasm"), "linked": filepath.Join(work, "linked"), "lone.wasm": filepath.Join(work, "lone.wasm"),
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{})
	var names []string
	for _, p := range s.Plugins {
		names = append(names, p.Manifest.Name)
		if _, err := p.Read(); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(names, " "); got != "linked lone turns within" {
		t.Errorf("%s\n%s", got, report(s, dir))
	}
	for _, path := range []string{"far/far.wasm", "rel/rel.wasm", "below/out/far.wasm"} {
		if want := path + ": the module cannot be read: a link leads out of the plugin's folder; put the module itself there"; !strings.Contains(report(s, dir), want) {
			t.Errorf("no %q in\n%s", want, report(s, dir))
		}
	}
	// The module becomes a link, to the same bytes, after it was scanned.
	turns := filepath.Join(dir, "turns", "turns.wasm")
	if err := os.Rename(turns, filepath.Join(work, "turns.wasm")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(work, "turns.wasm"), turns); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Plugins[2].Read(); err == nil {
		t.Error("a module that is a link by now was read")
	}
}

// A manifest that is a link to nothing is refused, and not passed over.
func TestDanglingManifestLinkIsReported(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a", "a.wasm"), module([]string{"a"}, nil))
	if err := os.Symlink("nowhere.toml", filepath.Join(dir, "a", "plugin.toml")); err != nil {
		t.Fatal(err)
	}
	s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{})
	if len(s.Refused) != 1 || len(s.Warnings) != 0 {
		t.Fatalf("%s", report(s, dir))
	}
	if r := s.Refused[0]; r.Name != "a" || !strings.Contains(r.Why().String(), "the manifest cannot be read") || !strings.Contains(r.Why().String(), "a link that leads nowhere") || r.Problems[0].Fix.IsZero() {
		t.Errorf("%s: %s", r.Name, r.Why())
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
	put(t, filepath.Join(dir, "c", "c.wasm"), module([]string{"c"}, nil))
	if err := os.Symlink(filepath.Join(private, "keys.json"), filepath.Join(dir, "c", "plugin.toml")); err != nil {
		t.Fatal(err)
	}
	s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{})
	got := report(s, dir)
	if !strings.Contains(got, "the manifest cannot be read: a link leads out") {
		t.Errorf("of a manifest that leads out: %s", got)
	}
	if strings.Contains(got, "my secret") || !strings.Contains(got, "out/keys.json cannot be read") || len(s.Plugins) != 1 || s.Plugins[0].Manifest.Name != "b" {
		t.Errorf("%s", got)
	}
}
