package client

import (
	"context"
	"net"
	"net/http"
	"time"
)

// InProcess serves h to a client over connections in memory, without a port. Close
// ends the server and then calls closed, if it is not nil.
func InProcess(h http.Handler, token string, closed func()) *Client {
	l := &listener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // returns http.ErrServerClosed
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) }}
	c := New("http://localhost", token)
	c.http = &http.Client{Transport: tr}
	c.close = func() {
		tr.CloseIdleConnections()
		_ = srv.Close()
		if closed != nil {
			closed()
		}
	}
	return c
}

// A listener accepts the connections that dial makes in the same process.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *listener) dial(ctx context.Context) (net.Conn, error) {
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

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
