//go:build !linux && !darwin

package doctor

// freeBytes is how much room a user has left on the disk where path lies.
func freeBytes(string) (int64, bool) { return 0, false }

// writable cannot be asked here without writing.
func writable(string) bool { return true }
