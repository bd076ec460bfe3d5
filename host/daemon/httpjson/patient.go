package httpjson

import (
	"io"
	"net/http"
	"time"
)

const (
	// bodyTime is how long a client may need to send a body.
	bodyTime = 5 * time.Minute
	// unreadTime is how long one write to a client may block.
	unreadTime = 15 * time.Second
)

// Patient returns a handler that waits for slow clients, and not forever: a body that
// does not come and an answer that stays unread end the request.
func Patient(next http.Handler) http.Handler { return patientFor(next, bodyTime, unreadTime) }

func patientFor(next http.Handler, body, unread time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if r.Body != nil && r.Body != http.NoBody {
			_ = rc.SetReadDeadline(time.Now().Add(body))
			r.Body = &timedBody{r.Body, rc}
		}
		out := &timedWriter{ResponseWriter: w, rc: rc, unread: unread}
		out.extend() // the deadline of the request before may have passed
		next.ServeHTTP(out, r)
		out.extend() // for what the server writes after it
	})
}

// A timedBody ends its deadline with the body: what the server reads after it is how it
// learns that the client disconnects.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// A timedWriter bounds each write.
type timedWriter struct {
	http.ResponseWriter
	rc     *http.ResponseController
	unread time.Duration
	set    time.Time // when the deadline was set
}

// extend gives the next write the time unread, or up to a fifteenth less: small writes
// of a stream share a deadline.
func (t *timedWriter) extend() {
	if now := time.Now(); now.Sub(t.set) >= t.unread/15 {
		t.set = now
		_ = t.rc.SetWriteDeadline(now.Add(t.unread)) // some test writers have none
	}
}

func (t *timedWriter) Write(b []byte) (int, error) {
	t.extend()
	return t.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// FlushError lets http.ResponseController return what failed.
func (t *timedWriter) FlushError() error {
	t.extend()
	return t.rc.Flush()
}

// Flush implements http.Flusher, which the SDK of MCP asks for.
func (t *timedWriter) Flush() { _ = t.FlushError() }
