//go:build linux && (amd64 || arm64)

package confine

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Words of the kernel's packet filter language, as seccomp uses it.
const (
	loadWord    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	maskWord    = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	jumpEqual   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpAtLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jumpAlways  = unix.BPF_JMP | unix.BPF_JA
	answer      = unix.BPF_RET | unix.BPF_K

	atNumber, atArch, atFirst = 0, 4, 16 // offsets in the filter's input; the last is the first argument

	deny    = unix.SECCOMP_RET_ERRNO | uint32(syscall.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(syscall.ENOSYS)

	otherABI = 0x40000000 // on amd64 numbers from here on belong to the x32 ABI
)

// program returns a filter that allows what the calls list and denies all else. clone3
// seems not to exist: its flags are in memory, where a filter cannot read, and a C library
// takes clone instead.
func program(calls []call) []unix.SockFilter {
	p := []unix.SockFilter{
		{Code: loadWord, K: atArch},
		{Code: jumpEqual, K: nativeArch, Jt: 1},
		{Code: answer, K: deny},
		{Code: loadWord, K: atNumber},
		{Code: jumpAtLeast, K: otherABI, Jf: 1},
		{Code: answer, K: deny},
		{Code: jumpEqual, K: unix.SYS_CLONE3, Jf: 1},
		{Code: answer, K: unknown},
	}
	for _, c := range calls {
		body := c.body()
		p = append(p, unix.SockFilter{Code: jumpEqual, K: c.number, Jt: 1}, unix.SockFilter{Code: jumpAlways, K: uint32(len(body))})
		p = append(p, body...)
	}
	return append(p, unix.SockFilter{Code: answer, K: deny})
}

// body returns the part of the filter for one system call, which always answers.
func (c call) body() (p []unix.SockFilter) {
	for _, way := range c.ways {
		var tests []unix.SockFilter
		for _, t := range way {
			tests = append(tests,
				unix.SockFilter{Code: loadWord, K: atFirst + 8*t.arg + 4*t.half},
				unix.SockFilter{Code: maskWord, K: t.mask},
				unix.SockFilter{Code: jumpEqual, K: t.want}, // else to the next way; set below
			)
		}
		for i := range tests {
			if tests[i].Code == jumpEqual {
				tests[i].Jf = uint8(len(tests) - i)
			}
		}
		p = append(append(p, tests...), unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
	}
	return append(p, unix.SockFilter{Code: answer, K: deny})
}

// filter installs the filter for all threads of this process, which must have given up new
// privileges. A kernel that knows no filters is no error, and one that logs no refusals
// still refuses. Where the kernel logs, its log names the number of a refused system call.
func filter(s Set) error {
	list := program(calls(s))
	prog := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	var errno syscall.Errno
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_LOG, unix.SECCOMP_FILTER_FLAG_TSYNC} {
		_, _, errno = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
		if errno != syscall.EINVAL {
			break
		}
	}
	if errno == 0 || !filters() {
		return nil
	}
	return errors.Join(errors.New("its system calls cannot be filtered"), errno)
}

// filters reports whether the kernel has system call filters.
func filters() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}
