//go:build unix

package mcpclient

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
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

// What a server's program has started ends when weir is killed, too.
func TestNothingOutlivesUs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	us := exec.Command(os.Args[0])
	us.Env = append(os.Environ(), asServer+"=owner", orphanAddr+"="+l.Addr().String())
	out, err := us.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := us.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("%q, %v", line, err)
	}
	child, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	if err := us.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = us.Wait() // it was killed
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
