package jail

import (
	"os"
	"strconv"
)

// whereabouts returns the current path of an open file, or "" if it is unknown.
func whereabouts(f *os.File) (path string) {
	conn, err := f.SyscallConn()
	if err != nil {
		return ""
	}
	err = conn.Control(func(fd uintptr) {
		path, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd)))
	})
	if err != nil {
		return ""
	}
	return path
}
