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
	for _, dir := range []string{"work/docs", "work/${X:-..}/secret", "work-more", "secret"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "secret"), filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		"": work, ".": work, "docs": filepath.Join(work, "docs"), "docs/../docs": filepath.Join(work, "docs"), filepath.Join(work, "docs"): filepath.Join(work, "docs"),
		"..": "", "../secret": "", "../work-more": "", filepath.Join(base, "secret"): "", "link": "", "${X:-..}/secret": "", "/": "", "missing": "", base: "",
	} {
		if got, err := inWorkspace(work, folder); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", folder, got, err, want)
		}
	}
}

// What an approval wrote is taken back, unless somebody has changed the file since.
func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tools.toml")
	a := &App{}
	for _, now := range []string{"after", "changed"} {
		if err := os.WriteFile(file, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := "before", a.replace(file, "after", "before")
		if now == "changed" {
			want = now
		}
		if got, _ := os.ReadFile(file); string(got) != want || (err != nil) != (now == "changed") {
			t.Errorf("%s: %q, %v", now, got, err)
		}
	}
}

// [server] page_folders takes the place of the workspace.
func TestInFolders(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"here/notes", "work/docs", "else"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "else"), filepath.Join(base, "here", "notes", "link")); err != nil {
		t.Fatal(err)
	}
	here, work := filepath.Join(base, "here"), filepath.Join(base, "work")
	for _, row := range []struct {
		open         []string
		folder, want string
	}{
		{nil, "docs", filepath.Join(work, "docs")},
		{nil, filepath.Join(here, "notes"), ""},
		{[]string{"notes"}, filepath.Join(here, "notes"), filepath.Join(here, "notes")},
		{[]string{"notes"}, "docs", ""},
		{[]string{"notes", filepath.Join(work, "docs")}, "docs", filepath.Join(work, "docs")},
		{[]string{"notes"}, filepath.Join(here, "notes", "link"), ""},
		{[]string{"notes"}, here, ""},
		{[]string{"missing"}, "docs", ""},
	} {
		if got, err := inFolders(work, here, row.open, row.folder); got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%v, %q: %q, %v; want %q", row.open, row.folder, got, err, row.want)
		}
	}
}
