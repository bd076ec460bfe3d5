package mcpbridge

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A named pipe whose other end is closed does not block: its content can be read,
// and writing to it fails.
func TestPollableWithoutAnOtherEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(flag int) *os.File {
		t.Helper()
		f, err := os.OpenFile(path, flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	soon := func(what string, f func()) {
		t.Helper()
		done := make(chan struct{})
		go func() { f(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s blocks", what)
		}
	}
	both := open(os.O_RDWR)
	r := open(os.O_RDONLY)
	if _, err := both.WriteString("a line\n"); err != nil {
		t.Fatal(err)
	}
	_ = both.Close()
	soon("who has written", func() {
		in := Pollable(r, os.O_RDONLY)
		if b, err := io.ReadAll(in); err != nil || string(b) != "a line\n" {
			t.Errorf("%q, %v", b, err)
		}
		_ = in.Close()
	})

	both = open(os.O_RDWR)
	w := open(os.O_WRONLY)
	_, _ = both.Close(), r.Close()
	soon("who has read", func() {
		if Pollable(w, os.O_WRONLY) != w {
			t.Error("it is opened again")
		}
	})
}
