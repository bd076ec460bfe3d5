//go:build linux || darwin

package doctor

import "syscall"

// freeBytes is how much room a user has left on the disk where path lies.
func freeBytes(path string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// writable asks the system, and writes nothing.
func writable(path string) bool {
	const mayWrite = 2
	return syscall.Access(path, mayWrite) == nil
}
