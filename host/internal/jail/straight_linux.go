package jail

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// straight reports whether a path without any link leads to the opened folder. Every
// folder on the way is opened in the one above it, so that nothing that is renamed
// meanwhile can make a link pass.
func straight(path string, opened os.FileInfo) bool {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open("/", flags, 0)
	for _, name := range strings.Split(filepath.Clean(path), "/") {
		if err != nil {
			return false
		}
		if name == "" {
			continue
		}
		var next int
		next, err = unix.Openat(fd, name, flags, 0)
		_ = unix.Close(fd) // which only was opened
		fd = next
	}
	if err != nil {
		return false
	}
	at := os.NewFile(uintptr(fd), path)
	defer at.Close()
	found, err := at.Stat()
	return err == nil && os.SameFile(found, opened)
}
