package archive

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// What the column encoding says about the long columns of a row.
const (
	plain    = 0 // as they came
	zstded   = 1 // zstd: what this package wrote at first, and still reads
	unpacked = 2 // as they came: compressing was tried and does not help
	packed   = 3 // s2
)

// A text reads the column result_full without copying it more than needed.
// The column encoding must be scanned in front of it.
type text struct {
	dec      *zstd.Decoder
	spare    *spare
	encoding int
	str      string
	err      error // the row is there but cannot be decoded
}

// Scan takes over what the driver read, whose buffers it may use again.
func (t *text) Scan(src any) error {
	switch v := src.(type) {
	case nil:
	case string:
		t.str = v
	case []byte:
		t.str, t.err = t.spare.text(t.dec, t.encoding, v)
	default:
		return fmt.Errorf("a text of kind %T", src)
	}
	return nil
}

// pack compresses the bytes of a column. It is slow for s2, so that reading
// is fast and little is stored; nobody waits for it.
func pack(b []byte) []byte { return s2.EncodeBest(nil, b) }

// spare lends the bytes that a text is decoded into before it becomes a string.
// A string has to be copied from them; memory that was just used is copied much
// faster than memory that is new.
type spare struct{ pool sync.Pool }

// mostSpare bounds the bytes that wait for the next text.
const mostSpare = 1 << 20

// text is unpack for a text.
func (p *spare) text(d *zstd.Decoder, encoding int, b []byte) (string, error) {
	if encoding != packed {
		out, err := unpack(d, encoding, b)
		return string(out), err
	}
	n, err := decodedLen(b)
	if err != nil {
		return "", err
	}
	buf, _ := p.pool.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	out, err := s2.Decode((*buf)[:n], b)
	text := string(out)
	if cap(*buf) <= mostSpare {
		p.pool.Put(buf)
	}
	if err != nil {
		return "", err
	}
	return text, nil
}

// decodedLen refuses a length that no column holds.
func decodedLen(b []byte) (int, error) {
	n, err := s2.DecodedLen(b)
	if err == nil && n > maxText {
		err = fmt.Errorf("it claims %d bytes", n)
	}
	return n, err
}

// unpack returns the bytes of a column; b itself where it is not compressed.
func unpack(d *zstd.Decoder, encoding int, b []byte) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	switch encoding {
	case plain, unpacked:
		return b, nil
	case packed:
		n, err := decodedLen(b)
		if err != nil {
			return nil, err
		}
		return s2.Decode(make([]byte, n), b)
	case zstded:
		out, err := d.DecodeAll(b, nil)
		if out == nil && err == nil {
			out = []byte{} // nil means that there is none
		}
		return out, err
	}
	return nil, fmt.Errorf("an encoding %d that this weir does not know", encoding)
}
