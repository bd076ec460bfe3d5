package frames

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A Reader reads frames. It is for one goroutine at a time.
type Reader struct {
	r    *bufio.Reader
	meta []byte // buffer for the small part
}

// readAhead is how much a Reader reads at once, in bytes.
const readAhead = 64 << 10

// NewReader returns a Reader.
func NewReader(from io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(from, readAhead)}
}

// Read reads one frame. Nothing is allocated before its length is known to be
// allowed. The data is stored in room if it fits there. The error is io.EOF if the
// other side has ended between two frames.
func (r *Reader) Read(allowed *Limits, room []byte) (Frame, error) {
	head, err := r.r.Peek(headBytes)
	if err != nil {
		if len(head) > 0 && err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	f, err := r.frame(head, allowed, room)
	if err != nil {
		return Frame{}, err
	}
	if _, err := r.r.Discard(headBytes); err != nil {
		return Frame{}, err
	}
	if _, err := io.ReadFull(r.r, f.Meta); err != nil {
		return Frame{}, err
	}
	_, err = io.ReadFull(r.r, f.Data)
	return f, err
}

// frame returns a Frame with buffers of the lengths that its head declares.
func (r *Reader) frame(head []byte, allowed *Limits, room []byte) (Frame, error) {
	f := Frame{Kind: Kind(head[0])}
	meta, data := binary.LittleEndian.Uint32(head[1:]), binary.LittleEndian.Uint32(head[5:])
	if f.Kind >= MaxKinds || meta == 0 || uint64(meta) > uint64(allowed[f.Kind].Meta) || uint64(data) > uint64(allowed[f.Kind].Data) {
		return Frame{}, fmt.Errorf("%w: kind %d with %d and %d bytes", ErrProtocol, f.Kind, meta, data)
	}
	if cap(r.meta) < int(meta) || cap(r.meta) > maxKept {
		r.meta = make([]byte, meta)
	}
	f.Meta = r.meta[:meta]
	if data == 0 {
		return f, nil
	}
	if f.Data = room[:0]; cap(room) < int(data) {
		f.Data = make([]byte, data)
	}
	f.Data = f.Data[:data]
	return f, nil
}
