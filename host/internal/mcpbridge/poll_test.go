package mcpbridge

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Pollable returns the same pipe, and any other file as it is.
func TestPollable(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, out := Pollable(r, os.O_RDONLY), Pollable(w, os.O_WRONLY)
	if _, err := out.WriteString("a line\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = out.Close(), w.Close() // twice where it is the same
	if b, err := io.ReadAll(in); err != nil || string(b) != "a line\n" {
		t.Errorf("%q, %v", b, err)
	}
	_, _ = r.Close(), in.Close() // twice where it is the same
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if Pollable(f, os.O_RDWR) != f {
		t.Error("a file is opened again")
	}
}
