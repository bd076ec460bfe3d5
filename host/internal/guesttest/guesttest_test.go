package guesttest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The cache of compiled modules goes by a guest's bytes, so these must not
// differ from run to run, nor hold the revision they were built from.
func TestBuildIsTheSameEachTime(t *testing.T) {
	t.Setenv("GOENV", "off") // what a developer has set there must not decide
	var built [2][]byte
	for i := range built {
		dir := Shipped(t, "long_text")
		wasm, err := os.ReadFile(filepath.Join(dir, "long_text", "long_text.wasm"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(wasm, []byte("vcs.revision")) {
			t.Error("the module holds the revision it was built from")
		}
		built[i] = wasm
	}
	if len(built[0]) == 0 || !bytes.Equal(built[0], built[1]) {
		t.Errorf("two builds of one source differ: %d and %d bytes", len(built[0]), len(built[1]))
	}
}
