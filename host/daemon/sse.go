package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// slowClient is how long one write may block before the client is dropped.
// Its turn waits for it; nobody else's does.
const slowClient = 15 * time.Second

// heartbeat is how long a stream may be silent: proxies often cut after a minute.
const heartbeat = 15 * time.Second

// A stream writes server-sent events to one client. After the first failed
// write it is dead: gone is called once and every later event is dropped.
type stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	gone func()
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
	s.seq++
	s.write(fmt.Appendf(nil, "id: %d\nevent: %s\n", s.seq, name), data)
}

// data writes one unnamed event, as OpenAI's protocol has them.
func (s *stream) data(v any) { s.write(nil, v) }

// ping writes a comment, which clients pass over.
func (s *stream) ping() { s.send([]byte(": ping\n\n")) }

func (s *stream) write(head []byte, v any) {
	if s.dead {
		return
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString("data: ")
	if raw, ok := v.(string); ok {
		b.WriteString(raw + "\n")
	} else {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if enc.Encode(v) != nil {
			return
		}
	}
	b.WriteByte('\n')
	s.send(b.Bytes())
}

func (s *stream) send(b []byte) {
	if s.dead {
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
