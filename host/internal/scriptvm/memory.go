package scriptvm

import (
	"github.com/tetratelabs/wazero/experimental"

	"github.com/weirhost/weir/host/internal/memsnap"
)

// memories are where the linear memories of a Runtime come from: they share the image in
// which every script starts, and have pages of their own where they differ. A system
// without such memories has ordinary ones.
type memories struct {
	space *memsnap.Space // nil: ordinary memories
	image *memsnap.Image // nil before the Runtime has started, and without space
}

// openMemories returns the memories of a Runtime.
func openMemories() memories {
	if memsnap.Supported() != nil {
		return memories{}
	}
	space, err := memsnap.Open(memsnap.Discard) // no memory is renewed here: each gets the image anew
	if err != nil {
		return memories{}
	}
	return memories{space: space}
}

// freeze keeps what a memory holds as the image of all later ones.
func (m *memories) freeze(first *memsnap.Memory) (err error) {
	if first != nil {
		m.image, err = first.Freeze()
	}
	return err
}

func (m *memories) close() {
	if m.image != nil {
		_ = m.image.Close() // a file that lives in memory
	}
	if m.space != nil {
		_ = m.space.Close() // a table that was read
	}
}

// An allocator makes the one memory of a script.
type allocator struct {
	space *memsnap.Space // nil: an ordinary memory
	made  *memsnap.Memory
}

// Allocate implements experimental.MemoryAllocator. A memory ends a page below the
// engine's limit, so that the engine can learn of another size by asking for a page.
func (a *allocator) Allocate(_, most uint64) experimental.LinearMemory {
	if a.space != nil && most > pageSize {
		if m, err := a.space.Reserve(0, most-pageSize); err == nil {
			a.made = m
			return m
		}
	}
	return &ordinary{most: most}
}

// ordinary is a memory on the Go heap.
type ordinary struct {
	most uint64
	buf  []byte
}

// Reallocate implements experimental.LinearMemory.
func (o *ordinary) Reallocate(size uint64) []byte {
	if size > o.most {
		return nil
	}
	if size > uint64(cap(o.buf)) {
		next := make([]byte, size, min(size+size/4, o.most))
		copy(next, o.buf)
		o.buf = next
	}
	o.buf = o.buf[:size]
	return o.buf
}

// Free implements experimental.LinearMemory. The garbage collector frees the memory.
func (o *ordinary) Free() {}

// reset puts a new memory into the state in which every script starts.
func (s *Script) reset() error {
	image := s.runtime.memories.image
	if s.memory == nil || image == nil {
		return s.restore(s.runtime.image)
	}
	resize, err := s.memory.Adopt(image)
	if err != nil {
		return err
	}
	if resize {
		if _, ok := s.module.Memory().Grow(1); !ok {
			return ErrBroken
		}
	}
	return nil
}
