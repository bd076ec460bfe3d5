package memsnap

// A region is a run of pages that were written, as offsets in bytes.
type region struct{ start, end uint64 }

// Renew puts the memory back to its image: every byte, and the size. No call may
// be in flight. resize says that the engine still goes by another size and must
// be made to ask for one, by growing the guest's memory once, before any code of
// the guest runs: it is then told the image's, see Reallocate. After an error
// the memory is to be released.
func (m *Memory) Renew() (resize bool, err error) {
	if err := m.usable(); err != nil {
		return false, err
	}
	if m.image == nil {
		return false, ErrNoImage
	}
	if m.size == 0 {
		m.settle(0)
		return m.owes, nil
	}
	own, pages := m.search()
	if pages > m.space.most {
		own, pages = nil, 0
		if err := discard(m.base[:m.size]); err != nil {
			return false, err
		}
	}
	for _, r := range own {
		m.restore(r)
	}
	m.settle(pages)
	return m.owes, nil
}

// search lists what was written. More pages than are copied back mean that all are to
// be dropped; so does a search that fails, for then nothing is known.
func (m *Memory) search() (dirty []region, pages int) {
	n, err := m.space.find(m.space.table, m.base[:m.space.round(m.size)], m.dirty)
	if err != nil {
		return nil, len(m.dirty)
	}
	dirty = m.dirty[:n]
	for _, r := range dirty {
		pages += int((r.end - r.start) / m.space.page)
	}
	return dirty, pages
}

// restore copies a part of the image back and clears the bytes after its end.
func (m *Memory) restore(r region) {
	if inside := min(r.end, m.image.size); r.start < inside {
		copy(m.base[r.start:inside], m.image.view[r.start:inside])
		r.start = inside
	}
	clear(m.base[r.start:max(r.start, r.end)])
}
