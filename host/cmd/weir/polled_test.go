package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A pipe that is polled is the same pipe, and everything else is left as it is.
func TestPolled(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, out := polled(r, os.O_RDONLY), polled(w, os.O_WRONLY)
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
	if polled(f, os.O_RDWR) != f {
		t.Error("a file is opened anew")
	}
}
