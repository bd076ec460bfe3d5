package frames

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// A Link is the pipes between a parent and its child, as the parent has them. Its
// goroutines wait in the runtime's poller: a child that reads nothing holds none of the
// parent's threads.
type Link struct {
	In  *os.File // the parent writes
	Out *os.File // the child writes
}

// pipeSize is the wanted capacity of a pipe, in bytes. With less, a long frame wakes
// both sides more often.
const pipeSize = 256 << 10

// NewLink creates a Link. theirs are the child's ends in the order of its descriptors:
// its input and its output. The caller closes them after the start.
func NewLink() (ours Link, theirs []*os.File, err error) {
	in, out := [2]int{-1, -1}, [2]int{-1, -1}
	err = errors.Join(unix.Pipe2(in[:], unix.O_CLOEXEC), unix.Pipe2(out[:], unix.O_CLOEXEC))
	if err == nil {
		err = errors.Join(unix.SetNonblock(in[1], true), unix.SetNonblock(out[0], true)) // for the runtime's poller
	}
	if err != nil {
		for _, fd := range slices.Concat(in[:], out[:]) {
			_ = unix.Close(fd) // those that were opened
		}
		return Link{}, nil, fmt.Errorf("create the pipes of a worker: %w", err)
	}
	for _, fd := range []int{in[1], out[0]} {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeSize)
	}
	file := func(fd int) *os.File { return os.NewFile(uintptr(fd), "a worker's pipe") }
	return Link{file(in[1]), file(out[0])}, []*os.File{file(in[0]), file(out[1])}, nil
}

// Close closes the parent's ends.
func (l Link) Close() error { return errors.Join(l.In.Close(), l.Out.Close()) }
