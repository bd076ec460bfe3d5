//go:build unix

package hostile

import (
	"syscall"
	"testing"
)

// makePipe creates a named pipe without a writer: opening it for reading waits.
func makePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}
