package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

// manyMaps is structured content that needs many times its size as Go values.
func manyMaps() string {
	return `{"content":[],"structuredContent":{"a":[` + strings.Repeat(`{"a":0},`, 1_000_000) + `0]}}`
}

const oneTool = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`

// An answer with millions of values, in each form in which a server may send it, fails
// its call alone and costs less than ten times its size.
func TestAnswerOfManyValues(t *testing.T) {
	answer := func(method string, _ json.RawMessage) (string, int) {
		switch method {
		case "tools/list":
			return oneTool, 0
		case "tools/call":
			return manyMaps(), 0
		}
		return "", 0
	}
	for name, open := range map[string]func() *Server{
		"program": func() *Server { return program(t, "values", nil) },
		"JSON":    func() *Server { return Open(Config{Name: "many", URL: oddServer(t, answer)}) },
		"events":  func() *Server { return Open(Config{Name: "many", URL: eventServer(t, manyMaps(), "\n")}) },
		"lines":   func() *Server { return Open(Config{Name: "many", URL: eventServer(t, manyMaps(), "\ndata: ")}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open()
			defer s.Close()
			ready(t, s)
			first, _, _ := s.now()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := s.Call(t.Context(), "t", json.RawMessage(`{}`), 24<<20, nil)
			runtime.ReadMemStats(&after)
			if want := name == "lines"; errors.Is(err, ErrManyValues) == want || err == nil {
				t.Errorf("%v", err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 10*uint64(len(manyMaps())) {
				t.Errorf("%d MiB of memory", got>>20)
			}
			if session, _, _ := s.now(); session != first && name != "lines" {
				t.Error("the connection was given up")
			}
		})
	}
}

// deep is structured content with more levels than are read.
func deep() string {
	return `{"content":[],"structuredContent":{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}`
}

// An answer that cannot be read fails its call alone, at once and with the reason: each of
// these took until the deadline, or closed the connection of all calls.
func TestAnswersThatCannotBeRead(t *testing.T) {
	answer := func(method string, _ json.RawMessage) (string, int) {
		return map[string]string{"tools/list": oneTool, "tools/call": deep()}[method], 0
	}
	for name, row := range map[string]struct {
		open func() *Server
		want error
	}{
		"program, deep":    {func() *Server { return program(t, "deep", nil) }, ErrDeep},
		"program, endless": {func() *Server { return program(t, "endless", nil) }, ErrLong},
		"program, invalid": {func() *Server { return program(t, "invalid", nil) }, &UnusableError{"example"}},
		"JSON, deep":       {func() *Server { return Open(Config{Name: "deep", URL: oddServer(t, answer)}) }, ErrDeep},
		"events, deep":     {func() *Server { return Open(Config{Name: "deep", URL: eventServer(t, deep(), "\n")}) }, ErrDeep},
	} {
		t.Run(name, func(t *testing.T) {
			s := row.open()
			defer s.Close()
			ready(t, s)
			first, _, _ := s.now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := s.Call(ctx, "t", json.RawMessage(`{}`), 24<<20, nil); err == nil || err.Error() != row.want.Error() {
				t.Errorf("%v; want %v", err, row.want)
			}
			if session, _, _ := s.now(); session != first {
				t.Error("the connection was given up")
			}
		})
	}
}

// An eventServer answers a call with an event with the result, in which end follows every value.
func eventServer(t *testing.T, result, end string) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		b, _ := io.ReadAll(r.Body) // what is missing is no method
		results := map[string]string{
			"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`,
			"tools/list": oneTool, "tools/call": result,
		}
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case json.Unmarshal(b, &m) != nil || m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			text := results[m.Method]
			if end != "\n" {
				text = strings.ReplaceAll(text, `,{`, ","+end+"{")
			}
			if text = `"result":` + text; results[m.Method] == "" {
				text = `"error":{"code":-32601,"message":"no such method"}`
			}
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n\n", m.ID, text)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}
