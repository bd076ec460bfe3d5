package app

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder outside of the workspace is refused, however it is spelled.
func TestInWorkspace(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(base, "work")
	for _, dir := range []string{"work/docs", "work-more", "secret"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "secret"), filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		"": work, ".": work, "docs": filepath.Join(work, "docs"), "docs/../docs": filepath.Join(work, "docs"), filepath.Join(work, "docs"): filepath.Join(work, "docs"),
		"..": "", "../secret": "", "../work-more": "", filepath.Join(base, "secret"): "", "link": "", "/": "", "missing": "", base: "",
	} {
		if got, err := inWorkspace(work, folder); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", folder, got, err, want)
		}
	}
}
