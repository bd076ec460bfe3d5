//go:build !cgo

package confine

// linked says that a C library makes threads of this process.
const linked = false
