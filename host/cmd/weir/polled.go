package main

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// polled returns the same end of a pipe, opened anew, so that the runtime's poller
// waits for it; what is no pipe, or cannot be opened so, it returns as it is. A
// standard file that is inherited is read and written by system calls that take a
// thread for as long as they wait, and the runtime's monitor looks after those fifty
// thousand times a second. The inherited one keeps its flags, which others share.
func polled(f *os.File, flag int) *os.File {
	info, err := f.Stat()
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return f
	}
	// A named pipe without anybody at its other end would otherwise be waited for.
	again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), flag|syscall.O_NONBLOCK, 0)
	if err != nil { // no Linux, or nobody reads what is to be written
		return f
	}
	return again
}
