package confine

import "golang.org/x/sys/unix"

// nativeArch is how the kernel names this machine to a filter.
const nativeArch = 0xc000003e

// starting are the system calls that start a process or a program, but for those
// that start threads as well.
var starting = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_EXECVE, unix.SYS_EXECVEAT}
