package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// overHTTP starts a server on a port and opens a session. Each worker has a
// connection of its own and writes its requests itself, so that the load takes
// little of the cores that it shares with the server.
func overHTTP(ctx context.Context, args func(port string) []string, tokenFile string, workers int) (*caller, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, args(port), nil)
	if err != nil {
		return nil, err
	}
	c, err := connect("127.0.0.1:"+port, tokenFile, workers)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &caller{call: c.call, process: p}, nil
}

// A client has a session and a connection for each worker.
type client struct {
	head  string // of every request, without its length
	conns []*conn
}

type conn struct {
	net.Conn
	in  *bufio.Reader
	out bytes.Buffer
	ids int
}

// connect waits for the server, and greets it on the first connection.
func connect(addr, tokenFile string, workers int) (*client, error) {
	if err := await(addr); err != nil {
		return nil, err
	}
	token := "none"
	if tokenFile != "" {
		b, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, err
		}
		token = strings.TrimSpace(string(b))
	}
	c := &client{head: "POST /mcp HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nAuthorization: Bearer " + token + "\r\n"}
	for range workers {
		n, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, err
		}
		c.conns = append(c.conns, &conn{Conn: n, in: bufio.NewReaderSize(n, 16<<10)})
	}
	_, header, err := c.post(c.conns[0], initialize)
	if err != nil {
		return nil, err
	}
	c.head += "Mcp-Session-Id: " + header.Get("Mcp-Session-Id") + "\r\nMcp-Protocol-Version: 2025-06-18\r\n"
	_, _, err = c.post(c.conns[0], initialized)
	return c, err
}

// post sends a message and reads its answer.
func (c *client) post(n *conn, body string) ([]byte, http.Header, error) {
	n.out.Reset()
	fmt.Fprintf(&n.out, "%sContent-Length: %d\r\n\r\n%s", c.head, len(body), body)
	if _, err := n.Write(n.out.Bytes()); err != nil {
		return nil, nil, err
	}
	resp, err := http.ReadResponse(n.in, nil)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	n.out.Reset()
	_, err = io.Copy(&n.out, resp.Body)
	return n.out.Bytes(), resp.Header, err
}

func (c *client) call(worker int) error {
	n := c.conns[worker]
	n.ids++
	b, _, err := c.post(n, message(n.ids*len(c.conns)+worker))
	if err == nil && !bytes.Contains(b, []byte(text)) {
		err = fmt.Errorf("a call came to %.300s", b)
	}
	return err
}

// freePort returns a port without a listener.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// await tries until a server listens.
func await(addr string) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
	}
	return errors.New("nothing listens at " + addr)
}
