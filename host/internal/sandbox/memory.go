package sandbox

import (
	"github.com/tetratelabs/wazero/experimental"

	"github.com/weirhost/weir/host/internal/memsnap"
	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// meter allocates the linear memories of one instance and caps each of them. The
// engine has a cap too, but does not report when a guest reached it, and running out
// of memory would look like any other crash. It belongs to the goroutine that runs the
// guest.
type meter struct {
	caps  []uint64       // for the memories in order of creation; the last one is for all further ones
	made  []memory       // the kernel's first; nil for a guest without a kernel
	space *memsnap.Space // creates memories that can be reset; nil: they cannot
}

// A memory is one linear memory.
type memory interface {
	experimental.LinearMemory
	// Size is in bytes.
	Size() uint64
	// Refused reports whether the guest asked for more than its cap.
	Refused() bool
}

// newMeter returns a meter. guest caps the guest's memory, in bytes; the kernel's
// memory comes first.
func newMeter(guest uint64) *meter { return &meter{caps: []uint64{kernelCap, guest}} }

// Allocate implements experimental.MemoryAllocator.
func (m *meter) Allocate(_, most uint64) experimental.LinearMemory {
	l := m.allocate(m.caps[min(len(m.made), len(m.caps)-1)], most)
	m.made = append(m.made, l)
	return l
}

// allocate returns a memory of at most cap bytes. One that can be reset ends a page
// below the engine's limit: after a request for one more page the engine learns that
// the memory has shrunk. Without address space for it, an ordinary memory is used.
func (m *meter) allocate(cap, most uint64) memory {
	if m.space != nil && most > wasmcheck.PageSize {
		if l, err := m.space.Reserve(0, min(cap, most-wasmcheck.PageSize)); err == nil {
			return l
		}
	}
	return &linear{cap: min(cap, most)}
}

// skip says that there is no kernel.
func (m *meter) skip() { m.made = append(m.made, nil) }

// of returns the memory of the kernel, 0, or of the guest, 1; nil: there is none, or
// it is empty. ok is false if it cannot be reset.
func (m *meter) of(n int) (l *memsnap.Memory, ok bool) {
	if n >= len(m.made) || m.made[n] == nil {
		return nil, true
	}
	if l, ok = m.made[n].(*memsnap.Memory); ok {
		return l, true
	}
	plain, ok := m.made[n].(*linear)
	return nil, ok && plain.cap == 0
}

// ranOut reports whether the guest asked for more than its cap.
func (m *meter) ranOut() bool {
	for _, l := range m.made {
		if l != nil && l.Refused() {
			return true
		}
	}
	return false
}

// guest returns the size of the guest's memories together, in bytes.
func (m *meter) guest() (n int64) {
	for _, l := range m.made[min(1, len(m.made)):] {
		n += int64(l.Size())
	}
	return n
}

// release frees what the garbage collector does not. No code of the instance may run
// any more.
func (m *meter) release() {
	for _, l := range m.made {
		if l, ok := l.(*memsnap.Memory); ok {
			l.Release()
		}
	}
}

// linear is one memory on the Go heap. A closed instance may run on until its next
// check, so its memory is never unmapped.
type linear struct {
	cap     uint64
	size    uint64
	buf     []byte
	refused bool
}

// Reallocate implements experimental.LinearMemory.
func (l *linear) Reallocate(size uint64) []byte {
	if size > l.cap {
		l.refused = true
		return nil
	}
	if size > uint64(cap(l.buf)) {
		// Growing by a quarter avoids that a guest that grows page by page
		// copies everything each time.
		room := min(max(size, uint64(cap(l.buf))/4*5), l.cap)
		next := make([]byte, size, room)
		copy(next, l.buf)
		l.buf = next
	}
	l.buf, l.size = l.buf[:size], size
	return l.buf
}

// Free implements experimental.LinearMemory. The garbage collector frees the memory.
func (l *linear) Free() {}

// Size implements memory.
func (l *linear) Size() uint64 { return l.size }

// Refused implements memory.
func (l *linear) Refused() bool { return l.refused }
