package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// A copy is in its file, not in the log beside it.
func TestCopyLeavesNoLog(t *testing.T) {
	from, path := openTest(t, Faults{}), filepath.Join(t.TempDir(), "copy.db")
	if err := from.Commit(t.Context(), 0, from.add("one")); err != nil {
		t.Fatal(err)
	}
	to := openAt(t, Options{Path: path})
	if copied, err := Copy(t.Context(), from.DB, to.DB); err != nil || len(copied) != 1 || copied[0].Rows != 1 {
		t.Fatalf("%+v %v", copied, err)
	}
	if st, err := os.Stat(path + "-wal"); err != nil || st.Size() > 0 {
		t.Errorf("%v %v", st.Size(), err)
	}
}
