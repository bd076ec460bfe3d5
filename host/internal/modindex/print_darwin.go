package modindex

import (
	"io/fs"
	"syscall"
)

// changed is when a file was last changed, in nanoseconds since 1970, and its
// inode.
func changed(info fs.FileInfo) (at int64, inode uint64, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return st.Ctimespec.Nano(), st.Ino, true
}
