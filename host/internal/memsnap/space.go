package memsnap

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

const (
	// guestPage is the unit in which guests' memories grow, in bytes.
	guestPage = 64 << 10
	// maxLimit is the most that a 32-bit guest can address, in bytes.
	maxLimit = 1 << 32
	// maxDirty is how many pages a renewal copies back; they are what an idle
	// memory keeps for itself, 2 MiB of them. Beyond it all are dropped. A page that
	// is copied costs a tenth of one that is dropped and written again; what real
	// tools write in a call is 20 to 250 pages, and a result of 1 MiB is 256.
	maxDirty = 512
)

// A Space makes memories. It holds at most one descriptor, and each open image
// one more. It is safe for concurrent use; a Memory is not.
type Space struct {
	find  finder
	page  uint64   // bytes of a page of this system
	most  int      // pages that a renewal copies back
	table *os.File // the table of this process's pages

	mu       sync.Mutex
	stats    Stats
	shut     bool
	prepared bool       // images have files of Prepare alone
	files    []*os.File // of Prepare, that no image has
}

// Stats is what a Space has given out and not yet got back.
type Stats struct {
	Memories int
	Images   int
	Reserved uint64 // bytes of address space of the memories
	Stored   uint64 // bytes that the images hold, holes not counted
}

// A finder lists the pages of b that are b's own, and stops when found is full.
type finder func(table *os.File, b []byte, found []region) (int, error)

// Open opens a Space. A process that hides itself from others (PR_SET_DUMPABLE) opens it
// before. The error says why memories cannot be renewed on this system.
func Open() (*Space, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	return open(openTable, find)
}

// Opener returns Open for a process that will hide itself: the table is opened now, and stays
// open.
func Opener() func() (*Space, error) {
	table, err := openTable()
	return func() (*Space, error) {
		if err := Supported(); err != nil {
			return nil, err
		}
		return open(func() (*os.File, error) {
			if err != nil {
				return nil, err
			}
			return duplicate(table)
		}, find)
	}
}

func open(table func() (*os.File, error), find finder) (_ *Space, err error) {
	page := os.Getpagesize()
	if page > guestPage {
		return nil, fmt.Errorf("the pages of this system have %d bytes, more than those of guests", page)
	}
	s := &Space{find: find, page: uint64(page), most: maxDirty}
	if s.table, err = table(); err == nil {
		err = s.probe()
	}
	if err != nil {
		return nil, fmt.Errorf("memories cannot be renewed on this system: %w", errors.Join(err, s.Close()))
	}
	return s, nil
}

// Stats returns what is in use.
func (s *Space) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Close refuses new memories and images. The descriptor goes when the last
// memory is released. Closing twice is no error.
func (s *Space) Close() error { return s.count(func() { s.shut = true }) }

// count changes what is in use, and closes the descriptors after the last user.
func (s *Space) count(change func()) error {
	s.mu.Lock()
	change()
	var gone []*os.File
	if s.shut && s.stats.Memories == 0 {
		gone, s.files = s.files, nil
		if s.table != nil {
			gone, s.table = append(gone, s.table), nil
		}
	}
	s.mu.Unlock()
	var errs []error
	for _, f := range gone {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// enter adds to what is in use, unless the Space is closed.
func (s *Space) enter(change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return errors.New("the space for memories is closed")
	}
	change()
	return nil
}

// Reserve makes a memory that may grow to limit bytes, of which size are
// accessible and zero; both are rounded up to the system's pages, and limit is
// held to 4 GiB. It fails where the system has no room. The caller owns the
// memory until it calls Release.
func (s *Space) Reserve(size, limit uint64) (*Memory, error) {
	limit = s.round(min(limit, maxLimit))
	size = s.round(size)
	if size > limit {
		return nil, fmt.Errorf("a memory of %d bytes is beyond its limit of %d", size, limit)
	}
	if err := s.enter(func() { s.stats.Memories++; s.stats.Reserved += limit }); err != nil {
		return nil, err
	}
	m := &Memory{space: s, limit: limit, dirty: make([]region, s.most+1)}
	base, err := reserve(limit)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("no address space for a memory: %w", err), m.left())
	}
	m.base = base
	if m.Reallocate(size) == nil && size > 0 {
		m.Release()
		return nil, fmt.Errorf("no memory for the %d bytes that a guest begins with", size)
	}
	return m, nil
}

// round is n up to the system's pages.
func (s *Space) round(n uint64) uint64 { return (n + s.page - 1) &^ (s.page - 1) }
