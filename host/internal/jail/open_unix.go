//go:build unix

package jail

import (
	"io/fs"
	"syscall"
)

// nonblock keeps the opening of a pipe without a writer from waiting for one.
// For regular files and folders it means nothing.
const nonblock = syscall.O_NONBLOCK

// severalNames reports whether a file may have more than one name.
func severalNames(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink > 1
}
