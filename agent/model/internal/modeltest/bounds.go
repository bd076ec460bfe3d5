package modeltest

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
)

// Bounded holds a protocol to the bounds of one answer: each of pieces, repeated without end
// after head, ends the reply as garbage before much of it is read, without a repeat. made
// makes the model that asks over the connection.
func Bounded(t *testing.T, kind string, made func(http.RoundTripper) (agent.Model, error), head string, pieces map[string]string) {
	t.Helper()
	for name, piece := range pieces {
		e := &endless{kind: kind, body: head, piece: piece}
		m, err := made(e)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Ask(t.Context(), m, Hello())
		if !agent.IsModelCode(err, agent.ModelGarbage) || e.read > 40<<20 || e.asked != 1 {
			t.Errorf("%s: %v after %d bytes of %d answers", name, err, e.read, e.asked)
		}
	}
}

// endless answers every POST with body and then piece without end.
type endless struct {
	kind, body, piece, rest string
	read, asked             int
}

// RoundTrip implements http.RoundTripper.
func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/show") {
		return &http.Response{StatusCode: http.StatusNotFound, Request: r, Header: http.Header{}, Body: http.NoBody}, nil
	}
	e.asked++
	e.rest = e.body
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {e.kind}}, Body: io.NopCloser(e)}, nil
}

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	e.rest = cmp.Or(e.rest, e.piece)
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.read += n
	return n, nil
}
