package sandbox

import (
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// meter allocates the linear memories of one instance and holds each to its
// cap. The engine has a cap of its own but does not tell when a guest ran into
// it, and then "out of memory" cannot be told from any other crash.
type meter struct {
	mu     sync.Mutex
	caps   []uint64  // for the memories in the order they are made; the last is for all further ones
	made   []*linear // the kernel's first; nil for a guest without one
	denied bool
}

// newMeter caps the kernel's memory, which is made first, and the guest's.
func newMeter(guest uint64) *meter { return &meter{caps: []uint64{kernelCap, guest}} }

// Allocate implements experimental.MemoryAllocator.
func (m *meter) Allocate(_, _ uint64) experimental.LinearMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &linear{meter: m, cap: m.caps[min(len(m.made), len(m.caps)-1)]}
	m.made = append(m.made, l)
	return l
}

// skip says that there is no kernel.
func (m *meter) skip() { m.made = append(m.made, nil) }

// ranOut reports whether the guest asked for more than its cap.
func (m *meter) ranOut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.denied
}

// guest is the size of the guest's memory, in bytes; several count together.
func (m *meter) guest() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.made[min(1, len(m.made)):] {
		n += int64(l.size)
	}
	return n
}

// linear is one memory. Its bytes are ordinary ones of the Go heap: a closed
// instance may run on until its next check, so nothing is ever unmapped here.
type linear struct {
	meter *meter
	cap   uint64
	size  uint64
	buf   []byte
}

// Reallocate implements experimental.LinearMemory.
func (l *linear) Reallocate(size uint64) []byte {
	l.meter.mu.Lock()
	defer l.meter.mu.Unlock()
	if size > l.cap {
		l.meter.denied = true
		return nil
	}
	if size > uint64(cap(l.buf)) {
		// Growing by a quarter spares a guest that grows page by page from
		// copying everything each time.
		room := min(max(size, uint64(cap(l.buf))/4*5), l.cap)
		next := make([]byte, size, room)
		copy(next, l.buf)
		l.buf = next
	}
	l.buf, l.size = l.buf[:size], size
	return l.buf
}

// Free implements experimental.LinearMemory. The garbage collector does it.
func (l *linear) Free() {}
