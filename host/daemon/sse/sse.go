// Package sse writes server-sent events to one client. A Stream writes from a
// goroutine of its own, which exists only while there is something to write: events
// that arrive together leave in one write, and no event waits for the next. A slow
// client delays the code that adds events, but only after 32 KiB wait for it; how long
// one write may wait is the server's decision (Patient of package httpjson).
package sse

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Heartbeat is the longest silence of a stream: proxies often disconnect after a
// minute.
const Heartbeat = 15 * time.Second

// A Stream writes server-sent events to one client. After the first failed write it
// is dead: it calls gone once and drops every later event. It is safe for concurrent
// use. Close must be called before the handler returns.
type Stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	gone func()
	enc  *json.Encoder // into out

	mu      sync.Mutex
	moved   sync.Cond // signals the end of a write
	out     sink      // waits to be written
	spare   sink      // the empty second buffer
	writing bool      // a goroutine writes
	closing bool      // Close writes what is added now
	dead    bool
	seq     int
}

const (
	// streamBytes is how much may wait for a client before Event blocks.
	streamBytes = 32 << 10
	// PieceBytes is the size of one write. The server bounds the time in which the client
	// must accept it.
	PieceBytes = 16 << 10
)

// A sink is a byte buffer whose Write never fails.
type sink []byte

// Write appends b.
func (s *sink) Write(b []byte) (int, error) {
	*s = append(*s, b...)
	return len(b), nil
}

// New answers 200 and opens the stream. It calls gone when a write to the client
// fails or takes too long.
func New(w http.ResponseWriter, gone func()) *Stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect the events
	w.WriteHeader(http.StatusOK)
	s := &Stream{w: w, rc: http.NewResponseController(w), gone: gone, out: make(sink, 0, 2<<10)}
	s.moved.L = &s.mu
	s.enc = newEncoder(&s.out)
	return s
}

// Event writes one named, numbered event with JSON data. It drops data that cannot be
// encoded.
func (s *Stream) Event(name string, data any) {
	s.add(func() {
		s.seq++
		writeFrame(&s.out, s.enc, strconv.Itoa(s.seq), name, data)
	})
}

// Data writes one unnamed event in the form of OpenAI's protocol: a string as it is,
// every other value as JSON.
func (s *Stream) Data(v any) { s.add(func() { writeFrame(&s.out, s.enc, "", "", v) }) }

// Ping writes a comment, which clients ignore.
func (s *Stream) Ping() { s.Raw([]byte(": ping\n\n")) }

// Raw writes events that Frame has encoded.
func (s *Stream) Raw(b []byte) { s.add(func() { s.out = append(s.out, b...) }) }

// add calls f, which appends to out, as soon as there is room.
func (s *Stream) add(f func()) {
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

// write writes until out is empty.
func (s *Stream) write() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.out) > 0 && !s.dead {
		s.pass(true)
	}
	s.writing = false
	s.moved.Broadcast()
}

// pass writes the bytes of out. The caller holds s.mu; pass releases it while it
// waits for the client.
func (s *Stream) pass(flush bool) {
	out := s.out
	s.out = s.spare[:0]
	s.mu.Unlock()
	var err error
	for piece := range slices.Chunk(out, PieceBytes) {
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

// End marks the beginning of the stream's end: Close writes everything added from now
// on in one write.
func (s *Stream) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// Close writes the rest, waits for the last write and drops every later event. The
// server flushes the rest when the handler returns.
func (s *Stream) Close() {
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

// Frame returns one encoded event, nil if the data cannot be encoded. An empty id or
// name is left out.
func Frame(id, name string, data any) []byte {
	var b sink
	writeFrame(&b, newEncoder(&b), id, name, data)
	return b
}

// writeFrame appends one event to b, the target of enc. If the data cannot be encoded,
// b stays unchanged.
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

// Beat calls f every so often until stop is called. f does not run after stop
// returns.
func Beat(every time.Duration, f func()) (stop func()) {
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
