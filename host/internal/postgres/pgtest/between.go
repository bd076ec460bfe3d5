package pgtest

import (
	"io"
	"net"
	"net/url"
	"testing"
)

// Between returns the URL of a database with a proxy in front of it, which ends with the test.
// pass sends a piece of what a connection carries on; answer says that the server sent it.
// An error ends the connection. pass is called from several goroutines.
func Between(t testing.TB, database string, pass func(to io.Writer, piece []byte, answer bool) error) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	server := u.Host
	carry := func(from, to net.Conn, answer bool) {
		defer from.Close()
		defer to.Close()
		for b := make([]byte, 1<<16); ; {
			n, err := from.Read(b)
			if err != nil || pass(to, b[:n], answer) != nil {
				return
			}
		}
	}
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", server)
			if err != nil {
				here.Close()
				continue
			}
			go carry(here, there, false)
			go carry(there, here, true)
		}
	}()
	u.Host = l.Addr().String()
	return u.String()
}
