//go:build !linux

package jail

import (
	"os"
	"path/filepath"
)

// straight reports whether a path without any link leads to the opened folder.
func straight(path string, opened os.FileInfo) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && real == filepath.Clean(path) && names(path, opened)
}
