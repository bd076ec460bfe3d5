package plugincmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A file that a build makes is no source: it would start the next build.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"main.ts", "main.js", "other.js", "a.wasm", ".x"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := sourcesIn(dir), []string{filepath.Join(dir, "main.ts"), filepath.Join(dir, "other.js")}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMiddleOut(t *testing.T) {
	if got := middleOut("1\n2\n3\n4\n5\n6\n", 4); got != "1\n2\n… (3 lines more)\n6" {
		t.Errorf("%q", got)
	}
	if got := middleOut("1\n2\n", 4); got != "1\n2\n" {
		t.Errorf("%q", got)
	}
}
