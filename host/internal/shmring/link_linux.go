package shmring

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weirhost/weir/host/internal/pipe"
)

// A ChildEnd is a child's end of a pipe, by its descriptor. Its system calls block, so
// the kernel wakes the child directly, without the runtime's poller.
type ChildEnd int

// Read implements io.Reader.
func (e ChildEnd) Read(p []byte) (int, error) {
	e.poll()
	for {
		n, err := unix.Read(int(e), p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// hiddenTime is how long a Read may wait without the runtime noticing.
const hiddenTime = 2 * time.Millisecond

// poll waits for input, for hiddenTime at most. To the runtime it looks like computing.
// From a goroutine that sleeps in a system call for 20 µs the runtime takes its
// processor away, and keeps a thread awake to check for that in every worker. A stop
// of the world interrupts the wait.
func (e ChildEnd) poll() {
	fd := unix.PollFd{Fd: int32(e), Events: unix.POLLIN}
	most := unix.NsecToTimespec(int64(hiddenTime))
	_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fd)), 1, uintptr(unsafe.Pointer(&most)), 0, 0, 0) // the read that follows reports errors
}

// Send implements Carrier. It needs one system call where the pipe has room.
func (e ChildEnd) Send(head, tail []byte) error {
	for len(head)+len(tail) > 0 {
		n, err := unix.Writev(int(e), [][]byte{head, tail})
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return os.NewSyscallError("write", err)
		}
		of := min(n, len(head))
		head, tail = head[of:], tail[n-of:]
	}
	return nil
}

// A parentEnd is the parent's end for writing. Its goroutine waits in the runtime's
// poller: a child that reads nothing must not hold one of the parent's threads.
type parentEnd struct{ *pipe.End }

// Send implements Carrier.
func (e parentEnd) Send(head, tail []byte) error {
	if len(tail) == 0 {
		_, err := e.Write(head)
		return err
	}
	raw, err := e.SyscallConn()
	if err != nil {
		return err
	}
	for err == nil && len(head)+len(tail) > 0 {
		n, fault := 0, error(nil)
		err = raw.Write(func(fd uintptr) bool {
			n, fault = unix.Writev(int(fd), [][]byte{head, tail})
			return fault != unix.EAGAIN
		})
		if fault != nil && fault != unix.EINTR {
			err = errors.Join(err, os.NewSyscallError("write", fault))
		}
		n = max(n, 0)
		of := min(n, len(head))
		head, tail = head[of:], tail[n-of:]
	}
	return err
}

// A Link is what passes between a parent and its child, as the parent has it.
type Link struct {
	In       *pipe.End // the parent writes
	Out      *pipe.End // the child writes
	Shared   *Region   // both do
	Capacity int       // of In, in bytes
}

// Carrier returns the parent's end for writing.
func (l Link) Carrier() Carrier { return parentEnd{l.In} }

// pipeSize is the wanted capacity of a pipe, in bytes. With less, a long frame wakes
// both sides more often.
const pipeSize = 256 << 10

// NewLink creates a Link. theirs are the child's ends in the order of its descriptors:
// its input, its output and the shared memory. The caller closes them after the start.
func NewLink() (ours Link, theirs []*os.File, err error) {
	in, out := [2]int{-1, -1}, [2]int{-1, -1}
	err = errors.Join(unix.Pipe2(in[:], unix.O_CLOEXEC), unix.Pipe2(out[:], unix.O_CLOEXEC))
	var shared *Region
	var memory *os.File
	if err == nil {
		shared, memory, err = Create()
	}
	if err == nil {
		err = errors.Join(unix.SetNonblock(in[1], true), unix.SetNonblock(out[0], true)) // for the runtime's poller
	}
	if err != nil {
		for _, fd := range slices.Concat(in[:], out[:]) {
			_ = unix.Close(fd) // those that were opened
		}
		_ = memory.Close()
		if shared != nil {
			shared.Release()
		}
		return Link{}, nil, fmt.Errorf("create the pipes of a worker: %w", err)
	}
	for _, fd := range []int{in[1], out[0]} {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeSize)
	}
	capacity, _ := unix.FcntlInt(uintptr(in[1]), unix.F_GETPIPE_SZ, 0) // 0: no call waits after another one
	file := func(fd int) *os.File { return os.NewFile(uintptr(fd), "a worker's link") }
	return Link{pipe.New(file(in[1])), pipe.New(file(out[0])), shared, max(capacity, 0)}, []*os.File{file(in[0]), file(out[1]), memory}, nil
}

// Close closes the parent's ends. The Region is closed with its Claims.
func (l Link) Close() error { return errors.Join(l.In.Close(), l.Out.Close()) }
