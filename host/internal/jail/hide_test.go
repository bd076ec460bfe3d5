package jail

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// hiding opens the folder of tree with in/sub/b, a link to it and in/.env, which
// is not there, hidden.
func hiding(t *testing.T, write bool) (v sys.FS, inside string) {
	t.Helper()
	inside, _ = tree(t)
	for name, target := range map[string]string{"link": "sub/b", "dir": "sub"} {
		if err := os.Symlink(target, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(inside, "sub/b"), filepath.Join(inside, "hard")); err != nil {
		t.Fatal(err)
	}
	// The mount is named by a link, and the hidden file by its real path.
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(inside, alias); err != nil {
		t.Fatal(err)
	}
	hide := []string{filepath.Join(inside, "sub/b"), filepath.Join(inside, ".env"), "/no/such/folder/x"}
	return open(t, Mount{Guest: "/w", Host: alias, Write: write, Hide: hide}), inside
}

func TestHiddenFilesAreNotRead(t *testing.T) {
	for _, write := range []bool{false, true} {
		v, _ := hiding(t, write)
		for _, name := range []string{"sub/b", "./sub/../sub/b", "link", "dir/b", "hard"} {
			if text, errno := slurp(v, name, sys.O_RDONLY); errno != sys.EPERM {
				t.Errorf("write %v: %s: %q, %v", write, name, text, errno)
			}
		}
		if text, errno := slurp(v, "a", sys.O_RDONLY); errno != 0 || text != "alpha" {
			t.Errorf("a file beside them: %q, %v", text, errno)
		}
	}
}

func TestHiddenFilesAreNotChanged(t *testing.T) {
	v, inside := hiding(t, true)
	for what, errno := range map[string]sys.Errno{
		"truncating":            openErrno(v, "sub/b", sys.O_WRONLY|sys.O_TRUNC),
		"truncating by a link":  openErrno(v, "link", sys.O_WRONLY|sys.O_TRUNC),
		"removing":              v.Unlink("sub/b"),
		"moving away":           v.Rename("sub/b", "c"),
		"moving over":           v.Rename("a", "sub/b"),
		"making a missing one":  openErrno(v, ".env", sys.O_WRONLY|sys.O_CREAT),
		"moving to its place":   v.Rename("a", ".env"),
		"a folder in its place": v.Mkdir(".env", 0),
	} {
		if errno != sys.EPERM {
			t.Errorf("%s: %v", what, errno)
		}
	}
	// A folder above it may be renamed; that shows nothing.
	if errno := v.Rename("sub", "other"); errno != 0 {
		t.Fatal(errno)
	}
	if text, errno := slurp(v, "other/b", sys.O_RDONLY); errno != sys.EPERM {
		t.Errorf("below a renamed folder: %q, %v", text, errno)
	}
	if text, err := os.ReadFile(filepath.Join(inside, "other/b")); err != nil || string(text) != "beta" {
		t.Errorf("the file itself: %q, %v", text, err)
	}
}

func openErrno(v sys.FS, name string, flag sys.Oflag) sys.Errno {
	f, errno := v.OpenFile(name, flag, 0)
	if errno == 0 {
		f.Close()
	}
	return errno
}
