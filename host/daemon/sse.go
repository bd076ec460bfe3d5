package daemon

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// slowClient is how long one write may block before the client is dropped.
// Its turn waits for it; nobody else's does.
const slowClient = 15 * time.Second

// heartbeat is how long a stream may be silent: proxies often cut after a minute.
const heartbeat = 15 * time.Second

// A stream writes server-sent events to one client. After the first failed
// write it is dead: gone is called once and every later event is dropped. It is
// safe for concurrent use.
type stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	gone func()

	mu   sync.Mutex
	dead bool
	seq  int
}

// newStream answers 200 and opens the stream. gone is called when the client
// does not take what is written.
func newStream(w http.ResponseWriter, gone func()) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect the events
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, rc: http.NewResponseController(w), gone: gone}
}

// event writes one named event with JSON data.
func (s *stream) event(name string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	s.send(frame(strconv.Itoa(s.seq), name, data))
}

// data writes one unnamed event, as OpenAI's protocol has them: a string as it
// is, everything else as JSON.
func (s *stream) data(v any) { s.raw(frame("", "", v)) }

// ping writes a comment, which clients pass over.
func (s *stream) ping() { s.raw([]byte(": ping\n\n")) }

func (s *stream) raw(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(b)
}

func (s *stream) send(b []byte) {
	if s.dead || len(b) == 0 {
		return
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(slowClient)) // unsupported by some test writers
	_, err := s.w.Write(b)
	if err == nil {
		err = s.rc.Flush()
	}
	if err != nil {
		s.dead = true
		s.gone()
	}
}

// frame is one event as it stands in a stream; nil: the data cannot be written.
func frame(id, name string, data any) []byte {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	if raw, ok := data.(string); ok {
		b.WriteString(raw + "\n")
	} else {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if enc.Encode(data) != nil {
			return nil
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
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
