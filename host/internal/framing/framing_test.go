package framing_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/framing"
)

// serve returns the address of a server that answers with the path and the length of the body.
func serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d", r.URL.Path, len(b))
	})}
	go func() { _ = srv.Serve(framing.Listener(l)) }()
	t.Cleanup(func() { srv.Close() })
	return l.Addr().String()
}

// answers sends texts, each by itself, and returns what is answered until the server closes.
func answers(t *testing.T, addr string, texts ...string) (out []string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	for _, text := range texts {
		if _, err := io.WriteString(c, text); err != nil {
			break // it has closed already
		}
	}
	for r := bufio.NewReader(c); ; {
		resp, err := http.ReadResponse(r, nil)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the connection stays open: %q, after %.200q", out, texts)
		}
		if err != nil {
			return out
		}
		b, _ := io.ReadAll(resp.Body)
		out = append(out, strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", string(b))))
	}
}

const last = "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

// A request with both lengths gets 400, and nothing behind it is answered: in either order and
// spelling, in pieces, behind others.
func TestALengthSaidTwiceIsRefused(t *testing.T) {
	addr := serve(t)
	const hidden = "0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
	chunks := "Transfer-Encoding: chunked\r\n"
	for name, head := range map[string]string{
		"length first": "Content-Length: 5\r\n" + chunks, "chunks first": chunks + "Content-Length: 5\r\n", "lower case": "content-length: 5\r\ntransfer-encoding: chunked\r\n",
		"blanks": "Content-Length:5\r\nAccept: */*\r\nTRANSFER-ENCODING:   chunked  \r\n", "no length": "Content-Length: x\r\n" + chunks, "twice": "Content-Length: 5\r\nContent-Length: 5\r\n" + chunks,
		"bare lines": "Content-Length: 5\n" + chunks, "a long header": "X: " + strings.Repeat("y", 9000) + "\r\nContent-Length: 5\r\n" + chunks, "zero": "Content-Length: 0\r\n" + chunks,
	} {
		text := "POST /one HTTP/1.1\r\nHost: x\r\n" + head + "\r\n" + hidden
		for way, texts := range map[string][]string{
			"at once": {text}, "by bytes": strings.Split(text, ""), "behind another": {"GET /first HTTP/1.1\r\nHost: x\r\n\r\n" + text},
			"behind a body": {"POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", text}, "behind chunks": {"POST /first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n" + text},
		} {
			got := answers(t, addr, texts...)
			if n := len(got); n == 0 || !strings.HasPrefix(got[n-1], "400 ") || strings.Contains(strings.Join(got, "\n"), "/one") || strings.Contains(strings.Join(got, "\n"), "/hidden") || strings.Contains(way, "behind") != (n == 2) {
				t.Errorf("%s, %s: %q", name, way, got)
			}
		}
	}
}

// All other requests are answered, one after the other on one connection, whatever is in their
// bodies.
func TestOtherRequestsPass(t *testing.T) {
	addr := serve(t)
	both := "POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	text := fmt.Sprintf("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(both), both) +
		fmt.Sprintf("POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x;ext=1\r\n%s\r\n3\r\nabc\r\n0\r\nContent-Length: 5\r\n\r\n", len(both), both) +
		"GET /c HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" + fmt.Sprintf("POST /d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", 300_000, strings.Repeat("z\n", 150_000)) + last
	want := fmt.Sprintf("200 /a %d;200 /b %d;200 /c 0;200 /d 300000;200 /last 0", len(both), len(both)+3)
	for _, texts := range [][]string{{text}, strings.SplitAfter(text, "\r"), strings.SplitAfter(text, "\n")[:40]} {
		if len(texts) == 40 {
			texts = append(texts, strings.TrimPrefix(text, strings.Join(texts, "")))
		}
		if got := strings.Join(answers(t, addr, texts...), ";"); got != want {
			t.Errorf("%s", got)
		}
	}
	if got := answers(t, addr, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); len(got) > 1 {
		t.Errorf("%q", got)
	}
}
