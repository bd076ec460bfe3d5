//go:build unix

package modindex

import (
	"io/fs"
	"os"
	"syscall"
)

// private reports whether a file belongs to this user or root and no other user
// can write it.
func private(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Geteuid() || st.Uid == 0) && info.Mode().Perm()&0o022 == 0
}

// open opens a file that is no link, and waits for no pipe.
func open(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
