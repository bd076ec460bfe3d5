package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// A client asks one question after the other on one connection. It implements HTTP
// directly, which costs almost no time of the processors that it shares with the
// server.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	ask  []byte // the whole request
	body bytes.Buffer
}

func dial(addr string, ask []byte) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), ask: ask}, nil
}

// request writes a POST of JSON.
func request(addr, path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, addr, token, len(body), body)
}

// chat asks once and reads the stream to its end. first is the time to the first
// event.
func (c *client) chat() (first, whole time.Duration, err error) {
	began := time.Now()
	if _, err := c.conn.Write(c.ask); err != nil {
		return 0, 0, err
	}
	if err := c.head(); err != nil {
		return 0, 0, err
	}
	c.body.Reset()
	for {
		n, err := c.chunk()
		if err != nil {
			return 0, 0, err
		}
		if first == 0 {
			first = time.Since(began)
		}
		if n == 0 {
			return first, time.Since(began), c.good()
		}
	}
}

// good holds an answer to what it should say.
func (c *client) good() error {
	b := c.body.Bytes()
	if bytes.Contains(b, []byte("event: chat.end")) && bytes.Contains(b, []byte(`"reason":"answer"`)) || bytes.HasSuffix(b, []byte("data: [DONE]\n\n")) {
		return nil
	}
	return fmt.Errorf("an answer that is none: %.300s", b)
}

func (c *client) head() error {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		rest, _ := io.ReadAll(io.LimitReader(c.in, 2000))
		return fmt.Errorf("%s%s", line, rest)
	}
	for chunked := false; ; {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		chunked = chunked || bytes.HasPrefix(bytes.ToLower(line), []byte("transfer-encoding: chunked"))
		if len(line) <= 2 {
			if !chunked {
				return errors.New("the answer is not a stream")
			}
			return nil
		}
	}
}

// chunk takes one piece of the answer; 0: there is none any more.
func (c *client) chunk() (int, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
	if err != nil {
		return 0, err
	}
	if _, err := io.CopyN(&c.body, c.in, n); err != nil {
		return 0, err
	}
	_, err = c.in.Discard(2)
	return int(n), err
}

func (c *client) close() { _ = c.conn.Close() }

// get reads a small answer of the server's.
func get(url string) ([]byte, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
