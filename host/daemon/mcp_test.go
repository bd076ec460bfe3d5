package daemon

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// withToken sends a token along.
type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

func (s *server) mcp(version string) *mcp.ClientSession { return s.mcpAs(testToken, version) }

func (s *server) mcpAs(token, version string) *mcp.ClientSession {
	s.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(s.Context(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: withToken(token)}},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = session.Close() })
	return session
}

// Calls by the protocol are archived, counted and put down for the statistics.
func TestMCP(t *testing.T) {
	s := newServer(t, replay.New())
	for _, version := range []string{"", "2025-11-25"} {
		r, err := s.mcp(version).CallTool(t.Context(), &mcp.CallToolParams{Name: "long_text", Arguments: map[string]any{}})
		if err != nil || r.IsError || r.Meta["weir/archive"] == nil {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	s.daemon.calls.Flush()
	if a := s.get("/metrics"); !strings.Contains(a.body, `weir_calls_total{format="mcp",model="",outcome="ok",tool="long_text"} 2`) {
		t.Errorf("metrics: %s", grep(a.body, "calls_total"))
	}
	uses, err := s.daemon.store.Calls(t.Context(), archive.Scope{Principal: "local", Conversation: "mcp-local"}, time.Time{})
	if err != nil || len(uses) != 2 || uses[0].Format != "mcp" || uses[0].UUID == "" || uses[0].Code != "ok" {
		t.Errorf("%+v, %v", uses, err)
	}
	if a := s.get("/api/conversations"); !strings.Contains(a.body, `"mcp-local"`) {
		t.Errorf("conversations: %s", a.body)
	}
}

func grep(text, word string) string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// The route has the daemon's own rules about who asks, and from where.
func TestMCPAccess(t *testing.T) {
	s := newServer(t, replay.New())
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for _, row := range []struct {
		name string
		edit func(*http.Request)
		want int
	}{
		{"as it should be", func(*http.Request) {}, 200},
		{"without the token", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"by another name", func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"from another page", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		{"from the daemon's own page", func(r *http.Request) { r.Header.Set("Origin", s.url) }, 200},
		{"not as JSON", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
	} {
		a := s.do("POST", "/mcp", body, func(r *http.Request) {
			r.Header.Set("Accept", "application/json, text/event-stream")
			row.edit(r)
		})
		if a.status != row.want {
			t.Errorf("%s: %d %s", row.name, a.status, a.body)
		}
	}
}

// mcpStream is a connection that has become a stream, on which something was answered.
func (s *server) mcpStream(token string) *bufio.Reader {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	r, err := http.NewRequest("GET", s.url+"/api/mcp", nil)
	if err != nil {
		s.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Connection": {"Upgrade"}, "Upgrade": {api.StreamProtocol}}
	if err := r.Write(conn); err != nil {
		s.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute)) // for a test that fails
	in := bufio.NewReader(conn)
	if resp, err := http.ReadResponse(in, r); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		s.Fatal(resp, err)
	}
	if _, err := conn.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")); err != nil {
		s.Fatal(err)
	}
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, `"id":1`) {
		s.Fatal(line, err)
	}
	return in
}

// A stream ends when its token is no longer its user's, and not before.
func TestMCPStreamEndsWithItsToken(t *testing.T) {
	for what, next := range map[string]map[string]User{
		"a user who has gone":       {},
		"another token":             {"ann": {TokenSHA256: sha256.Sum256([]byte(bobToken))}},
		"a token that is another's": {"bob": ann(usage.Quota{})},
	} {
		s := newServer(t, replay.New())
		s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
		own, operators := s.mcpStream(annToken), s.mcpStream(testToken)
		s.withUsers(map[string]User{"ann": ann(usage.Quota{PerMinute: 7})})
		streams := s.daemon.mcp.bearers.Len()
		s.withUsers(next)
		if _, err := io.Copy(io.Discard, own); err != nil || streams != 2 {
			t.Errorf("%s: %v, after %d streams with a token that held", what, err, streams)
		}
		if err := s.daemon.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, operators); err != nil {
			t.Errorf("%s: the operator's stream: %v", what, err)
		}
	}
}

// So does who listens over HTTP.
func TestMCPListenerEndsWithItsToken(t *testing.T) {
	s := newServer(t, replay.New())
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a test that fails
	defer cancel()
	send := func(token, method, session, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, s.url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Mcp-Session-Id": {session}}
		r.Header.Set("Accept", "text/event-stream")
		if method == http.MethodPost {
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Del("Mcp-Session-Id")
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	listen := func(token string) io.Reader {
		hello := send(token, http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		return send(token, http.MethodGet, hello.Header.Get("Mcp-Session-Id"), "").Body
	}
	own, operators := listen(annToken), listen(testToken)
	s.withUsers(map[string]User{"ann": ann(usage.Quota{PerMinute: 7})})
	listeners := s.daemon.mcp.bearers.Len()
	s.withUsers(map[string]User{})
	if _, err := io.Copy(io.Discard, own); err != nil || listeners != 2 {
		t.Errorf("%v, after %d listeners with a token that held", err, listeners)
	}
	if err := s.daemon.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, operators); err != nil {
		t.Errorf("the operator's: %v", err)
	}
}

// A connection can be turned into a stream, and ends with the daemon, which says so before.
func TestMCPStream(t *testing.T) {
	s := newServer(t, replay.New())
	if a := s.get("/api/mcp"); a.status != http.StatusUpgradeRequired {
		t.Errorf("without an upgrade: %d", a.status)
	}
	in := s.mcpStream(testToken)
	if err := s.daemon.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
		if !strings.Contains(line, mcpserver.Leaving) {
			t.Errorf("the stream goes on: %s", line)
		}
	}
}

// A call that may not begin is refused with a hint and in the user's language, and
// without what is wrong inside.
func TestMCPRefusals(t *testing.T) {
	s := newServer(t, replay.New())
	zh := ann(usage.Quota{})
	zh.Locale = tool.Zh
	s.withUsers(map[string]User{"ann": zh})
	refused := func(want tool.Error) {
		t.Helper()
		_, err := s.daemon.mcp.admit("ann")
		if got, ok := errors.AsType[*tool.Error](err); !ok || got.Code != want.Code || got.Msg != want.Msg || got.Hint != want.Hint {
			t.Errorf("got %#v, want %#v", err, want)
		}
	}
	counts := s.daemon.mcp.meter
	closed, err := archive.Open(t.Context(), archive.Config{Path: filepath.Join(t.TempDir(), "closed.db")})
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), closed)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	s.daemon.mcp.meter = usage.NewMeter(db, time.Now, s.daemon.log)
	refused(tool.Error{Code: tool.Failed, Msg: "weir 内部出错", Hint: "守护进程的日志中有详情"})
	s.daemon.mcp.meter = counts
	s.daemon.admission.Close()
	refused(tool.Error{Code: tool.Failed, Msg: "守护进程正在关闭", Hint: "请稍后再问"})
	if n := counts.Running("ann"); n != 0 {
		t.Errorf("%d calls run", n)
	}
}

// A stop disconnects clients that only listen.
func TestMCPDrain(t *testing.T) {
	s := newServer(t, replay.New())
	session := s.mcp("2025-11-25")
	if err := s.daemon.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "calculator"}); err == nil {
		t.Errorf("a daemon that has stopped answers %+v", r)
	}
}
