//go:build unix

package jail

import "syscall"

// nonblock keeps the opening of a pipe without a writer from waiting for one.
// For regular files and folders it means nothing.
const nonblock = syscall.O_NONBLOCK
