package scriptvm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
)

// quickjs.wasm is the file of the package that the JavaScript SDK is made with, too.
func TestEngineIsThatOfThePackage(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("npm is missing: apt install nodejs npm")
		}
		t.Skip("npm is missing: install Node.js and npm")
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(guesttest.Root(t), "sdk/js/runtime", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := exec.Command("npm", "ci", "--prefix", dir, "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want, err := os.ReadFile(filepath.Join(dir, "node_modules/quickjs-wasi/quickjs.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, quickjs) {
		t.Errorf("the package has %d other bytes than the %d that are used", len(want), len(quickjs))
	}
}
