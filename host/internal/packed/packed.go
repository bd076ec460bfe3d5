// Package packed writes numbers and texts one after the other, and reads them again: a
// number as a varint, a text as its length and its bytes. A reader trusts no byte, and
// allocates only what it returns.
package packed

import "encoding/binary"

// Text appends a text.
func Text[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// A Reader reads what was packed. After an error it is bad and returns zero values.
type Reader struct {
	rest []byte
	bad  bool
}

// Read returns a Reader of b.
func Read(b []byte) Reader { return Reader{rest: b} }

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if r.bad || len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// Number reads a varint.
func (r *Reader) Number() int64 {
	v, n := binary.Varint(r.rest)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Count reads a number that is at most most, and at most the bytes that are left.
func (r *Reader) Count(most int) int {
	n := r.Number()
	if n < 0 || n > int64(min(most, len(r.rest))) {
		r.bad = true
		return 0
	}
	return int(n)
}

// Bytes reads a text, as a part of what is read.
func (r *Reader) Bytes() []byte {
	l, n := binary.Uvarint(r.rest)
	if r.bad || n <= 0 || l > uint64(len(r.rest)-n) {
		r.bad = true
		return nil
	}
	b := r.rest[n : n+int(l) : n+int(l)]
	r.rest = r.rest[n+int(l):]
	return b
}

// Text reads a text, as a copy.
func (r *Reader) Text() string { return string(r.Bytes()) }

// Good reports whether there was no error so far.
func (r *Reader) Good() bool { return !r.bad }

// Ended reports whether everything was read, without an error.
func (r *Reader) Ended() bool { return !r.bad && len(r.rest) == 0 }
