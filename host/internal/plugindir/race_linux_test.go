package plugindir

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAPipeInPlaceOfAFolder: a folder that is exchanged for a pipe does not hold who lists
// it.
func TestAPipeInPlaceOfAFolder(t *testing.T) {
	top := t.TempDir()
	dir, pipe := filepath.Join(top, "dir"), filepath.Join(top, "pipe")
	if err := errors.Join(os.Mkdir(dir, 0o700), syscall.Mkfifo(pipe, 0o600)); err != nil {
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
				_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, pipe, unix.RENAME_EXCHANGE)
			}
		}
	}()
	done := make(chan error)
	go func() {
		listed := 0
		for tries := 0; tries < 10_000 || listed == 0; tries++ {
			if _, err := Names(dir); err == nil {
				listed++
			}
			if _, err := List(top, "plugin.toml", nil); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the reader waits for a pipe, or never lists the folder")
	}
}
