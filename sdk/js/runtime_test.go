package js

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/internal/testsize"
)

// runtime.wasm is what build.sh makes of the packages in package-lock.json.
func TestRuntimeIsWhatItSaysItIs(t *testing.T) {
	testsize.Only(t)
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("npm is missing: apt install nodejs npm")
		}
		t.Skip("npm is missing: install Node.js and npm")
	}
	out := filepath.Join(t.TempDir(), "runtime.wasm")
	if text, err := exec.Command("runtime/build.sh", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	built, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(built, runtime) {
		t.Errorf("the packages make %d other bytes than the %d that are used; if that is meant, run runtime/build.sh", len(built), len(runtime))
	}
}
