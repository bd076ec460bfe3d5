//go:build linux && (amd64 || arm64)

package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

// A call is a system call that a child may make; every other one fails with EPERM. All
// tests of one of its ways must hold.
type call struct {
	number uint32
	ways   []way
}

type way []test

// A test compares some bits of one half of an argument. half 0 is the low one, which is all
// that the kernel reads of a number of 32 bits.
type test struct{ arg, half, mask, want uint32 }

// is returns the test that an argument of 32 bits has a value.
func is(arg, want uint32) test { return bits(arg, ^uint32(0), want) }

// bits returns the test that the bits of the mask have a value.
func bits(arg, mask, want uint32) test { return test{arg: arg, mask: mask, want: want} }

// free returns system calls whose arguments do not matter.
func free(numbers ...uint32) (cs []call) {
	for _, n := range numbers {
		cs = append(cs, call{n, []way{nil}})
	}
	return cs
}

// calls returns the system calls for a Set: what the Go runtime, the engine, the pipes and
// the folders need. The numbers of each machine come from this table of names.
func calls(s Set) []call {
	cs := append(runtimeCalls(), memoryCalls(s)...)
	if len(s.Folders) > 0 {
		cs = append(cs, readCalls()...)
	}
	if s.writes() {
		cs = append(cs, writeCalls()...)
	}
	if s.Code {
		cs = append(cs, free(unix.SYS_FCHMOD)...) // of the files that it compiles into
	}
	return cs
}

// runtimeCalls returns what the Go runtime and the pipes need. A thread may signal threads
// of this process, and a new thread is one of this process.
func runtimeCalls() []call {
	const thread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD
	own := is(0, uint32(os.Getpid()))
	cs := free(
		unix.SYS_FUTEX, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PPOLL, unix.SYS_NANOSLEEP, unix.SYS_SCHED_YIELD,
		unix.SYS_GETRUSAGE, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2,
		unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_LSEEK, unix.SYS_FSTAT, unix.SYS_CLOSE,
		unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
		unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_GETRANDOM, unix.SYS_SCHED_GETAFFINITY,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EVENTFD2, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	)
	return append(cs,
		call{unix.SYS_TGKILL, []way{{own}}},
		call{unix.SYS_KILL, []way{{own}}},
		call{unix.SYS_CLONE, []way{{bits(0, ^uint32(unix.CLONE_SYSVSEM|unix.CLONE_SETTLS), thread)}}},
		call{unix.SYS_FCNTL, []way{
			{is(1, unix.F_GETFD)}, {is(1, unix.F_SETFD)}, {is(1, unix.F_GETFL)}, {is(1, unix.F_DUPFD_CLOEXEC)},
			{is(1, unix.F_SETFL), bits(2, unix.O_ASYNC, 0)}, // which would send signals
		}},
		call{unix.SYS_PRCTL, []way{{is(0, unix.PR_SET_VMA)}}}, // names of memory
	)
}

// memoryCalls returns what changes memory: all of it is private, so that it counts against
// the limit of [Bounds], and of the files only those of the Set are mapped.
func memoryCalls(s Set) []call {
	plain := bits(2, unix.PROT_EXEC, 0)
	const kind = unix.MAP_TYPE | unix.MAP_GROWSDOWN
	cs := free(unix.SYS_MUNMAP, unix.SYS_MADVISE)
	maps := []way{
		{plain, bits(3, kind|unix.MAP_ANONYMOUS, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)},
		{plain, bits(3, kind|unix.MAP_ANONYMOUS, unix.MAP_DROPPABLE|unix.MAP_ANONYMOUS)}, // for random numbers
	}
	for _, fd := range s.Files {
		maps = append(maps, way{plain, bits(3, kind|unix.MAP_ANONYMOUS, unix.MAP_PRIVATE), is(4, uint32(fd))})
	}
	protects := []way{{plain}}
	if s.Code {
		protects = append(protects, way{bits(2, unix.PROT_EXEC|unix.PROT_WRITE, unix.PROT_EXEC)})
	}
	cs = append(cs, call{unix.SYS_MMAP, maps}, call{unix.SYS_MPROTECT, protects})
	if len(s.Files) > 0 {
		const empty = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
		cs = append(cs, call{unix.SYS_FALLOCATE, []way{{is(1, empty)}}})
	}
	return cs
}

// readCalls returns what looks at files.
func readCalls() []call {
	return free(unix.SYS_OPENAT, unix.SYS_NEWFSTATAT, unix.SYS_READLINKAT, unix.SYS_GETDENTS64)
}

// writeCalls returns what changes files. Times are changed in open files only: the kernel
// has no other wall around them.
func writeCalls() []call {
	cs := free(unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_FTRUNCATE, unix.SYS_FSYNC)
	return append(cs, call{unix.SYS_UTIMENSAT, []way{{is(1, 0), {arg: 1, half: 1, mask: ^uint32(0)}}}})
}
