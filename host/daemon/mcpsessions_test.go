package daemon

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/internal/testtime"
)

const helloMCP = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// sendMCP sends a message over HTTP, with a session's id if there is one.
func (s *server) sendMCP(method, token, id, body string) answer {
	s.Helper()
	return s.do(method, "/mcp", body, func(r *http.Request) {
		bearing(token)(r)
		r.Header.Set("Accept", "application/json, text/event-stream")
		if id != "" {
			r.Header.Set("Mcp-Session-Id", id)
		}
	})
}

// inFile returns a daemon whose tables are in that file.
func inFile(t *testing.T, path string) *server {
	return serverWith(t, replay.New(), func(c *host.Config) { c.Archive.Path = path })
}

// closed ends a daemon as a stop does.
func (s *server) closed() {
	s.Helper()
	if err := s.daemon.Drain(context.WithoutCancel(s.Context())); err != nil {
		s.Fatal(err)
	}
	if err := s.host.Close(); err != nil {
		s.Fatal(err)
	}
}

// A client of the official SDK goes on with the session that it has, over a restart of the
// daemon and after a time without a request that ends sessions.
func TestMCPSessionsOutliveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	var at atomic.Pointer[url.URL]
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at.Load()) }, FlushInterval: -1})
	t.Cleanup(front.Close)
	first := inFile(t, path)
	leadsTo := func(s *server) {
		u, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		at.Store(u)
	}
	leadsTo(first)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: front.URL + "/mcp", HTTPClient: &http.Client{Transport: withToken(testToken)},
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	id := session.ID()
	calls := func(when string) {
		t.Helper()
		if r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "long_text", Arguments: map[string]any{}}); err != nil || r.IsError || session.ID() != id {
			t.Fatalf("%s: %+v, %v", when, r, err)
		}
	}
	calls("at first")
	first.closed()
	second := inFile(t, path)
	leadsTo(second)
	calls("after the restart")
	if err := session.Close(); err != nil {
		t.Errorf("the end of the session: %v", err)
	}
	if r := second.sendMCP("POST", testToken, id, `{"jsonrpc":"2.0","id":9,"method":"ping"}`); r.status != 404 {
		t.Errorf("after its end: %d %s", r.status, r.body)
	}
}

// A session that was idle for too long is not open any more, and its client goes on with it.
func TestMCPSessionsOutliveIdleTime(t *testing.T) {
	s := newServer(t, replay.New())
	var forward atomic.Int64
	s.daemon.now = func() time.Time { return time.Now().Add(time.Duration(forward.Load())) }
	id := s.sendMCP("POST", testToken, "", helloMCP).header.Get("Mcp-Session-Id")
	if r := s.sendMCP("POST", testToken, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.status != 202 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	forward.Store(int64(24 * time.Hour))
	s.daemon.mcp.server.EndIdle()
	testtime.Until(t, "no session is open", func() bool { return len(s.daemon.mcp.server.Connected()) == 0 })
	for range 2 {
		if r := s.sendMCP("POST", testToken, id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); r.status != 200 || !strings.Contains(r.body, "long_text") {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if n := len(s.daemon.mcp.server.Connected()); n != 1 {
		t.Errorf("%d sessions are open", n)
	}
}

// A session's id is worth nothing to who did not begin it, after a restart as before: another
// user, and the same user with another token. With its token the session ends.
func TestStoredMCPSessionsBelongToTheirToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	first := inFile(t, path)
	made := first.do("POST", "/api/client-tokens", `{"client":"opencode"}`, bearing(testToken))
	_, rest, _ := strings.Cut(made.body, `"token":"`)
	client, _, _ := strings.Cut(rest, `"`)
	ids := map[string]string{}
	for _, token := range []string{testToken, client} {
		r := first.sendMCP("POST", token, "", helloMCP)
		if ids[token] = r.header.Get("Mcp-Session-Id"); r.status != 200 || ids[token] == "" {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	first.closed()
	s := inFile(t, path)
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	status := func(token, id string) int { return s.sendMCP("POST", token, id, ping).status }
	for _, row := range []struct {
		name, token, id string
		want            int
	}{
		{"the token of a client", client, ids[testToken], 404},
		{"the user's token, of a client's session", testToken, ids[client], 404},
		{"made up", testToken, "0bd7c2f3-4f0d-4b0e-9b0a-1c0e5a1f7a5e", 404},
		{"its own", client, ids[client], 200},
		{"its own", testToken, ids[testToken], 200},
	} {
		if got := status(row.token, row.id); got != row.want {
			t.Errorf("%s: %d", row.name, got)
		}
	}
	if r := s.do("DELETE", "/api/client-tokens/opencode", "", bearing(testToken)); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if got := status(client, ids[client]); got != 401 {
		t.Errorf("the revoked token: %d", got)
	}
	if got := status(testToken, ids[client]); got != 404 {
		t.Errorf("the session of the revoked token: %d", got)
	}
	if got := status(testToken, ids[testToken]); got != 200 {
		t.Errorf("another session: %d", got)
	}
}

// A user's new token opens none of the sessions that the former one began, open or not.
func TestMCPSessionsEndWithTheirUsersToken(t *testing.T) {
	s := newServer(t, replay.New())
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	id := s.sendMCP("POST", annToken, "", helloMCP).header.Get("Mcp-Session-Id")
	const ping, other = `{"jsonrpc":"2.0","id":2,"method":"ping"}`, "another token of ann"
	if r := s.sendMCP("POST", annToken, id, ping); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	u := ann(usage.Quota{})
	u.TokenSHA256 = sha256.Sum256([]byte(other))
	s.withUsers(map[string]User{"ann": u})
	if r := s.sendMCP("POST", other, id, ping); r.status != 404 {
		t.Errorf("with the new token: %d %s", r.status, r.body)
	}
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	if r := s.sendMCP("POST", annToken, id, ping); r.status != 404 {
		t.Errorf("with the old one, which holds again: %d %s", r.status, r.body)
	}
}

// A client that looks for a stream before it has a session learns that there is none.
func TestGETWithoutASession(t *testing.T) {
	s := newServer(t, replay.New())
	for _, method := range []string{"GET", "DELETE"} {
		if r := s.sendMCP(method, testToken, "", ""); r.status != 405 || r.header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q: %s", method, r.status, r.header.Get("Allow"), r.body)
		}
	}
}
