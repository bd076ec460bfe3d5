package jail

import (
	"os"
	"strconv"
)

// whereabouts is where an open file lies now; empty: nobody knows.
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
