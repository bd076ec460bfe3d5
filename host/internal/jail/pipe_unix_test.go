//go:build unix

package jail

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// TestPipesAndDevices must return at once: no process writes to the pipe.
func TestPipesAndDevices(t *testing.T) {
	inside, _ := tree(t)
	pipe := filepath.Join(inside, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	v := open(t, Mount{Guest: "/w", Host: inside, Write: true})
	for _, flag := range []sys.Oflag{sys.O_RDONLY, sys.O_RDWR} {
		if _, errno := v.OpenFile("pipe", flag, 0); errno != sys.EACCES {
			t.Errorf("flag %b: %v", flag, errno)
		}
	}
	if runtime.GOOS == "linux" {
		dev := open(t, Mount{Guest: "/dev", Host: "/dev"})
		if _, errno := dev.OpenFile("zero", 0, 0); errno != sys.EACCES {
			t.Errorf("a device: %v", errno)
		}
	}
}
