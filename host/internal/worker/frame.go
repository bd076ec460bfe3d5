package worker

import (
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
		if w.ring.wakes() {
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
