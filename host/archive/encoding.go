package archive

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// What the column encoding says about the long columns of a row.
const (
	plain    = 0 // as they came
	packed   = 1 // zstd
	unpacked = 2 // as they came: zstd was tried and does not help
)

// A text reads the column result_full without copying it more than needed.
// The column encoding must be scanned in front of it.
type text struct {
	dec      *zstd.Decoder
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
		b, err := unpack(t.dec, t.encoding, v)
		t.str, t.err = string(b), err
	default:
		return fmt.Errorf("a text of kind %T", src)
	}
	return nil
}

// unpack returns the bytes of a column other than result_full.
func unpack(d *zstd.Decoder, encoding int, b []byte) ([]byte, error) {
	if encoding != packed || b == nil {
		return b, nil
	}
	out, err := d.DecodeAll(b, nil)
	if out == nil && err == nil {
		out = []byte{} // nil means that there is none
	}
	return out, err
}
