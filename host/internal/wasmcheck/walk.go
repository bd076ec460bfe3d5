package wasmcheck

import (
	"encoding/binary"
	"iter"
)

// A Body is one function's code on its way past a reader, who asks for one
// instruction after the other:
//
//	for b.Next() {
//		// b.Op, b.Bytes[b.At:b.End]
//	}
//
// It is good until the next body is asked for.
type Body struct {
	Function uint32 // its number among all functions, imported ones included
	Locals   int    // how many it has, parameters included
	Bytes    []byte // what the code section holds of it: locals, then instructions
	Start    int    // where the instructions begin in Bytes
	Op       byte   // the instruction's first byte
	At, End  int    // where the instruction begins in Bytes, and where it ends
	f        function
}

// Bodies reads the code once more, in the file's order. What Check let through
// is read without error; another error than none means that Sections were
// changed, and ends the walk.
func (r *Report) Bodies() iter.Seq2[*Body, error] {
	return func(yield func(*Body, error) bool) {
		m, code, err := r.again()
		n, b := 0, &Body{}
		if code != nil {
			n = int(code.u32())
		}
		for i := 0; i < n && err == nil; i++ {
			index := m.imported.funcs + i
			bytes := code.take(int(code.u32()))
			if index >= len(m.Functions) {
				code.fail("holds more functions than are declared")
			}
			if err = code.err; err != nil {
				break
			}
			*b = Body{Function: uint32(index), Bytes: bytes, f: m.function(index, bytes, 0, code.what)}
			b.f.begin(m.shapes[m.Functions[index]])
			b.Locals, b.Start = b.f.locals, b.f.at
			if !yield(b, nil) {
				return
			}
			err, m.frames = b.f.err, b.f.frames
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// again reads the sections before the code, which instructions refer to.
func (r *Report) again() (*module, *reader, error) {
	m := &module{limits: r.Most.withDefaults()}
	for _, s := range r.Sections {
		if s.ID == SectionCustom {
			continue
		}
		in := &reader{b: s.Body, what: sectionName(s.ID)}
		if s.ID == SectionCode {
			return m, in, nil
		}
		if m.section(s.ID, in); in.err != nil {
			return nil, nil, in.err
		}
	}
	return m, nil, nil
}

// Next goes to the next instruction; false: there is none.
func (b *Body) Next() bool {
	if len(b.f.frames) == 0 || b.f.err != nil {
		return false
	}
	b.At = b.f.at
	if b.At < len(b.Bytes) {
		b.Op = b.Bytes[b.At]
	}
	b.f.instruction()
	b.End = b.f.at
	return b.f.err == nil
}

// Number returns the first number after the instruction's first byte, for those
// that have an unsigned one: an index, a label, a count, or the second byte of
// OpMisc.
func (b *Body) Number() uint32 {
	n, _ := binary.Uvarint(b.Bytes[b.At+1 : b.End])
	return uint32(n)
}

// Labels are those that an OpBr, OpBrIf or OpBrTable names, each with where it
// begins in Bytes; the default of a table comes last.
func (b *Body) Labels() iter.Seq2[int, uint32] {
	return func(yield func(int, uint32) bool) {
		at, more := b.At+1, uint64(0)
		if b.Op == OpBrTable {
			n, size := binary.Uvarint(b.Bytes[at:b.End])
			at, more = at+size, n
		}
		for ; at < b.End; more-- {
			label, size := binary.Uvarint(b.Bytes[at:b.End])
			if size <= 0 || !yield(at, uint32(label)) || more == 0 {
				return
			}
			at += size
		}
	}
}

// Rewind goes back to before the first instruction.
func (b *Body) Rewind() {
	if b.f.err != nil {
		return
	}
	b.f.at, b.f.frames, b.f.loops, b.f.carried = b.Start, b.f.frames[:0], 0, 0
	b.f.push(0, b.f.results)
}
