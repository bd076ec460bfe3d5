package frames

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A Kind is what a frame is about. Kinds are 1 to MaxKinds-1.
type Kind byte

// MaxKinds bounds the kinds of frames.
const MaxKinds = 16

// A Frame is one message: its kind, a small part and bytes as they are. On the wire it
// is one byte, the two lengths as 32 bits each, low byte first, and the two parts. The
// small part is never empty.
type Frame struct {
	Kind Kind
	Meta []byte // valid until the next frame is read
	Data []byte
}

const headBytes = 9

// Limits are the most bytes that a frame of each kind may have. A kind without a limit
// for its small part is not expected.
type Limits [MaxKinds]Limit

// A Limit bounds the two parts of a frame, in bytes.
type Limit struct{ Meta, Data int }

// ErrProtocol says that the other side broke the rules.
var ErrProtocol = errors.New("a frame that does not fit the protocol")

// Decode decodes a frame's small part from JSON. The error is ErrProtocol.
func Decode[T any](f Frame) (v T, err error) {
	if err := json.Unmarshal(f.Meta, &v); err != nil {
		return v, fmt.Errorf("%w: kind %d is not readable", ErrProtocol, f.Kind)
	}
	return v, nil
}

// A Packer is a small part with an encoding of its own. All others are JSON.
type Packer interface {
	// Pack appends the encoded part to b.
	Pack(b []byte) []byte
}

// A Writer sends whole frames. It is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	to  io.Writer
	buf []byte
}

// NewWriter returns a Writer.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// maxKept is the largest buffer that is kept for the next frame, and the longest frame
// that is sent at once, in bytes.
const maxKept = 128 << 10

// Write sends one frame. meta is a Packer, or is encoded as JSON.
func (w *Writer) Write(k Kind, meta any, data []byte) error {
	p, ok := meta.(Packer)
	if !ok {
		text, err := json.Marshal(meta)
		if err != nil {
			return err
		}
		p = packed(text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b := p.Pack(append(w.buf[:0], byte(k), 0, 0, 0, 0, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[1:], uint32(len(b)-headBytes))
	binary.LittleEndian.PutUint32(b[5:], uint32(len(data)))
	if len(b)+len(data) <= maxKept { // with one call of the system the other side wakes once
		b, data = append(b, data...), nil
	}
	if w.buf = b; cap(b) > maxKept {
		w.buf = nil
	}
	if _, err := w.to.Write(b); err != nil || len(data) == 0 {
		return err
	}
	_, err := w.to.Write(data)
	return err
}

// packed is a small part that is encoded already.
type packed []byte

// Pack implements Packer.
func (t packed) Pack(b []byte) []byte { return append(b, t...) }
