package worker

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A reader reads frames, from the ring those that unread there. It belongs to one
// goroutine.
type reader struct {
	r      *bufio.Reader
	ring   *ring // nil: there is none
	spin   spin
	meta   []byte // of the last frame
	behind uint64 // bytes of all frames that came by the pipe
	put    uint64 // frames that came by the ring
	bells  uint64 // that came
}

// readAhead is how much a reader takes from its pipe at once, and keepMeta what
// it keeps for small parts to come.
const readAhead, keepMeta = 64 << 10, 64 << 10

func newReader(r io.Reader) *reader { return &reader{r: bufio.NewReaderSize(r, readAhead)} }

// read reads one frame. Nothing is allocated before its length is known to be
// within the limits. Its data lies in room if it has place there.
func (r *reader) read(allowed *limits, room []byte) (frame, error) {
	if r.ring == nil {
		return r.fromPipe(allowed, room)
	}
	if !r.ring.hold() {
		return frame{}, io.ErrClosedPipe
	}
	defer r.ring.drop()
	unread, err := r.await()
	switch {
	case err != nil:
		return frame{}, err
	case unread > 0:
		return r.fromRing(unread, allowed, room)
	}
	f, err := r.fromPipe(allowed, room)
	r.behind += uint64(headBytes + len(f.meta) + len(f.data))
	r.ring.piped.Store(r.behind)
	return f, err
}

// await waits for a frame, and reports how many bytes unread in the ring. If there are
// none it comes by the pipe. What was put into the ring before the other side wrote
// to the pipe, or ended, is never overlooked.
func (r *reader) await() (unread int, err error) {
	if unread, err = r.ring.unread(); unread > 0 || err != nil {
		return unread, err
	}
	if !r.speaks() && r.spin.until(r.ring) {
		return r.ring.unread()
	}
	for {
		r.ring.asleep.Swap(1) // as in offer
		var fault error
		if !r.ring.filled() { // since it knows that we are to be woken
			_, fault = r.r.Peek(1)
		}
		r.ring.asleep.Store(0)
		speaks := r.speaks()
		switch unread, err = r.ring.unread(); {
		case unread > 0 || err != nil:
			return unread, err
		case r.bells > r.put: // they would keep us awake for nothing
			return 0, errFrame
		case fault != nil || speaks:
			return 0, fault
		}
	}
}

// speaks reports whether a frame was read ahead from the pipe. Bells before it are
// dropped: who hears them looks into the ring next.
func (r *reader) speaks() bool {
	for r.r.Buffered() > 0 {
		if next, _ := r.r.Peek(1); next[0] != bell || r.ring == nil {
			return true
		}
		_, _ = r.r.Discard(1) // it is there
		r.bells++
	}
	return false
}

// fromRing reads a frame of which the whole lies in the ring.
func (r *reader) fromRing(unread int, allowed *limits, room []byte) (frame, error) {
	if unread < headBytes {
		return frame{}, errFrame
	}
	var head [headBytes]byte
	r.ring.take(head[:])
	f, err := r.frame(head[:], allowed, room)
	if err != nil {
		return frame{}, err
	}
	if headBytes+len(f.meta)+len(f.data) > unread {
		return frame{}, errFrame
	}
	r.ring.take(f.meta)
	r.ring.take(f.data)
	r.ring.free()
	r.put++
	return f, nil
}

func (r *reader) fromPipe(allowed *limits, room []byte) (frame, error) {
	head, err := r.r.Peek(headBytes)
	if err != nil {
		if len(head) > 0 && err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	f, err := r.frame(head, allowed, room)
	if err != nil {
		return frame{}, err
	}
	if _, err := r.r.Discard(headBytes); err != nil {
		return frame{}, err
	}
	if _, err := io.ReadFull(r.r, f.meta); err != nil {
		return frame{}, err
	}
	_, err = io.ReadFull(r.r, f.data)
	return f, err
}

// frame makes one with room for what its head says that it has.
func (r *reader) frame(head []byte, allowed *limits, room []byte) (frame, error) {
	f := frame{kind: kind(head[0])}
	meta, data := binary.LittleEndian.Uint32(head[1:]), binary.LittleEndian.Uint32(head[5:])
	if f.kind >= kinds || meta == 0 || uint64(meta) > uint64(allowed[f.kind].meta) || uint64(data) > uint64(allowed[f.kind].data) {
		return frame{}, fmt.Errorf("%w: kind %d with %d and %d bytes", errFrame, f.kind, meta, data)
	}
	if cap(r.meta) < int(meta) || cap(r.meta) > keepMeta {
		r.meta = make([]byte, meta)
	}
	f.meta = r.meta[:meta]
	if data == 0 {
		return f, nil
	}
	if f.data = room[:0]; cap(room) < int(data) {
		f.data = make([]byte, data)
	}
	f.data = f.data[:data]
	return f, nil
}

// waits reports whether nothing has come yet.
func (r *reader) waits() bool { return !r.speaks() && (r.ring == nil || !r.ring.filled()) }
