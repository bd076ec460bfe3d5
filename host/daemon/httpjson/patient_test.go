package httpjson

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// raw opens a connection to a server and sends a text.
func raw(t *testing.T, s *httptest.Server, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// A client that sends a part of its body, and one that reads nothing, end their requests,
// also where each flush is small.
func TestPatienceEnds(t *testing.T) {
	failed := make(chan error, 3)
	s := httptest.NewServer(patientFor(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, err := io.ReadAll(r.Body)
			failed <- err
			return
		}
		for rc := http.NewResponseController(w); r.Method == http.MethodPut; {
			_, err := w.Write(make([]byte, 2000)) // which the server buffers
			if err != nil {
				t.Error(err)
			}
			if err := rc.Flush(); err != nil {
				failed <- err
				return
			}
		}
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				failed <- err
				return
			}
		}
	}), 50*time.Millisecond, 50*time.Millisecond))
	defer s.Close()
	raw(t, s, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	if err := <-failed; err == nil {
		t.Error("half a body was a whole one")
	}
	raw(t, s, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if err := <-failed; err == nil {
		t.Error("an answer that nobody reads was written")
	}
	raw(t, s, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	if err := <-failed; err == nil {
		t.Error("an answer that nobody reads was flushed")
	}
}

// After its body a request may take as long as it needs, and the deadline of one request
// does not end the next one on the same connection.
func TestPatienceIsForOneRequest(t *testing.T) {
	s := httptest.NewServer(patientFor(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if _, err := io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		select {
		case <-time.After(300 * time.Millisecond): // longer than the body may need
		case <-r.Context().Done():
			t.Error("the end of the deadline counts as the client's end")
		}
		w.Header().Set("Content-Length", "2")
		_, _ = io.WriteString(w, "ok")
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		_ = rc.SetWriteDeadline(time.Unix(1, 0)) // it has passed when the next request comes
	}), 100*time.Millisecond, time.Minute))
	defer s.Close()
	c := raw(t, s, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	answers := bufio.NewReader(c)
	for _, want := range []int{http.StatusOK, http.StatusNoContent} {
		resp, err := http.ReadResponse(answers, nil)
		if err != nil || resp.StatusCode != want {
			t.Fatal(resp, err)
		}
		_, _ = io.ReadAll(resp.Body)
		if _, err := io.WriteString(c, "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
}
