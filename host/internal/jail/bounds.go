package jail

import (
	"strings"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// What one jail allows. A guest that needs more has lost its way.
const (
	maxPath  = 4096    // bytes of a path, as the system has it
	maxDepth = 255     // names in a path; each costs the host some work
	maxOpen  = 256     // files and folders that are open at once
	maxWrite = 1 << 30 // bytes written together, and the length of any file
	maxBatch = 1024    // entries of a folder that are read at a time
)

// bounds counts what the mounts of a jail use together.
type bounds struct {
	open    atomic.Int64
	written atomic.Int64
}

// enter takes a place for an open file.
func (b *bounds) enter() sys.Errno {
	if b.open.Add(1) > maxOpen {
		b.open.Add(-1)
		return sys.EAGAIN // the engine has no EMFILE
	}
	return 0
}

func (b *bounds) leave() { b.open.Add(-1) }

// write takes n bytes that shall end at the given place of a file. What does
// not fit leaves the count as it was: the guest may write less.
func (b *bounds) write(n, end int64) sys.Errno {
	if end > maxWrite || end < 0 {
		return sys.EIO // the engine has no EFBIG
	}
	if b.written.Add(n) > maxWrite {
		b.written.Add(-n)
		return sys.EIO // nor ENOSPC
	}
	return 0
}

// tooLong reports whether a path is more than the host wants to walk.
func tooLong(p string) bool { return len(p) > maxPath || strings.Count(p, "/") > maxDepth }
