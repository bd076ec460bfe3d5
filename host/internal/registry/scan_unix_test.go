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
