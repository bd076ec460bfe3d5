// Package framing refuses HTTP requests that say their length twice. net/http takes the chunks of a
// request that has Content-Length as well; a proxy in front may take the length, and what one reads as
// the body is another request for the other. Such a request gets 400 and the connection is closed.
//
// net/http removes the header before a handler could see it, so a connection follows the requests
// that it carries: their heads, and how long their bodies are. It changes nothing else. What it
// cannot follow it passes on, as net/http refuses what it cannot read.
package framing

import (
	"bytes"
	"io"
	"net"
	"strconv"
)

// Listener returns l with connections that refuse such requests.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// A conn passes on what it reads. net/http reads from it in one goroutine at a time.
type conn struct {
	net.Conn
	reader  reader
	pending []byte // what is passed on before the end; nil: nothing was refused
}

// CloseWrite ends what is sent, so that a client reads the last answer before the connection
// is closed.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// unreadable takes the place of the empty line that ends a refused head: net/http answers 400 and closes.
const unreadable = "x\r\n\r\n"

func (c *conn) Read(p []byte) (int, error) {
	if c.pending == nil {
		n, err := c.Conn.Read(p)
		at, refused := c.reader.read(p[:n])
		if !refused {
			return n, err
		}
		if c.pending = []byte(unreadable); at > 0 {
			return at, nil
		}
	}
	n := copy(p, c.pending)
	if c.pending = c.pending[n:]; n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A part is what of a request comes next.
type part int

const (
	first   part = iota // its first line
	header              // a line of its head
	body                // left bytes of its body
	size                // the line with the length of a chunk
	chunk               // left bytes of a chunk
	between             // the end of the line behind it
	trailer             // a line behind the last chunk
	unknown             // nobody knows any more
)

// maxLine is how much of a line is kept, in bytes: the names and values that matter are shorter.
const maxLine = 256

// A reader follows the requests of a connection.
type reader struct {
	part    part
	line    []byte
	left    int64
	length  int64 // -1: not known
	sized   bool  // the head has Content-Length
	chunked bool  // the head has Transfer-Encoding
	leaves  bool  // something else than HTTP follows
}

// read follows p. If a head that it ends is to be refused, it returns the place of the last byte of
// that head.
func (r *reader) read(p []byte) (at int, refused bool) {
	for i := 0; i < len(p); {
		switch r.part {
		case unknown:
			return 0, false
		case body, chunk:
			n := min(r.left, int64(len(p)-i))
			r.left -= n
			if i += int(n); r.left > 0 {
				continue
			}
			if r.part == chunk {
				r.part = between
			} else {
				r.part = first
			}
		default:
			end := bytes.IndexByte(p[i:], '\n')
			if end < 0 {
				r.keep(p[i:])
				return 0, false
			}
			r.keep(p[i : i+end])
			i += end + 1
			line := bytes.TrimSuffix(r.line, []byte("\r"))
			if r.take(line) {
				return i - 1, true
			}
			r.line = r.line[:0]
		}
	}
	return 0, false
}

func (r *reader) keep(b []byte) {
	r.line = append(r.line, b[:min(len(b), maxLine-len(r.line))]...)
}

// take takes a line without its end, and reports whether the request that it ends is to be refused.
func (r *reader) take(line []byte) (refused bool) {
	switch r.part {
	case first:
		r.sized, r.chunked, r.leaves, r.length = false, false, false, 0
		r.part = header
		if !bytes.Contains(line, []byte(" HTTP/1.")) && len(line) < maxLine { // not HTTP/1, or not HTTP
			r.part = unknown
		}
	case header:
		if len(line) > 0 {
			r.header(line)
			return false
		}
		refused = r.sized && r.chunked
		r.begin()
	case size:
		digits, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(digits)), 16, 64)
		switch {
		case err != nil || n < 0:
			r.part = unknown
		case n == 0:
			r.part = trailer
		default:
			r.left, r.part = n, chunk
		}
	case between:
		r.part = size
		if len(line) > 0 {
			r.part = unknown
		}
	case trailer:
		if len(line) == 0 {
			r.part = first
		}
	}
	return refused
}

func (r *reader) header(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch name, value = bytes.ToLower(bytes.TrimSpace(name)), bytes.TrimSpace(value); string(name) {
	case "content-length":
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || r.sized && n != r.length {
			n = -1
		}
		r.length, r.sized = n, true
	case "transfer-encoding":
		r.chunked = true
	case "upgrade":
		r.leaves = true
	}
}

// begin goes on to what follows a head.
func (r *reader) begin() {
	switch {
	case r.leaves || r.length < 0:
		r.part = unknown
	case r.chunked:
		r.part = size
	case r.length > 0:
		r.left, r.part = r.length, body
	default:
		r.part = first
	}
}
