package shmring

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

// A Carrier sends bytes to the other side: first all of head, then all of tail.
type Carrier interface {
	Send(head, tail []byte) error
}

// A Writer sends whole frames. It is safe for concurrent use.
type Writer struct {
	carrier Carrier
	ring    *ring // nil: there is none

	mu    sync.Mutex
	buf   []byte
	piped uint64 // bytes of all frames that went through the pipe
}

// NewWriter returns a Writer. ring is one of ToChild and ToParent; a nil region has
// no ring.
func NewWriter(c Carrier, region *Region, which int) *Writer {
	return &Writer{carrier: c, ring: region.ring(which)}
}

// SmallData is the most data that AppendFrame copies, in bytes. Copying less is
// cheaper than passing a second part to the kernel.
const SmallData = 8 << 10

// MaxKept is the largest buffer that is kept for the next frame, in bytes.
const MaxKept = 64 << 10

// Write sends one frame. meta is a Packer, or is encoded as JSON.
func (w *Writer) Write(k Kind, meta any, data []byte) error {
	p, ok := meta.(Packer)
	if !ok {
		text, err := json.Marshal(meta)
		if err != nil {
			return err
		}
		p = Packed(text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b, data := AppendFrame(w.buf[:0], k, p, data)
	w.buf = b[:0]
	if cap(b) > MaxKept {
		w.buf = nil
	}
	return w.send(b, data)
}

// WriteFrames sends frames that AppendFrame has made.
func (w *Writer) WriteFrames(head, tail []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.send(head, tail)
}

// send uses the ring if the frames are short and no earlier frame is in the pipe;
// w.mu is held.
func (w *Writer) send(head, tail []byte) error {
	if w.ring == nil {
		return w.carrier.Send(head, tail)
	}
	if !w.ring.retain() {
		return io.ErrClosedPipe
	}
	defer w.ring.Release()
	if len(tail) == 0 && w.ring.piped.Load() == w.piped && w.ring.put(head) {
		if w.ring.wake() {
			return w.carrier.Send([]byte{bell}, nil)
		}
		return nil
	}
	w.piped += uint64(len(head) + len(tail))
	return w.carrier.Send(head, tail)
}

// bell is a byte in the pipe, between frames. It wakes the reader: something is in
// the ring.
const bell = 0

// Packed is a small part that is encoded already.
type Packed []byte

// Pack implements Packer.
func (t Packed) Pack(b []byte) []byte { return append(b, t...) }

// AppendFrame appends a frame to head. Data longer than SmallData is not copied: it is
// the tail to send after head.
func AppendFrame(b []byte, k Kind, meta Packer, data []byte) (head, tail []byte) {
	at := len(b)
	b = meta.Pack(append(b, byte(k), 0, 0, 0, 0, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[at+1:], uint32(len(b)-at-headBytes))
	binary.LittleEndian.PutUint32(b[at+5:], uint32(len(data)))
	if len(data) > SmallData {
		return b, data
	}
	return append(b, data...), nil
}
