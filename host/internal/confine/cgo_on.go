//go:build cgo

package confine

// linked says that a C library makes threads of this process: Go cannot change the
// credentials of those, and the library makes other system calls.
const linked = true
