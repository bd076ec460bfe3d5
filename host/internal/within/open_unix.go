//go:build unix

package within

import "syscall"

// nonblock keeps the opening of a pipe without a writer from waiting for one.
const nonblock = syscall.O_NONBLOCK
