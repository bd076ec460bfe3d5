//go:build linux && (amd64 || arm64)

package confine

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are the system calls that no worker needs and that lead out of it: to the
// network and into other processes.
var denied = []uint32{
	syscall.SYS_SOCKET, syscall.SYS_SOCKETPAIR, syscall.SYS_CONNECT, syscall.SYS_BIND, syscall.SYS_LISTEN,
	syscall.SYS_ACCEPT, syscall.SYS_ACCEPT4, syscall.SYS_SENDTO, syscall.SYS_SENDMSG,
	syscall.SYS_PTRACE, syscall.SYS_KILL, syscall.SYS_MOUNT, syscall.SYS_CHROOT, syscall.SYS_UNSHARE,
	424, 434, 438, // pidfd_send_signal, pidfd_open, pidfd_getfd
	425, 426, 427, // io_uring, which can do all of the above
}

// Words of the kernel's packet filter language, as seccomp uses it.
const (
	loadWord    = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS
	jumpEqual   = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
	jumpSet     = syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K
	jumpAtLeast = syscall.BPF_JMP | syscall.BPF_JGE | syscall.BPF_K
	answer      = syscall.BPF_RET | syscall.BPF_K

	atNumber, atArch, atFirst = 0, 4, 16 // offsets in the filter's input; the last is the low half of an argument

	allow    = 0x7fff0000
	fails    = 0x00050000
	deny     = fails | uint32(syscall.EPERM)
	unknown  = fails | uint32(syscall.ENOSYS)
	otherABI = 0x40000000 // on amd64 numbers from here on belong to the x32 ABI

	setFilter             = 1
	ownThread, allThreads = 0, 1
)

// filter installs a system call filter for the calling thread and all that it starts.
// The thread must have given up new privileges.
func filter() error {
	program := []syscall.SockFilter{
		{Code: loadWord, K: atArch},
		{Code: jumpEqual, K: nativeArch, Jt: 1},
		{Code: answer, K: deny},
		{Code: loadWord, K: atNumber},
		{Code: jumpAtLeast, K: otherABI, Jf: 1},
		{Code: answer, K: deny},
	}
	return install(program, denied, ownThread)
}

// startNothing installs one more filter for all threads of this process: it may create
// threads and nothing else. A process that it started would survive its kill. clone3
// answers ENOSYS, so a C library uses clone.
func startNothing() error {
	program := []syscall.SockFilter{
		{Code: loadWord, K: atNumber},
		{Code: jumpEqual, K: syscall.SYS_CLONE, Jf: 4},
		{Code: loadWord, K: atFirst},
		{Code: jumpSet, K: syscall.CLONE_THREAD, Jf: 1},
		{Code: answer, K: allow},
		{Code: answer, K: deny},
		{Code: jumpEqual, K: unix.SYS_CLONE3, Jf: 1},
		{Code: answer, K: unknown},
	}
	return install(program, starting, allThreads)
}

// install adds a filter: the program, which ends with the system call's number loaded,
// then a denial for each number in no, and permission for all others.
func install(program []syscall.SockFilter, no []uint32, threads uintptr) error {
	for _, number := range no {
		program = append(program, syscall.SockFilter{Code: jumpEqual, K: number, Jf: 1}, syscall.SockFilter{Code: answer, K: deny})
	}
	program = append(program, syscall.SockFilter{Code: answer, K: allow})
	prog := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, setFilter, threads, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}
