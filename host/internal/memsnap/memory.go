package memsnap

import (
	"errors"
	"sync/atomic"
)

// A Memory is one linear memory. Its address never changes. Beside Free it is
// for one goroutine at a time.
type Memory struct {
	space *Space
	base  []byte // the whole reservation; nil once released
	limit uint64
	size  uint64 // bytes that the engine received last
	peak  uint64 // bytes from the begin that are accessible
	image *Image // nil before Freeze or Adopt
	owes  bool   // the engine must receive the image's size
	kept  int    // pages of its own after the last renewal

	refused bool
	broken  bool // what is mapped there is not known any more
	freed   atomic.Bool

	dirty []region // room for the search: one more than are copied back
}

// Errors of memories.
var (
	ErrReleased = errors.New("the memory was released")
	ErrNoImage  = errors.New("the memory has no image")
	errBroken   = errors.New("the memory is broken")
)

// usable says why nothing can be done with the memory, or nil.
func (m *Memory) usable() error {
	switch {
	case m.base == nil:
		return ErrReleased
	case m.broken:
		return errBroken
	}
	return nil
}

// Reallocate makes size bytes accessible, as an engine asks when its guest
// grows, and returns them; new ones are zero. Nil is a refusal: the limit is
// reached, or the system has no more, as under RLIMIT_DATA. When Renew or Adopt
// said that the engine has another size than the image, the next Reallocate
// answers the image's bytes whatever size it is asked for. The slice has no
// capacity beyond its length, so append cannot write to inaccessible memory.
func (m *Memory) Reallocate(size uint64) []byte {
	if m.usable() != nil {
		return nil
	}
	if m.owes {
		m.owes = false
		m.size = m.image.size
		return m.base[:m.size:m.size]
	}
	if size > m.limit {
		m.refused = true
		return nil
	}
	if end := m.space.round(size); end > m.peak {
		if err := commit(m.base[m.peak:end]); err != nil {
			m.refused = true
			return nil
		}
		m.peak = end
	}
	m.size = max(m.size, size)
	return m.base[:size:size]
}

// Free is the engine's word that its module is closed. A closed module runs on
// until its next check, so nothing is unmapped here. It may be called while a
// call runs, from any goroutine.
func (m *Memory) Free() { m.freed.Store(true) }

// Freed reports whether the engine has closed the module.
func (m *Memory) Freed() bool { return m.freed.Load() }

// Size is how large the memory is, in bytes.
func (m *Memory) Size() uint64 { return m.size }

// Refused reports whether the guest asked for more than it could get, since the
// memory was made or renewed.
func (m *Memory) Refused() bool { return m.refused }

// Kept is how many bytes the memory keeps for itself between calls, beside what
// it shares with its image.
func (m *Memory) Kept() uint64 { return uint64(m.kept) * m.space.page }

// Release gives everything back. Only the owner calls it, when no call is in
// flight and none will come: the engine's slices point nowhere afterwards.
// Releasing twice does nothing.
func (m *Memory) Release() {
	if m.base == nil {
		return
	}
	base := m.base
	m.base, m.size, m.peak, m.owes = nil, 0, 0, false
	if !m.broken { // else some of it may by now be somebody else's
		_ = unmap(base) // fails for ranges that are none, which this is not
	}
	if m.image != nil {
		_ = m.image.drop() // closing a file that lives in memory
		m.image = nil
	}
	_ = m.left() // closing a table that was read
}

// left takes the memory out of what is in use.
func (m *Memory) left() error {
	return m.space.count(func() { m.space.stats.Memories--; m.space.stats.Reserved -= m.limit })
}

// Freeze makes an image of what the memory holds, which the memory then shares.
// No call may be in flight. The caller closes the image when no other memory is
// to adopt it. After an error the memory is to be released.
func (m *Memory) Freeze() (*Image, error) {
	if err := m.usable(); err != nil {
		return nil, err
	}
	im, err := m.space.newImage(m.base[:m.size])
	if err != nil {
		return nil, err
	}
	if _, err := m.Adopt(im); err != nil {
		return nil, errors.Join(err, im.Close())
	}
	return im, nil
}

// Adopt puts an image, made of a memory of the same module, in the place of what
// the memory holds. resize means what it means for Renew. After an error the
// memory is to be released.
func (m *Memory) Adopt(im *Image) (resize bool, err error) {
	if err := m.usable(); err != nil {
		return false, err
	}
	if im.size > m.limit {
		return false, errors.New("the image is beyond the memory's limit")
	}
	if err := im.retain(); err != nil {
		return false, err
	}
	if err := m.lay(im); err != nil {
		return false, errors.Join(err, im.drop())
	}
	if m.image != nil {
		if err := m.image.drop(); err != nil {
			return false, err
		}
	}
	m.image, m.peak = im, max(m.peak, im.size)
	m.settle(0)
	return m.owes, nil
}

// lay maps the image over the start of the memory and clears the rest.
func (m *Memory) lay(im *Image) error {
	if im.size > 0 {
		if err := mapOver(m.base[:im.size], im.file); err != nil {
			m.broken = true
			return err
		}
	}
	if m.size > im.size {
		return discard(m.base[im.size:m.size])
	}
	return nil
}

// settle notes that the memory holds the image again.
func (m *Memory) settle(kept int) {
	m.kept, m.refused = kept, false
	m.owes = m.size != m.image.size
}
