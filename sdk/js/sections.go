package js

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Sections that are changed, and what is looked for in them.
const (
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionExport   = 7
	sectionCode     = 10
	sectionData     = 11

	kindFunc    = 0
	dataPassive = 1
)

// entry calls a tool: its parameters are where the tool's name lies.
const entry = "weir_call"

var errRuntime = errors.New("the runtime is not the module that it should be")

// A module is the runtime in parts. Its functions, exports, bodies and data are
// lists of encoded entries, to which more can be added.
type module struct {
	sections  []section
	imported  uint64 // functions
	noneToI32 uint64 // the type () → i32
	entry     uint64 // the function of that name
	lists     map[byte]*list
	taken     map[string]bool // names of exports
}

type section struct {
	id   byte
	body []byte
}

// A list is a section whose body is a count and so many entries.
type list struct{ entries [][]byte }

func read(wasm []byte) (*module, error) {
	m := &module{lists: map[byte]*list{}, taken: map[string]bool{}}
	r := &reader{b: wasm[8:]}
	for len(r.b) > 0 && !r.bad {
		id := r.byte()
		m.sections = append(m.sections, section{id, r.take(r.uint())})
	}
	for _, s := range m.sections {
		if err := m.note(s, &reader{b: s.body}); err != nil {
			return nil, err
		}
	}
	if r.bad || m.entry == 0 {
		return nil, errRuntime
	}
	return m, nil
}

func (m *module) note(s section, r *reader) error {
	var skip func(*reader)
	switch s.id {
	case sectionType:
		skip = skipType
	case sectionImport:
		skip = skipImport
	case sectionFunction:
		skip = func(r *reader) { r.uint() }
	case sectionExport:
		skip = func(r *reader) { r.take(r.uint()); r.byte(); r.uint() }
	case sectionCode:
		skip = func(r *reader) { r.take(r.uint()) }
	case sectionData:
		skip = skipData
	default:
		return nil
	}
	l := &list{}
	for n := r.uint(); n > 0 && !r.bad; n-- {
		from := r.b
		skip(r)
		l.entries = append(l.entries, from[:len(from)-len(r.b)])
	}
	if r.bad || len(r.b) > 0 {
		return errRuntime
	}
	m.lists[s.id] = l
	return m.find(s.id, l)
}

func (m *module) find(id byte, l *list) error {
	for i, e := range l.entries {
		switch id {
		case sectionType:
			if bytes.Equal(e, []byte{0x60, 0, 1, 0x7f}) {
				m.noneToI32 = uint64(i)
			}
		case sectionImport:
			r := &reader{b: e}
			r.take(r.uint())
			r.take(r.uint())
			if r.byte() == kindFunc {
				m.imported++
			}
		case sectionExport:
			r := &reader{b: e}
			name := string(r.take(r.uint()))
			m.taken[name] = true
			if r.byte() == kindFunc && name == entry {
				m.entry = r.uint()
			}
		}
	}
	return nil
}

// export adds a function that calls the entry with the place of the tool's name,
// which has length bytes.
func (m *module) export(name string, offset, length int) error {
	if m.taken[name] || name == "" {
		return fmt.Errorf("%q cannot be the name of a tool", name)
	}
	m.taken[name] = true
	index := m.imported + uint64(len(m.lists[sectionFunction].entries))
	m.lists[sectionFunction].add(binary.AppendUvarint(nil, m.noneToI32))
	body := []byte{0} // no locals
	body = appendConst(body, offset)
	body = appendConst(body, length)
	body = binary.AppendUvarint(append(body, 0x10), m.entry) // call
	body = append(body, 0x0b)                                // end
	m.lists[sectionCode].add(appendBytes(nil, body))
	export := append(appendBytes(nil, []byte(name)), kindFunc)
	m.lists[sectionExport].add(binary.AppendUvarint(export, index))
	return nil
}

// replace gives the passive segment that holds mark another content.
func (m *module) replace(mark string, content []byte) bool {
	marked := appendBytes([]byte{dataPassive}, []byte(mark))
	for i, e := range m.lists[sectionData].entries {
		if bytes.Equal(e, marked) {
			m.lists[sectionData].entries[i] = appendBytes([]byte{dataPassive}, content)
			return true
		}
	}
	return false
}

func (m *module) write() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range m.sections {
		body := s.body
		if l := m.lists[s.id]; l != nil {
			body = binary.AppendUvarint(nil, uint64(len(l.entries)))
			for _, e := range l.entries {
				body = append(body, e...)
			}
		}
		out = appendBytes(append(out, s.id), body)
	}
	return out
}

func (l *list) add(entry []byte) { l.entries = append(l.entries, entry) }

func appendBytes(to, b []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(b))), b...)
}

// appendConst writes i32.const of a number that is not negative.
func appendConst(to []byte, n int) []byte {
	to = append(to, 0x41)
	for ; n >= 0x40; n >>= 7 {
		to = append(to, byte(n&0x7f)|0x80)
	}
	return append(to, byte(n))
}

func skipType(r *reader) {
	if r.byte() != 0x60 {
		r.bad = true
	}
	r.take(r.uint())
	r.take(r.uint())
}

func skipImport(r *reader) {
	r.take(r.uint())
	r.take(r.uint())
	if r.byte() != kindFunc { // the runtime imports nothing else
		r.bad = true
	}
	r.uint()
}

func skipData(r *reader) {
	switch r.byte() {
	case dataPassive:
	case 0: // at i32.const
		if r.byte() != 0x41 {
			r.bad = true
		}
		r.uint()
		if r.byte() != 0x0b {
			r.bad = true
		}
	default:
		r.bad = true
	}
	r.take(r.uint())
}

// A reader takes bytes off b. What it gives when bad is set means nothing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) byte() byte {
	b := r.take(1)
	if r.bad {
		return 0
	}
	return b[0]
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}
