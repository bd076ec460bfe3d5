package worker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A kind says what a frame is about.
type kind byte

// The frames. A parent sends the first three, a child the others.
const (
	kindLoad     kind = iota + 1 // loadMeta; the module
	kindCall                     // callMeta; the input
	kindResponse                 // responseMeta; the body
	kindReady                    // readyMeta
	kindResult                   // resultMeta; the output
	kindProgress                 // progressMeta
	kindLog                      // logMeta
	kindRequest                  // requestMeta; the body

	kinds
)

// A frame is its kind, a small part and bytes as they are. On the wire: one
// byte, the two lengths as 32 bits each, low byte first, and the two parts. The
// small part is packed in the two frames that every call needs, and JSON in the
// others; it is never empty.
type frame struct {
	kind kind
	meta []byte // until the next frame is read
	data []byte
}

const headBytes = 9

// limits are the most bytes that each kind may carry; a kind without a small
// part is not expected.
type limits [kinds]struct{ meta, data int }

const (
	maxMeta = 1 << 20   // bytes: settings of a tool, headers of a request
	maxText = 128 << 10 // bytes of a log line, a report or an error, as JSON, which may make six of one
	maxBody = 16 << 20  // bytes of an HTTP body, either way
	maxWasm = 1 << 30   // bytes; what the registry reads is far below
	maxCall = 32 << 20  // bytes of input, more than the sandbox takes
)

// What a child expects: at first, while it waits, and while its guest does.
var (
	aLoad     = limits{kindLoad: {maxMeta, maxWasm}}
	aCall     = limits{kindCall: {maxMeta, maxCall}}
	aResponse = limits{kindResponse: {maxMeta, maxBody}, kindCall: {maxMeta, smallData}}
)

// fromChild is what a parent expects from a call whose output may have so many
// bytes.
func fromChild(output int) limits {
	return limits{
		kindLog: {maxText, 0}, kindProgress: {maxText, 0},
		kindResult: {maxText, output}, kindRequest: {maxMeta, maxBody},
	}
}

// errFrame says that the other side broke the rules.
var errFrame = errors.New("a frame that does not fit the protocol")

// A reader reads frames, from the ring those that lie there. It belongs to one
// goroutine.
type reader struct {
	r      *bufio.Reader
	ring   *ring // nil: there is none
	spin   spin
	meta   []byte // of the last frame
	behind uint64 // bytes of all frames that came by the pipe
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
	lie, err := r.await()
	switch {
	case err != nil:
		return frame{}, err
	case lie > 0:
		return r.fromRing(lie, allowed, room)
	}
	f, err := r.fromPipe(allowed, room)
	r.behind += uint64(headBytes + len(f.meta) + len(f.data))
	r.ring.piped.Store(r.behind)
	return f, err
}

// await waits for a frame, and reports how many bytes lie in the ring. If there are
// none it comes by the pipe. What was put into the ring before the other side wrote
// to the pipe, or ended, is never overlooked.
func (r *reader) await() (lie int, err error) {
	if lie, err = r.ring.lie(); lie > 0 || err != nil {
		return lie, err
	}
	if r.r.Buffered() == 0 && r.spin.until(r.ring.filled) {
		return r.ring.lie()
	}
	for {
		r.ring.asleep.Store(1)
		var next []byte
		var fault error
		if !r.ring.filled() {
			next, fault = r.r.Peek(1)
		}
		r.ring.asleep.Store(0)
		rung := len(next) > 0 && next[0] == bell
		if rung {
			_, _ = r.r.Discard(1) // it lies there
		}
		switch lie, err = r.ring.lie(); {
		case lie > 0 || err != nil:
			return lie, err
		case fault != nil || len(next) > 0 && !rung:
			return 0, fault
		}
	}
}

// fromRing reads a frame of which the whole lies in the ring.
func (r *reader) fromRing(lie int, allowed *limits, room []byte) (frame, error) {
	var b [headBytes]byte
	if lie < headBytes {
		return frame{}, errFrame
	}
	r.ring.take(b[:])
	f, err := r.frame(b[:], allowed, room)
	if err == nil && headBytes+len(f.meta)+len(f.data) > lie {
		err = errFrame
	}
	if err != nil {
		return frame{}, err
	}
	r.ring.take(f.meta)
	r.ring.take(f.data)
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
func (r *reader) waits() bool { return r.r.Buffered() == 0 && (r.ring == nil || !r.ring.filled()) }

// open decodes a frame's small part.
func open[T any](f frame) (v T, err error) {
	if err := json.Unmarshal(f.meta, &v); err != nil {
		return v, fmt.Errorf("%w: kind %d is not readable", errFrame, f.kind)
	}
	return v, nil
}

// A packed small part is not JSON: pack appends it.
type packed interface{ pack(b []byte) []byte }

// A carrier takes bytes to the other side: first all of head, then all of tail.
type carrier interface {
	write(head, tail []byte) error
}

// A writer writes whole frames; several goroutines may use it.
type writer struct {
	w    carrier
	ring *ring // nil: there is none

	mu     sync.Mutex
	buf    []byte
	behind uint64 // bytes of all frames that went by the pipe
}

// smallData is what is copied behind its head: less than that costs less than
// telling the kernel of two places.
const smallData = 8 << 10

func (w *writer) write(k kind, meta any, data []byte) error {
	p, ok := meta.(packed)
	if !ok {
		text, err := json.Marshal(meta)
		if err != nil {
			return err
		}
		p = packedText(text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b, data := appendPacked(w.buf[:0], k, p, data)
	w.buf = b[:0]
	if cap(b) > keepMeta {
		w.buf = nil
	}
	return w.carry(b, data)
}

// pass writes frames that appendPacked has made.
func (w *writer) pass(head, tail []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.carry(head, tail)
}

// carry sends frames by the ring, if they are short and nothing lies in the pipe that
// was sent before them; w.mu is held.
func (w *writer) carry(head, tail []byte) error {
	if w.ring == nil {
		return w.w.write(head, tail)
	}
	if !w.ring.hold() {
		return io.ErrClosedPipe
	}
	defer w.ring.drop()
	if len(tail) == 0 && w.ring.piped.Load() == w.behind && w.ring.offer(head) {
		if w.ring.asleep.Load() != 0 && w.ring.asleep.Swap(0) != 0 {
			return w.w.write([]byte{bell}, nil)
		}
		return nil
	}
	w.behind += uint64(len(head) + len(tail))
	return w.w.write(head, tail)
}

// bell stands in the pipe, between frames, to wake who reads there: something was
// put into the ring.
const bell = 0

// packedText is packed already.
type packedText []byte

func (t packedText) pack(b []byte) []byte { return append(b, t...) }

// appendPacked appends a frame to others. Long data is not copied: it is the tail
// that has to be written behind them.
func appendPacked(b []byte, k kind, meta packed, data []byte) (head, tail []byte) {
	at := len(b)
	b = meta.pack(append(b, byte(k), 0, 0, 0, 0, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[at+1:], uint32(len(b)-at-headBytes))
	binary.LittleEndian.PutUint32(b[at+5:], uint32(len(data)))
	if len(data) > smallData {
		return b, data
	}
	return append(b, data...), nil
}
