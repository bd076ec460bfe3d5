package memsnap

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A file that somebody holds for a moment is sealed when it is let go.
func TestSealWaits(t *testing.T) {
	f, err := newFile(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	held, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	time.AfterFunc(20*time.Millisecond, func() { gone <- unix.Munmap(held) })
	if err := seal(f); err != nil {
		t.Error(err)
	}
	if err := <-gone; err != nil {
		t.Error(err)
	}
	if _, err := f.WriteAt([]byte{1}, 0); err == nil {
		t.Error("a sealed file was written")
	}
}
