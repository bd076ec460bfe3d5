package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/weirhost/weir/host/daemon"
)

// A client speaks to a daemon: the running one, or one opened for this command
// alone over a connection in memory. The commands do not see the difference.
type client struct {
	http  *http.Client
	base  string
	token string
	// config is the file that the daemon has its configuration from; empty: none.
	config string
	// local says that no daemon runs; close then closes what was opened.
	local bool
	close func()
	// warm is Host.Warm where no daemon runs, which would do that by itself; nil:
	// one does.
	warm func(ctx context.Context, report func(name string, took time.Duration, err error), names ...string)
}

// addressFile is what a running daemon leaves behind for the command line.
type addressFile struct {
	URL    string `json:"url"`
	PID    int    `json:"pid"`
	Config string `json:"config,omitempty"`
}

// running returns a client for the daemon of this data folder, or nil. A daemon
// holds the lock: an address without it was left by one that was killed, and
// whoever listens there now must not be sent the token.
func running(ctx context.Context, p paths) *client {
	raw, err := os.ReadFile(p.Address)
	if err != nil {
		return nil
	}
	l := flock.New(p.Lock)
	if free, err := l.TryRLock(); err == nil && free {
		_ = l.Unlock()
		return nil
	}
	var a addressFile
	token, err := os.ReadFile(p.Token)
	if err != nil || json.Unmarshal(raw, &a) != nil {
		return nil
	}
	c := &client{http: &http.Client{}, base: a.URL, token: strings.TrimSpace(string(token)), config: a.Config, close: func() {}}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if c.get(ctx, "/healthz", nil) != nil {
		return nil // it is only starting, or stopping
	}
	return c
}

// inMemory serves h to a client without a port.
func inMemory(h http.Handler, token string, closeAll func()) *client {
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with http.ErrServerClosed
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) }}
	return &client{
		http: &http.Client{Transport: tr}, base: "http://localhost", token: token, local: true,
		close: func() {
			tr.CloseIdleConnections()
			_ = srv.Close()
			closeAll()
		},
	}
}

// pipeListener accepts connections made by dial in the same process.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case l.conns <- b:
		return a, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }

func (c *client) get(ctx context.Context, path string, into any) error {
	return c.do(ctx, http.MethodGet, path, nil, into)
}

func (c *client) post(ctx context.Context, path string, body, into any) error {
	return c.do(ctx, http.MethodPost, path, body, into)
}

func (c *client) do(ctx context.Context, method, path string, body, into any) error {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	if raw, ok := into.(*json.RawMessage); ok {
		*raw, err = io.ReadAll(resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// send makes a request; an answer that is not 2xx becomes a *daemon.Problem.
func (c *client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the daemon at %s does not answer: %w", c.base, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	var p struct {
		Error daemon.Problem `json:"error"`
	}
	if json.NewDecoder(resp.Body).Decode(&p) != nil || p.Error.Msg == "" {
		return nil, fmt.Errorf("the daemon at %s answered %s", c.base, resp.Status)
	}
	p.Error.Status = resp.StatusCode
	return nil, &p.Error
}

// stream opens a connection for the lines of an MCP client.
func (c *client) stream(ctx context.Context) (*link, error) {
	u, err := url.Parse(c.base)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("the daemon at %s does not answer: %w", c.base, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/mcp", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", daemon.StreamProtocol)
	r := bufio.NewReaderSize(conn, 64<<10)
	if err = req.Write(conn); err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(r, req); err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
			err = errors.New(resp.Status)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("the daemon at %s does not take an MCP client: %w", c.base, err)
	}
	return &link{r: r, w: halfCloser{conn}, close: func() { _ = conn.Close() }}, nil
}

// A halfCloser's Close says that nothing more will be written; the rest can
// still be read.
type halfCloser struct{ net.Conn }

func (h halfCloser) Close() error {
	if half, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return h.Conn.Close()
}

// errStream says that the daemon went away in mid-answer.
var errStream = errors.New("the answer broke off: the daemon closed the stream")

// chat asks and hands every event to each until chat.end.
func (c *client) chat(ctx context.Context, ask daemon.Ask, each func(name string, data json.RawMessage) error) error {
	resp, err := c.send(ctx, http.MethodPost, "/api/chat", ask)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	r := bufio.NewReaderSize(resp.Body, 64<<10)
	var name string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errStream
		}
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		switch key {
		case "event":
			name = value
		case "data":
			if err := each(name, json.RawMessage(value)); err != nil {
				return err
			}
			if name == "chat.end" {
				return nil
			}
		}
	}
}
