// Package pipe reads and writes pipes that many short messages go through.
package pipe

import (
	"io"
	"os"
	"sync"
	"syscall"
)

// An End is one end of a pipe. Its goroutine waits in the runtime's poller, and what
// it asks the kernel for in between looks like computing to the runtime, as it never
// waits. Of every other system call the runtime thinks that it may: its monitor is
// woken for it, and looks every 20 µs whether it has lasted, which took a tenth of a
// core beside 25,000 short calls a second. Nobody may make the pipe wait, as Fd does: then the
// whole process would stand still. It is safe for concurrent use.
type End struct {
	*os.File
	raw syscall.RawConn // nil: the file's own methods do
	in  side
	out side
}

// A side is one direction of an End.
type side struct {
	sync.Mutex
	step  func(fd uintptr) (done bool)
	bytes []byte // that are to be read or written; none is kept
	n     int
	errno syscall.Errno
}

// New makes an End of a file, which belongs to it. Of one that is no pipe, or that the
// runtime's poller does not wait for, it uses the methods.
func New(f *os.File) *End {
	e := &End{File: f}
	if quick && nonblocking(f) {
		e.raw, _ = f.SyscallConn()
	}
	e.in.step = func(fd uintptr) bool { return e.in.try(read, fd) }
	e.out.step = func(fd uintptr) bool { return e.out.try(write, fd) }
	return e
}

// try asks the kernel once; it is asked again when something can be had.
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
	case err != nil: // it was closed, or its deadline has come
		return e.File.Read(p)
	case errno != 0:
		return 0, &os.PathError{Op: "read", Path: e.Name(), Err: errno}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements io.Writer: it writes all, or says why not.
func (e *End) Write(p []byte) (int, error) {
	if e.raw == nil {
		return e.File.Write(p)
	}
	for done := 0; ; {
		n, errno, err := e.out.do(e.raw.Write, p[done:])
		switch done += n; {
		case err != nil: // it was closed, or its deadline has come
			n, err = e.File.Write(p[done:])
			return done + n, err
		case errno != 0:
			return done, &os.PathError{Op: "write", Path: e.Name(), Err: errno}
		case done == len(p):
			return done, nil
		}
	}
}

// do has a side's step made until it is done. The error is that nothing could be tried.
func (s *side) do(wait func(func(uintptr) bool) error, p []byte) (int, syscall.Errno, error) {
	s.Lock()
	defer s.Unlock()
	s.bytes, s.n, s.errno = p, 0, 0
	err := wait(s.step)
	s.bytes = nil
	return s.n, s.errno, err
}
