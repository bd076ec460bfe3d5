package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/plugin"
)

// A bench is a server over real guests, reached in every way that there is.
type bench struct {
	*testing.T
	host   *host.Host
	server *Server
	url    string
	folder string // of plugins

	mu      sync.Mutex
	calls   []Call
	running int
}

// place puts a guest of this repository into a folder of plugins.
func place(t *testing.T, folder, from string) {
	t.Helper()
	name := filepath.Base(from)
	to := filepath.Join(folder, name)
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(from, "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	guesttest.Build(t, from, filepath.Join(to, name+".wasm"))
	if err := os.WriteFile(filepath.Join(to, "plugin.toml"), manifest, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m, Part: "Archive|History"}.Run()) }

func newBench(t *testing.T, change func(*host.Config, *Config)) *bench {
	t.Helper()
	b := &bench{T: t, folder: t.TempDir()}
	place(t, b.folder, filepath.Join("testdata", "everything"))
	hc := host.Config{
		Settings: host.Settings{Folders: []plugin.Folder{{Path: b.folder, Trust: plugin.TrustGranted}}},
		CacheDir: guesttest.Cache(t),
		Version:  "0.1.0",
	}
	hc.Archive.Path = filepath.Join(t.TempDir(), "archive.db")
	c := Config{Version: "0.1.0", Called: func(c Call) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.calls = append(b.calls, c)
	}}
	c.Begin = func(string) (func(), error) {
		b.add(1)
		return func() { b.add(-1) }, nil
	}
	if change != nil {
		change(&hc, &c)
	}
	hc.Archive.URL = pgtest.URL(t)
	h, err := host.Open(t.Context(), hc)
	if err != nil {
		t.Fatal(err)
	}
	b.host, c.Host = h, h
	b.server = New(c)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := r.Header.Get("X-User")
		if who == "" {
			who = "me"
		}
		b.server.ServeHTTP(who, w, r)
	}))
	b.url = web.URL
	t.Cleanup(func() {
		b.server.Close()
		web.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// ways are the transports and the revisions of the protocol.
var ways = []struct {
	name string
	join func(*bench, *mcp.ClientOptions) *mcp.ClientSession
}{
	{"http with sessions", func(b *bench, o *mcp.ClientOptions) *mcp.ClientSession { return b.http(o, "2025-11-25", "me") }},
	{"http", func(b *bench, o *mcp.ClientOptions) *mcp.ClientSession { return b.http(o, "", "me") }},
	{"stream with sessions", func(b *bench, o *mcp.ClientOptions) *mcp.ClientSession { return b.stream(o, "2025-06-18") }},
	{"stream", func(b *bench, o *mcp.ClientOptions) *mcp.ClientSession { return b.stream(o, "") }},
}

func as(o *mcp.ClientOptions) *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
}

func (b *bench) http(o *mcp.ClientOptions, version, user string) *mcp.ClientSession {
	b.Helper()
	t := &mcp.StreamableClientTransport{Endpoint: b.url, HTTPClient: &http.Client{Transport: asUser{user}}}
	return b.connect(as(o), t, version)
}

// asUser says whose request it is, where the daemon has its token for that.
type asUser struct{ name string }

func (a asUser) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-User", a.name)
	return http.DefaultTransport.RoundTrip(r)
}

func (b *bench) stream(o *mcp.ClientOptions, version string) *mcp.ClientSession {
	b.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- b.server.ServeStream(context.Background(), "me", in, out)
		_ = out.Close()
	}()
	b.Cleanup(func() { // the session is closed: what is on its way is read until the server ends
		_ = toServer.Close()
		go func() { _, _ = io.Copy(io.Discard, fromServer) }()
		if err := <-done; err != nil {
			b.Errorf("the stream ended with: %v", err)
		}
	})
	return b.connect(as(o), &mcp.IOTransport{Reader: io.NopCloser(fromServer), Writer: toServer}, version)
}

func (b *bench) connect(c *mcp.Client, t mcp.Transport, version string) *mcp.ClientSession {
	b.Helper()
	s, err := c.Connect(b.Context(), t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func textOf(r *mcp.CallToolResult) string {
	var out []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			out = append(out, t.Text)
		}
	}
	return strings.Join(out, "\n")
}

func (b *bench) call(s *mcp.ClientSession, name, args string) *mcp.CallToolResult {
	b.Helper()
	r, err := s.CallTool(b.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return r
}

func (b *bench) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running += n
}

// told returns the reported calls.
func (b *bench) told() []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

// busy is how many calls run.
func (b *bench) busy() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

// post sends one message as it is.
func (b *bench) post(user string, header map[string]string, body string) *http.Response {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("X-User", user)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// No two calls have one id, of whichever Server they are.
func TestCallIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range []*Server{New(Config{}), New(Config{})} {
		defer s.Close()
		for range 1000 {
			seen[s.callID()] = true
		}
	}
	if len(seen) != 2000 {
		t.Errorf("2000 calls have %d ids", len(seen))
	}
}
