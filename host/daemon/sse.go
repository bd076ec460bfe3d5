package daemon

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// slowClient is how long one write may block before the client is dropped.
// Its turn waits for it; nobody else's does.
const slowClient = 15 * time.Second

// heartbeat is how long a stream may be silent: proxies often cut after a minute.
const heartbeat = 15 * time.Second

// A stream writes server-sent events to one client. Events are written by a
// goroutine that lives while there is something to write: what comes in the same
// moment goes out at once, and nothing waits for more to come. Who adds events
// waits only while the client is behind by streamBytes. After the first failed
// write the stream is dead: gone is called once and every later event is dropped.
// It is safe for concurrent use; close must be called before the handler returns.
type stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	gone func()
	enc  *json.Encoder // into out

	mu      sync.Mutex
	moved   sync.Cond // a write is over
	out     sink      // is to be written
	spare   sink      // the other one, empty
	writing bool      // a goroutine does
	closing bool      // what comes now is written by close
	dead    bool
	seq     int
}

// streamBytes is how much may wait for a client, and pieceBytes how much is
// written at once: so much has to be taken within slowClient.
const (
	streamBytes = 32 << 10
	pieceBytes  = 16 << 10
)

// A sink is a buffer.
type sink []byte

// Write implements io.Writer; it does not fail.
func (s *sink) Write(b []byte) (int, error) {
	*s = append(*s, b...)
	return len(b), nil
}

// newStream answers 200 and opens the stream. gone is called when the client
// does not take what is written.
func newStream(w http.ResponseWriter, gone func()) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect the events
	w.WriteHeader(http.StatusOK)
	s := &stream{w: w, rc: http.NewResponseController(w), gone: gone, out: make(sink, 0, 2<<10)}
	s.moved.L = &s.mu
	s.enc = newEncoder(&s.out)
	return s
}

// event writes one named event with JSON data.
func (s *stream) event(name string, data any) {
	s.add(func() {
		s.seq++
		writeFrame(&s.out, s.enc, strconv.Itoa(s.seq), name, data)
	})
}

// data writes one unnamed event, as OpenAI's protocol has them: a string as it
// is, everything else as JSON.
func (s *stream) data(v any) { s.add(func() { writeFrame(&s.out, s.enc, "", "", v) }) }

// ping writes a comment, which clients pass over.
func (s *stream) ping() { s.raw([]byte(": ping\n\n")) }

func (s *stream) raw(b []byte) { s.add(func() { s.out = append(s.out, b...) }) }

// add appends what f writes, when there is room.
func (s *stream) add(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.out) >= streamBytes && s.writing && !s.dead {
		s.moved.Wait()
	}
	if s.dead {
		return
	}
	if f(); !s.writing && !s.closing && len(s.out) > 0 {
		s.writing = true
		go s.write()
	}
}

// write writes until there is nothing to write.
func (s *stream) write() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.out) > 0 && !s.dead {
		s.pass(true)
	}
	s.writing = false
	s.moved.Broadcast()
}

// pass writes what is there; s.mu is held, but not while the client is waited
// for.
func (s *stream) pass(flush bool) {
	out := s.out
	s.out = s.spare[:0]
	s.mu.Unlock()
	var err error
	for piece := range slices.Chunk(out, pieceBytes) {
		_ = s.rc.SetWriteDeadline(time.Now().Add(slowClient)) // unsupported by some test writers
		if _, err = s.w.Write(piece); err != nil {
			break
		}
	}
	if err == nil && flush {
		err = s.rc.Flush()
	}
	s.mu.Lock()
	if s.spare = out; err != nil {
		s.dead = true
		s.gone()
	}
	s.moved.Broadcast()
}

// end says that what is added from now on is the stream's end: it goes out
// together, with close.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// close writes what is left and returns when nothing is written any more; what
// is added later is dropped. The server flushes it when the handler returns.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for s.writing {
		s.moved.Wait()
	}
	for len(s.out) > 0 && !s.dead {
		s.pass(false)
	}
	s.dead = true
}

func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// frame is one event as it stands in a stream; nil: the data cannot be written.
func frame(id, name string, data any) []byte {
	var b sink
	writeFrame(&b, newEncoder(&b), id, name, data)
	return b
}

// writeFrame appends one event to b, into which enc writes. Data that cannot be
// written leaves b as it was.
func writeFrame(b *sink, enc *json.Encoder, id, name string, data any) {
	before := len(*b)
	if id != "" {
		*b = append(append(append(*b, "id: "...), id...), '\n')
	}
	if name != "" {
		*b = append(append(append(*b, "event: "...), name...), '\n')
	}
	*b = append(*b, "data: "...)
	if raw, ok := data.(string); ok {
		*b = append(append(*b, raw...), '\n')
	} else if enc.Encode(data) != nil {
		*b = (*b)[:before]
		return
	}
	*b = append(*b, '\n')
}

// beat calls f whenever so much time is over, until stop is called; then f does
// not run any more.
func beat(every time.Duration, f func()) (stop func()) {
	var mu sync.Mutex
	over := false
	mu.Lock()
	defer mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(every, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			f()
			timer.Reset(every)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}
