package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	for name, write := range map[string]func(file, pattern string, mode os.FileMode, data []byte) error{"Write": Write, "WriteSynced": WriteSynced} {
		dir := t.TempDir()
		file := filepath.Join(dir, "a.json")
		for _, text := range []string{"old, and longer", "new"} {
			if err := write(file, ".a-*", 0o640, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != text {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		if st, err := os.Stat(file); err != nil || st.Mode() != 0o640 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
		if err := write(dir, ".a-*", 0o600, nil); err == nil { // a folder cannot be replaced
			t.Errorf("%s: a folder was replaced", name)
		}
		for _, at := range []string{dir, filepath.Dir(dir)} {
			if left, err := filepath.Glob(filepath.Join(at, ".a-*")); err != nil || len(left) > 0 {
				t.Errorf("%s: %v is left, %v", name, left, err)
			}
		}
	}
}

// A file that is replaced keeps its permissions, but for those that are not allowed: its
// new content may be a secret.
func TestReplace(t *testing.T) {
	for _, row := range []struct{ old, allowed, want os.FileMode }{{0, 0o777, 0o644}, {0, 0o700, 0o600}, {0o640, 0o777, 0o640}, {0o664, 0o700, 0o600}} {
		file := filepath.Join(t.TempDir(), "new", "a.json")
		if row.old != 0 {
			if err := Replace(file, ".a-*", 0o777, []byte("old")); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, row.old); err != nil {
				t.Fatal(err)
			}
		}
		if err := Replace(file, ".a-*", row.allowed, []byte("new")); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(file)
		if err != nil || st.Mode() != row.want {
			t.Errorf("%+v: %v, %v", row, st.Mode(), err)
		}
		if dir, err := os.Stat(filepath.Dir(file)); err != nil || dir.Mode().Perm() != 0o700 {
			t.Errorf("the folder: %v, %v", dir.Mode(), err)
		}
	}
}
