package mcpbridge

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// Pollable returns f opened again if it is a pipe, for the poller of the runtime;
// any other file, and a pipe that cannot be opened again, it returns as it is. An
// inherited standard file blocks a thread in each system call, and the runtime's
// monitor checks such threads many thousand times a second. The inherited file
// keeps its flags, because other processes share them.
func Pollable(f *os.File, flag int) *os.File {
	info, err := f.Stat()
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return f
	}
	// Without O_NONBLOCK, opening would wait for the other end of a named pipe.
	again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), flag|syscall.O_NONBLOCK, 0)
	if err != nil { // not Linux, or the pipe has no reader
		return f
	}
	return again
}
