//go:build unix

package mcpclient

import (
	"io"
	"net"
	"testing"
	"time"
)

// What a server's program has started ends with it.
func TestProgramsOfAProgram(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := program(t, "on", func(c *Config) { c.Env[orphanAddr] = l.Addr().String() })
	ready(t, s)
	child, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	s.Close()
	if err := child.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := child.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("it goes on: %v", err)
	}
	_, _ = io.WriteString(child, "!") // and ends now, if it did not
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}
