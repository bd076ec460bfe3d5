package daemon

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
)

const (
	benchHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	benchReady = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	benchCall  = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a hundred bytes a hundred bytes a hundred bytes a hundred bytes a hundred bytes a hundred bytes are"}}}`
)

// benchDaemon has the tool of make bench-mcp.
func benchDaemon(b *testing.B) *Daemon {
	from, dir := filepath.Join(guesttest.Root(b), "host/bench/mcp/testdata/echo"), b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "echo"), 0o700); err != nil {
		b.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(from, "plugin.toml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "echo", "plugin.toml"), manifest, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	guesttest.Build(b, from, filepath.Join(dir, "echo", "echo.wasm"))
	h, err := host.Open(b.Context(), host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: dir, Trust: plugin.TrustGranted}},
			Archive: archive.Config{Path: filepath.Join(b.TempDir(), "archive.db")},
		},
		CacheDir: guesttest.Cache(b),
		Version:  "0.1.0",
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	d, err := New(Config{
		Host: h, Token: testToken, Version: "test", Models: map[string]Model{"scripted": {Model: replay.New()}},
		Profiles: map[string]Profile{"default": {Model: "scripted", Agent: agent.Defaults()}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// Calls of a Go guest over each of the protocol's transports, by 16 callers.
func BenchmarkMCP(b *testing.B) {
	d := benchDaemon(b)
	b.Run("stdio", func(b *testing.B) { benchStdio(b, d) })
	b.Run("http", func(b *testing.B) { benchHTTP(b, d) })
}

func benchStdio(b *testing.B, d *Daemon) {
	in, say, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	hear, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.ServeMCP(b.Context(), in, out) }()
	r := bufio.NewReaderSize(hear, 1<<20)
	fmt.Fprintln(say, benchHello)
	if _, err := r.ReadSlice('\n'); err != nil {
		b.Fatal(err)
	}
	fmt.Fprintln(say, benchReady)
	slots, heard := make(chan bool, 16), make(chan bool)
	go func() {
		for range b.N + 1 {
			line, err := r.ReadSlice('\n')
			if err != nil || !bytes.Contains(line, []byte("bytes are")) {
				b.Errorf("%s %v", line, err)
			}
			<-slots
		}
		close(heard)
	}()
	b.ReportAllocs()
	for i := range b.N + 1 {
		if i == 1 {
			b.ResetTimer()
		}
		slots <- true
		fmt.Fprintf(say, benchCall+"\n", i)
	}
	<-heard
	b.StopTimer()
	_ = say.Close() // which ends the stream
	if err := <-done; err != nil {
		b.Error(err)
	}
}

func benchHTTP(b *testing.B, d *Daemon) {
	srv := httptest.NewServer(d.Handler())
	defer srv.Close()
	addr := strings.TrimPrefix(srv.URL, "http://")
	head := "POST /mcp HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nAuthorization: Bearer " + testToken + "\r\n"
	post := func(c net.Conn, r *bufio.Reader, body string) (string, http.Header) {
		fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			b.Error(err)
			return "", nil
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			b.Error(err)
		}
		return string(text), resp.Header
	}
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		return c, bufio.NewReader(c)
	}
	c, r := dial()
	_, h := post(c, r, benchHello)
	head += "Mcp-Session-Id: " + h.Get("Mcp-Session-Id") + "\r\nMcp-Protocol-Version: 2025-06-18\r\n"
	post(c, r, benchReady)
	post(c, r, fmt.Sprintf(benchCall, 1))
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			c, r := dial()
			defer c.Close()
			for i := w; i < b.N; i += 16 {
				if text, _ := post(c, r, fmt.Sprintf(benchCall, i)); !strings.Contains(text, "bytes are") {
					b.Errorf("%s", text)
				}
			}
		})
	}
	wg.Wait()
}
