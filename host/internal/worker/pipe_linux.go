package worker

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

// An end is the child's end of a pipe, used by system calls that block: whoever
// waits at it is woken by the kernel itself, not by way of the runtime's poller.
type end int

// Read implements io.Reader.
func (e end) Read(p []byte) (int, error) {
	e.doze()
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

// dozeTime is for how long who reads may wait without the runtime knowing of it.
const dozeTime = 2 * time.Millisecond

// doze waits until something can be read, for a moment at the most. To the runtime it
// looks like computing: of whoever sleeps in a system call for 20 µs it takes away the
// leave to run, and it keeps a thread awake to see that, in every worker. A stop of
// the world interrupts the wait.
func (e end) doze() {
	fd := unix.PollFd{Fd: int32(e), Events: unix.POLLIN}
	most := unix.NsecToTimespec(int64(dozeTime))
	_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fd)), 1, uintptr(unsafe.Pointer(&most)), 0, 0, 0) // whatever came of it, the reading tells
}

// write writes head and then tail, by one system call where the pipe has room.
func (e end) write(head, tail []byte) error {
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

// A spout is the parent's end that it writes to. Its goroutine waits in the
// runtime's poller, for a parent has more to do, and a child that reads nothing
// would hold one of its threads.
type spout struct{ *pipe.End }

func (s spout) write(head, tail []byte) error {
	if len(tail) == 0 {
		_, err := s.Write(head)
		return err
	}
	raw, err := s.SyscallConn()
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

// A link is what passes between a parent and a child, as the parent has it.
type link struct {
	in     *pipe.End // the parent writes
	out    *pipe.End // the child writes
	shared *region   // both do
	room   int       // bytes that in holds
}

// pipeRoom is what a pipe is to hold at once, in bytes: with less, a long frame
// wakes both sides more often. Where the kernel gives less it only takes longer.
const pipeRoom = 256 << 10

// newLink makes a link. theirs are the child's ends in the order of its
// descriptors; who started it closes them.
func newLink() (ours link, theirs []*os.File, err error) {
	in, out := [2]int{-1, -1}, [2]int{-1, -1}
	err = errors.Join(unix.Pipe2(in[:], unix.O_CLOEXEC), unix.Pipe2(out[:], unix.O_CLOEXEC))
	var shared *region
	var memory *os.File
	if err == nil {
		shared, memory, err = newRegion()
	}
	if err == nil {
		err = errors.Join(unix.SetNonblock(in[1], true), unix.SetNonblock(out[0], true)) // for the runtime's poller
	}
	if err != nil {
		for _, fd := range slices.Concat(in[:], out[:]) {
			_ = unix.Close(fd) // those that are there
		}
		_ = memory.Close()
		if shared != nil {
			shared.drop()
		}
		return link{}, nil, fmt.Errorf("its pipes cannot be made: %w", err)
	}
	for _, fd := range []int{in[1], out[0]} {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeRoom)
	}
	room, _ := unix.FcntlInt(uintptr(in[1]), unix.F_GETPIPE_SZ, 0) // 0: no call waits behind another one
	file := func(fd int) *os.File { return os.NewFile(uintptr(fd), "a worker's link") }
	return link{pipe.New(file(in[1])), pipe.New(file(out[0])), shared, max(room, 0)}, []*os.File{file(in[0]), file(out[1]), memory}, nil
}

// close lets go of the parent's ends. The memory is the line's.
func (l link) close() error { return errors.Join(l.in.Close(), l.out.Close()) }
