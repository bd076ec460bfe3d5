// Package pipe reads and writes pipes that carry many short messages.
package pipe

import (
	"io"
	"os"
	"sync"
	"syscall"
)

// An End is one end of a pipe. Its goroutine waits in the runtime's poller. Its system
// calls, which never block, bypass the runtime: for ordinary system calls the runtime
// assumes blocking and wakes sysmon, which checks every 20 µs and took a tenth of a
// core beside 25,000 short calls a second. The pipe must stay non-blocking (Fd would
// change that): else the whole process would stop. It is safe for concurrent use.
type End struct {
	*os.File
	raw syscall.RawConn // nil: the file's own methods are used
	in  side
	out side
}

// A side is one direction of an End.
type side struct {
	sync.Mutex
	step  func(fd uintptr) (done bool)
	bytes []byte // to read or write; not kept
	n     int
	errno syscall.Errno
}

// New returns an End of a file, which it owns. For a file that is no pipe, or that the
// runtime's poller does not watch, it uses the file's methods.
func New(f *os.File) *End {
	e := &End{File: f}
	if quick && nonblocking(f) {
		e.raw, _ = f.SyscallConn()
	}
	e.in.step = func(fd uintptr) bool { return e.in.try(read, fd) }
	e.out.step = func(fd uintptr) bool { return e.out.try(write, fd) }
	return e
}

// try makes one system call. The poller calls it again when the pipe is ready.
func (s *side) try(what func(fd uintptr, p []byte) (int, syscall.Errno), fd uintptr) (done bool) {
	for {
		n, errno := what(fd, s.bytes)
		switch errno {
		case 0:
			s.n = n
			return true
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			s.errno = errno
			return true
		}
	}
}

// Read implements io.Reader.
func (e *End) Read(p []byte) (int, error) {
	if e.raw == nil || len(p) == 0 {
		return e.File.Read(p)
	}
	n, errno, err := e.in.do(e.raw.Read, p)
	switch {
	case err != nil: // closed, or its deadline has passed
		return e.File.Read(p)
	case errno != 0:
		return 0, &os.PathError{Op: "read", Path: e.Name(), Err: errno}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements io.Writer: it writes everything or returns an error.
func (e *End) Write(p []byte) (int, error) {
	if e.raw == nil {
		return e.File.Write(p)
	}
	for done := 0; ; {
		n, errno, err := e.out.do(e.raw.Write, p[done:])
		switch done += n; {
		case err != nil: // closed, or its deadline has passed
			n, err = e.File.Write(p[done:])
			return done + n, err
		case errno != 0:
			return done, &os.PathError{Op: "write", Path: e.Name(), Err: errno}
		case done == len(p):
			return done, nil
		}
	}
}

// do calls step until it is done. The error says that the poller refused.
func (s *side) do(wait func(func(uintptr) bool) error, p []byte) (int, syscall.Errno, error) {
	s.Lock()
	defer s.Unlock()
	s.bytes, s.n, s.errno = p, 0, 0
	err := wait(s.step)
	s.bytes = nil
	return s.n, s.errno, err
}
