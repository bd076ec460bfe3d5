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
