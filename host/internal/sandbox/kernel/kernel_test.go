package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSameAsTheSDK holds the copy, and the license under which it is one, to the
// files of the SDK's version that this module requires.
func TestSameAsTheSDK(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"extism-runtime.wasm", "LICENSE"} {
		theirs, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), name))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(ours, theirs) {
			t.Errorf("%s differs from the SDK's", name)
		}
	}
	if wasm, err := os.ReadFile("extism-runtime.wasm"); err != nil || !bytes.Equal(Wasm(), wasm) {
		t.Errorf("Wasm is not the file: %v", err)
	}
}
