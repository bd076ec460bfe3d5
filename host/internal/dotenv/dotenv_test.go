package dotenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of an editor that begins with a mark of the byte order, and a value as long as a
// certificate chain, are read.
func TestReadAnyText(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	config := filepath.Join(t.TempDir(), "tools.toml")
	if err := os.WriteFile(File(config), []byte("\uFEFFA='1'\r\n# note\r\nexport LONG="+long+"\r\n\r\nB = 2"), 0o600); err != nil {
		t.Fatal(err)
	}
	vars, skipped, err := Read(config)
	if err != nil || !skipped.IsZero() || len(vars) != 3 || vars["A"] != "1" || vars["LONG"] != long || vars["B"] != "2" {
		t.Errorf("%d variables, A %q, B %q; %v %v", len(vars), vars["A"], vars["B"], skipped, err)
	}
}
