package archive

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// The values of the column encoding: how the long columns of a row are stored.
const (
	encodingPlain = 0 // not compressed yet
	encodingS2    = 1 // compressed with s2
	encodingNone  = 2 // not compressed, because compression does not help
)

// A textColumn scans the column result_full with few copies. The column encoding
// must be scanned before it.
type textColumn struct {
	buffers  *bufferPool
	encoding int
	text     string
	err      error // the row exists but cannot be decoded
}

// Scan implements sql.Scanner.
func (t *textColumn) Scan(src any) error {
	switch v := src.(type) {
	case nil:
	case string:
		t.text = v
	case []byte:
		t.text, t.err = t.buffers.decodeText(t.encoding, v)
	default:
		return fmt.Errorf("a text of kind %T", src)
	}
	return nil
}

// encode compresses the bytes of a column. It uses the slowest level of s2: the
// stored bytes are few, reading is fast, and no caller waits for it.
func encode(b []byte) []byte { return s2.EncodeBest(nil, b) }

// A bufferPool holds the buffers into which texts are decoded before they become
// strings. A string is copied from them, and memory that was just used is copied
// much faster than new memory.
type bufferPool struct{ pool sync.Pool }

// maxPooledBytes is the size of the largest buffer that is kept.
const maxPooledBytes = 1 << 20

// decodeText is decode for a text.
func (p *bufferPool) decodeText(encoding int, b []byte) (string, error) {
	if encoding != encodingS2 {
		out, err := decode(encoding, b)
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
	if cap(*buf) <= maxPooledBytes {
		p.pool.Put(buf)
	}
	if err != nil {
		return "", err
	}
	return text, nil
}

// decodedLen returns the length of a compressed column. A length that no column can
// have is an error.
func decodedLen(b []byte) (int, error) {
	n, err := s2.DecodedLen(b)
	if err == nil && n > sqlite.MaxFieldBytes {
		err = fmt.Errorf("the column claims %d bytes", n)
	}
	return n, err
}

// decode returns the bytes of a column; b itself if it is not compressed.
func decode(encoding int, b []byte) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	switch encoding {
	case encodingPlain, encodingNone:
		return b, nil
	case encodingS2:
		n, err := decodedLen(b)
		if err != nil {
			return nil, err
		}
		return s2.Decode(make([]byte, n), b)
	}
	return nil, fmt.Errorf("the encoding %d is unknown", encoding)
}
