package wasmcheck

import (
	"bytes"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// reader reads the primitives of the binary format. After an error it is at
// its end and returns zero values, so callers check for errors once.
type reader struct {
	b    []byte
	at   int
	base int    // offset of b in the file
	what string // what is being read, the subject of its complaints
	// function is the number of the function that is being read, and 1; 0: none.
	function int
	err      error
}

// fail records the first error; its sentence continues the subject.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		subject := "the " + r.what + " "
		if r.function > 0 {
			subject = fmt.Sprintf("the %s: function %d ", r.what, r.function-1)
		}
		r.err = errors.New(subject + fmt.Sprintf(format, args...))
	}
	r.at = len(r.b)
}

func (r *reader) left() int { return len(r.b) - r.at }

func (r *reader) done() bool { return r.at >= len(r.b) }

func (r *reader) short() { r.fail("ends too early, at byte %d of the file", r.base+len(r.b)) }

func (r *reader) byte() byte {
	if r.at >= len(r.b) {
		r.short()
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > r.left() {
		r.short()
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at : r.at]
}

// u32 reads an unsigned number. Five bytes are the most it may take: linkers
// leave room for patching, but a longer form has no reader but an attacker.
func (r *reader) u32() uint32 {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		r.at++
		return uint32(r.b[r.at-1])
	}
	var n uint64
	for shift := uint(0); shift < 35; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if n > 1<<32-1 {
				break
			}
			return uint32(n)
		}
	}
	r.fail("holds a number of more than 32 bits before byte %d of the file", r.base+r.at)
	return 0
}

// signed reads a signed number of the given bits; 32, 33 or 64.
func (r *reader) signed(bits uint) int64 {
	var n int64
	for shift := uint(0); shift < bits; shift += 7 {
		b := r.byte()
		n |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if room := bits - shift; room < 7 { // the bits beyond must repeat the sign
			if top := int8(b<<1) >> room; top != 0 && top != -1 {
				break
			}
		}
		if shift+7 < 64 && b&0x40 != 0 {
			n |= -1 << (shift + 7)
		}
		return n
	}
	r.fail("holds a number of more than %d bits before byte %d of the file", bits, r.base+r.at)
	return 0
}

// count reads how many entries follow. Each takes at least the given bytes, so
// that a count beyond what is left is a lie and nothing is allocated for it.
func (r *reader) count(things string, bytes, most int) int {
	n := r.u32()
	switch {
	case r.err != nil:
	case uint64(n)*uint64(bytes) > uint64(r.left()):
		r.fail("declares %d %s in %d bytes", n, things, r.left())
	case int64(n) > int64(most):
		r.fail("declares %d %s, and at most %d are taken", n, things, most)
	default:
		return int(n)
	}
	return 0
}

func (r *reader) name(things string, most int) string {
	b := r.take(r.count("bytes of "+things, 1, most))
	switch {
	case r.err != nil:
	case !utf8.Valid(b):
		r.fail("holds %s that is not UTF-8", things)
	case bytes.ContainsFunc(b, unseen):
		r.fail("holds %s with control or invisible characters in it: %+q", things, clip(b))
	default:
		return string(b)
	}
	return ""
}

// unseen reports whether a character of a name is none that a compiler would
// put there: names are shown to people, on terminals too.
func unseen(r rune) bool {
	return r < ' ' || r >= 0x7f && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point)
}

func clip(b []byte) []byte { return b[:min(len(b), 40)] }

// index reads a number that must be below the count of what it points into.
func (r *reader) index(thing string, count int) uint32 {
	n := r.u32()
	if r.err == nil && int64(n) >= int64(count) {
		r.fail("names %s %d, and the module has %d", thing, n, count)
		return 0
	}
	return n
}
