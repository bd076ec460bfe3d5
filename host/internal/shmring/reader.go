package shmring

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// A Reader reads frames from a ring and a pipe. It is for one goroutine at a time.
type Reader struct {
	r     *bufio.Reader
	ring  *ring // nil: there is none
	poll  poller
	meta  []byte // of the last frame
	piped uint64 // bytes of all frames that came through the pipe
	put   uint64 // frames that came through the ring
	bells uint64 // that came
}

// readAhead is how much a Reader reads from its pipe at once, in bytes.
const readAhead = 64 << 10

// NewReader returns a Reader. ring is one of ToChild and ToParent; a nil region has
// no ring.
func NewReader(r io.Reader, region *Region, which int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, readAhead), ring: region.ring(which)}
}

// Poll sets for how long a read polls the ring before it sleeps; 0: not at all. With
// yields other goroutines run in between. On one core it never polls.
func (r *Reader) Poll(most time.Duration, yields bool) {
	r.poll.most, r.poll.yields = pollTime(most), yields
}

// Read reads one frame. Nothing is allocated before its length is known to be
// allowed. The data is stored in room if it fits there.
func (r *Reader) Read(allowed *Limits, room []byte) (Frame, error) {
	if r.ring == nil {
		return r.fromPipe(allowed, room)
	}
	if !r.ring.retain() {
		return Frame{}, io.ErrClosedPipe
	}
	defer r.ring.Release()
	unread, err := r.wait()
	switch {
	case err != nil:
		return Frame{}, err
	case unread > 0:
		return r.fromRing(unread, allowed, room)
	}
	f, err := r.fromPipe(allowed, room)
	r.piped += uint64(headBytes + len(f.Meta) + len(f.Data))
	r.ring.piped.Store(r.piped)
	return f, err
}

// wait waits for a frame and returns how many unread bytes are in the ring; 0: the
// frame comes through the pipe. What was put into the ring before the other side wrote
// to the pipe, or ended, is read first.
func (r *Reader) wait() (unread int, err error) {
	if unread, err = r.ring.unread(); unread > 0 || err != nil {
		return unread, err
	}
	if !r.inPipe() && r.poll.until(r.ring) {
		return r.ring.unread()
	}
	for {
		r.ring.asleep.Swap(1) // a Swap for the reason given in put
		var fault error
		if !r.ring.filled() { // the writer now knows that it must ring
			_, fault = r.r.Peek(1)
		}
		r.ring.asleep.Store(0)
		inPipe := r.inPipe()
		switch unread, err = r.ring.unread(); {
		case unread > 0 || err != nil:
			return unread, err
		case r.bells > r.put: // a child could keep its parent busy with them
			return 0, ErrProtocol
		case fault != nil || inPipe:
			return 0, fault
		}
	}
}

// inPipe reports whether part of a frame was already read from the pipe. It drops the
// bells before it: the ring is looked at next.
func (r *Reader) inPipe() bool {
	for r.r.Buffered() > 0 {
		if next, _ := r.r.Peek(1); next[0] != bell || r.ring == nil {
			return true
		}
		_, _ = r.r.Discard(1) // cannot fail: it is buffered
		r.bells++
	}
	return false
}

// fromRing reads a frame that is in the ring as a whole.
func (r *Reader) fromRing(unread int, allowed *Limits, room []byte) (Frame, error) {
	if unread < headBytes {
		return Frame{}, ErrProtocol
	}
	var head [headBytes]byte
	r.ring.read(head[:])
	f, err := r.frame(head[:], allowed, room)
	if err != nil {
		return Frame{}, err
	}
	if headBytes+len(f.Meta)+len(f.Data) > unread {
		return Frame{}, ErrProtocol
	}
	r.ring.read(f.Meta)
	r.ring.read(f.Data)
	r.ring.free()
	r.put++
	return f, nil
}

func (r *Reader) fromPipe(allowed *Limits, room []byte) (Frame, error) {
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
	if cap(r.meta) < int(meta) || cap(r.meta) > MaxKept {
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

// Empty reports whether no frame has arrived yet.
func (r *Reader) Empty() bool { return !r.inPipe() && (r.ring == nil || !r.ring.filled()) }
