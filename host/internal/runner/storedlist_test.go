package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		name := filepath.Join(dir, fmt.Sprint(i))
		write(t, name, nil)
		at := time.Unix(int64(1000-i), 0)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	prune(dir, 2)
	prune(dir, 2)
	prune(filepath.Join(dir, "none"), 2)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "0" || filepath.Base(left[1]) != "1" {
		t.Errorf("%v %v", left, err)
	}
}
