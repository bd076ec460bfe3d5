package jail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A granted folder that was replaced by a link since, or lies below one, is not opened:
// a tool that may write beside it can put a link there that it found.
func TestALinkInPlaceOfAFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	granted, outside := filepath.Join(dir, "ws", "a", "sub"), filepath.Join(dir, "outside")
	for _, d := range []string{granted, filepath.Join(outside, "sub")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mounts := []Mount{{Guest: "/w", Host: granted}}
	opens := func() (errs []error) {
		j, err := Open(mounts)
		if err == nil {
			err = j.Close()
		}
		l, lent := Lend(mounts)
		if lent == nil {
			lent = l.Close()
		}
		return []error{err, lent}
	}
	for _, err := range opens() {
		if err != nil {
			t.Error(err)
		}
	}
	for _, replaced := range []string{granted, filepath.Dir(granted)} {
		if err := os.Rename(replaced, replaced+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, replaced); err != nil {
			t.Fatal(err)
		}
		for _, err := range opens() {
			if err == nil || !strings.Contains(err.Error(), "link") {
				t.Errorf("%s is a link: %v", replaced, err)
			}
		}
		if err := os.Remove(replaced); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(replaced+".old", replaced); err != nil {
			t.Fatal(err)
		}
	}
}
