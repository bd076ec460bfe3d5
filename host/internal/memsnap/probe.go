package memsnap

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// probe tries the search out: what was written must be found and restored, and
// what was only read should not be taken for written.
func (s *Space) probe() error {
	m, err := s.Reserve(2*guestPage, 4*guestPage)
	if err != nil {
		return err
	}
	defer m.Release()
	mem := m.Reallocate(2 * guestPage)
	mem[0], mem[s.page], mem[guestPage] = 1, 2, 3
	want := bytes.Clone(mem)
	im, err := m.Freeze()
	if err != nil {
		return err
	}
	if err := im.Close(); err != nil { // m keeps it
		return err
	}
	if err := s.probeFind(m); err != nil {
		return err
	}
	for _, renew := range []func() error{
		func() error { _, err := m.Renew(); return err },
		func() error { return discard(m.base[:m.size]) }, // which comes at times
	} {
		scribble(m)
		if err := renew(); err != nil {
			return err
		}
		if !bytes.Equal(m.base[:len(want)], want) || !empty(m.base[len(want):m.size]) {
			return errors.New("what was written is not restored")
		}
	}
	return nil
}

// scribble writes where the image has bytes, where it has a hole, and after its end.
func scribble(m *Memory) {
	m.owes = false
	mem := m.Reallocate(3 * guestPage)
	mem[1], mem[2*guestPage-1], mem[3*guestPage-1] = 9, 9, 9
}

// probeFind checks the search itself: the pages and no more of them than a
// careful kernel reports.
func (s *Space) probeFind(m *Memory) error {
	seen := m.base[s.page] // a page that is only read
	scribble(m)
	dirty, pages := m.search()
	if pages != 3 {
		return fmt.Errorf("3 pages were written, 1 read (%d), and %d found", seen, pages)
	}
	for _, at := range []uint64{1, 2*guestPage - 1, 3*guestPage - 1} {
		if !holds(dirty, at) {
			return errors.New("a page that was written is not found")
		}
	}
	return nil
}

func holds(regions []region, at uint64) bool {
	return slices.ContainsFunc(regions, func(r region) bool { return r.start <= at && at < r.end })
}

func empty(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
