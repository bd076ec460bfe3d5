package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A client that does not read delays neither the stream nor the close of the server.
func TestCloseDoesNotWaitForReaders(t *testing.T) {
	b := newBench(t, nil)
	in, toServer := io.Pipe()
	defer toServer.Close()
	from, out := io.Pipe()
	defer from.Close()
	ended, closed := make(chan error, 1), make(chan error, 1)
	go func() { ended <- b.server.ServeStream(t.Context(), "me", in, out) }()
	if _, err := io.WriteString(toServer, hello); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Read(make([]byte, 1)); err != nil { // so that an answer is being written
		t.Fatal(err)
	}
	go func() { b.server.Close(); closed <- nil }()
	for what, done := range map[string]<-chan error{"the stream": ended, "the server": closed} {
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(endsIn):
			t.Fatalf("%s waits for a client that does not read", what)
		}
	}
}

// What is no message of the protocol is answered, and the session goes on.
func TestNoMessage(t *testing.T) {
	for version, lines := range map[string]map[string]string{
		"2025-06-18": {
			`{}`: "-32600", `7`: "-32600", `"text"`: "-32600", `null`: "-32600", `[]`: "-32600",
			`{"jsonrpc":"1.0","id":7,"method":"ping"}`:    "-32600",
			`{"jsonrpc":"2.0","id":true,"method":"ping"}`: "-32600",
			`{"jsonrpc":"2.0","id":7,"method":7}`:         "-32600",
			`{"jsonrpc":"2.0","result":{}}`:               "-32600",
			`{"jsonrpc":"2.0","id":7,"error":"text"}`:     "-32600",
			`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`:  "-32600",
			`{"jsonrpc":"2.0","id":7,"method":"ping","params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`: "-32600",
			`{"jsonrpc":"2.0","id":7,"method":"none"}`: "-32601",
		},
		"2025-03-26": {
			`[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`: `"id":7,"result"`,
			`[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":7,"method":"ping"}]`:               `"id":7,"result"`,
			strings.Repeat(`[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`+"\n", 2):           `"id":"last","result"`,
			`[{"jsonrpc":"2.0","id":7,"method":"ping"},7]`:                                                      "-32600",
			`[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"ping"}]`:               `"id":8,"result"`,
		},
	} {
		b := newBench(t, nil)
		for line, want := range lines {
			in, toServer := io.Pipe()
			from, out := io.Pipe()
			go func() {
				if err := b.server.ServeStream(t.Context(), "me", in, out); err != nil {
					t.Error(err)
				}
				_ = out.Close()
			}()
			answers := bufio.NewReader(from)
			_, _ = io.WriteString(toServer, strings.Replace(hello, "2025-06-18", version, 1))
			if first, err := answers.ReadString('\n'); err != nil || !strings.Contains(first, `"id":1,"result"`) {
				t.Fatal(first, err)
			}
			go func() {
				_, _ = io.WriteString(toServer, line+"\n"+`{"jsonrpc":"2.0","id":"last","method":"tools/list"}`)
				_ = toServer.Close()
			}()
			got, err := io.ReadAll(answers)
			if err != nil || !strings.Contains(string(got), want) || !strings.Contains(string(got), `"id":"last","result"`) {
				t.Errorf("%s: behind %.80s comes\n%.300s, %v", version, line, got, err)
			}
		}
	}
}

// At the end of its input a stream waits for the answers that come, and for no others.
func TestStreamWaitsForAnswers(t *testing.T) {
	b := newBench(t, nil)
	b.server.lastAnswers = 24 * time.Hour // what waits for an answer that does not come hangs
	const call = `{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"wait","arguments":{"millis":100}}}`
	for _, lines := range []string{
		`{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n" + call,
		`{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen"}` + "\n" + call, // refused at once in this revision
		"[" + call + "]",
	} {
		var out bytes.Buffer
		if err := b.server.ServeStream(t.Context(), "me", strings.NewReader(strings.Replace(hello, "2025-06-18", "2025-03-26", 1)+lines), &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"waited"`) {
			t.Errorf("%s is answered with\n%s", lines, out.String())
		}
	}
}
