package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/internal/testtime"
)

const (
	// longCall runs for much longer than any test, and by the SDK.
	longCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","arguments":{"millis":3600000},"_meta":{"progressToken":1}}}`
	endsIn   = 5 * time.Minute // for a test that fails
)

// A call that the SDK makes ends with its client too.
func TestCallsEndWithTheirSession(t *testing.T) {
	b := newBench(t, nil)
	soon := func(t *testing.T, what string, done <-chan error) error {
		t.Helper()
		select {
		case err := <-done:
			testtime.Until(b, "no call runs", func() bool { return b.busy() == 0 })
			return err
		case <-time.After(endsIn):
			t.Fatalf("%s waits for a call that runs", what)
			return nil
		}
	}
	t.Run("stream", func(t *testing.T) {
		in, toServer := io.Pipe()
		defer toServer.Close()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan error, 1)
		go func() { done <- b.server.ServeStream(ctx, "me", in, io.Discard) }()
		if _, err := io.WriteString(toServer, hello+longCall+"\n"); err != nil {
			t.Fatal(err)
		}
		testtime.Until(b, "the call runs", func() bool { return b.busy() > 0 })
		stop()
		if err := soon(t, "the stream", done); !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Run("DELETE", func(t *testing.T) {
		r := b.post("me", nil, strings.SplitN(hello, "\n", 2)[0])
		session := map[string]string{sessionHeader: r.Header.Get(sessionHeader)}
		called := make(chan error, 1)
		go func() {
			r := b.post("me", session, longCall)
			_, err := io.Copy(io.Discard, r.Body)
			called <- err
		}()
		testtime.Until(b, "the call runs", func() bool { return b.busy() > 0 })
		done := make(chan error, 1)
		go func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, b.url, nil)
			if err == nil {
				req.Header.Set("X-User", "me")
				req.Header.Set(sessionHeader, session[sessionHeader])
				var resp *http.Response
				if resp, err = http.DefaultClient.Do(req); err == nil {
					_ = resp.Body.Close()
				}
			}
			done <- err
		}()
		if err := soon(t, "the end of a session", done); err != nil {
			t.Error(err)
		}
		<-called
	})
	t.Run("Close", func(t *testing.T) {
		s := b.http(nil, "2025-06-18", "me")
		called := make(chan struct{})
		go func() {
			defer close(called)
			p := &mcp.CallToolParams{Name: "wait", Arguments: json.RawMessage(`{"millis":3600000}`)}
			p.SetProgressToken("p")
			if _, err := s.CallTool(t.Context(), p); err == nil {
				t.Error("the call came to a result")
			}
		}()
		testtime.Until(b, "the call runs", func() bool { return b.busy() > 0 })
		done := make(chan error, 1)
		go func() { b.server.Close(); done <- nil }()
		_ = soon(t, "Close", done)
		<-called
	})
}

// A session that a request has found is not ended for idleness, and one that is about
// to be ended so is not found.
func TestFoundSessionIsInUse(t *testing.T) {
	b := newBench(t, nil)
	b.server.cfg.MaxUserSessions, b.server.cfg.Idle = 1, -1
	r := b.post("me", nil, strings.SplitN(hello, "\n", 2)[0])
	id := r.Header.Get(sessionHeader)
	_, _ = io.Copy(io.Discard, r.Body)
	u, err := b.server.user("me")
	if err != nil {
		t.Fatal(err)
	}
	testtime.Until(b, "the session is there and no other one is made", func() bool {
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		return len(b.server.sessions) == 1 && u.making == 0
	})
	b.server.cfg.Idle = 0 // from now on every idle session is too old
	x, done := b.server.find(u, id)
	if x == nil {
		t.Fatal("it is not found")
	}
	if made, ok := b.server.room(u); ok {
		made()
		t.Error("it made room for another one")
	}
	if n := len(b.server.old()); n != 0 {
		t.Error("it is too old")
	}
	done()
	if n := len(b.server.old()); n != 1 {
		t.Errorf("%d are too old", n)
	}
	if x, _ := b.server.find(u, id); x != nil {
		t.Error("one that is being ended is found")
	}
	x.close()
}
