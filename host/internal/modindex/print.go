package modindex

import "io/fs"

// A print is what a file is known by.
type print struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"mtime"` // nanoseconds since 1970, as Changed
	Changed  int64  `json:"ctime"`
	Inode    uint64 `json:"inode"`
}

// printOf is a file's print; false: the system does not tell enough of it, or
// it is no regular file.
func printOf(info fs.FileInfo) (print, bool) {
	p := print{Size: info.Size(), Modified: info.ModTime().UnixNano()}
	var ok bool
	p.Changed, p.Inode, ok = changed(info)
	return p, ok && p.Changed > 0 && info.Mode().IsRegular()
}

// Same reports whether two looks at a file saw it unchanged; false also where
// the system does not tell.
func Same(a, b fs.FileInfo) bool {
	x, ok := printOf(a)
	y, also := printOf(b)
	return ok && also && x == y
}
