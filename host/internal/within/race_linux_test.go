package within

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAPipeInPlaceOfAFile: a file or a folder that is exchanged for a pipe between the look
// at it and the opening does not hold the reader.
func TestAPipeInPlaceOfAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	file, pipe, beside := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"), dir+"2"
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(file, []byte("text"), 0o600), syscall.Mkfifo(pipe, 0o600), syscall.Mkfifo(beside, 0o600)); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	// The folders are removed at the end: nothing may be exchanged any more by then.
	defer func() { close(stop); <-stopped }()
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, pipe, unix.RENAME_EXCHANGE)
				_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, beside, unix.RENAME_EXCHANGE)
			}
		}
	}()
	for _, p := range []Place{{Dir: dir, Name: "file"}, {Name: file}} {
		done := make(chan struct{})
		go func() {
			read := 0
			for tries := 0; tries < 20_000 || read == 0; tries++ {
				if b, err := p.ReadFile(100); err == nil && string(b) == "text" {
					read++
				}
			}
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%+v: the reader waits for a pipe, or never reads the file", p)
		}
	}
}
