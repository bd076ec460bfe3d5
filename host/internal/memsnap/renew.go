package memsnap

// A region is a run of pages that were written, as offsets in bytes, in the
// kernel's own layout.
type region struct{ start, end, categories uint64 }

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
		m.attended = false
		m.settle(0)
		return m.owes, nil
	}
	if !m.unchanged() {
		m.own, m.ownPages = m.search()
		m.searched = m.size
	}
	if m.ownPages > m.space.most {
		m.own, m.ownPages = nil, 0
		if err := discard(m.base[:m.size]); err != nil {
			return false, err
		}
	}
	for _, r := range m.own {
		m.restore(r)
	}
	m.settle(m.ownPages)
	return m.owes, nil
}

// Attend declares that the memory has not been written since it was renewed, and
// that until Renew or Neglect only the calling goroutine writes, on a locked thread
// (runtime.LockOSThread). Renew then need not search: a page becomes the
// memory's own by a page fault only, and the thread counts those that it takes.
// Without it Renew searches.
func (m *Memory) Attend() {
	if m.space.counts {
		m.faults, m.attended = pageFaults()
	}
}

// Neglect takes back what Attend said.
func (m *Memory) Neglect() { m.attended = false }

// unchanged reports whether the pages that are the memory's own are surely those
// that were last found: it was attended, without a page fault, and has not been
// larger than what was searched then.
func (m *Memory) unchanged() bool {
	if !m.attended {
		return false
	}
	m.attended = false
	faults, ok := pageFaults()
	return ok && faults == m.faults && m.size <= m.searched
}

// search lists what was written. More pages than are copied back mean that all are to
// be dropped; so does a search that fails, for then nothing is known.
func (m *Memory) search() (dirty []region, pages int) {
	if m.space.find == nil {
		return nil, len(m.dirty)
	}
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
