package mcpclient

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/internal/testtime"
)

// An oddServer answers over HTTP with the result of answer as JSON, or with only a
// status if the result is empty.
func oddServer(t *testing.T, answer func(method string, params json.RawMessage) (result string, status int)) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		b, _ := io.ReadAll(r.Body) // what is missing is no method
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case json.Unmarshal(b, &m) != nil || m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result, status := answer(m.Method, m.Params)
		if m.Method == "initialize" && result == "" && status == 0 {
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
		}
		switch {
		case status != 0:
			w.WriteHeader(status)
		case result == "":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// One call that comes to nothing is no reason to end the others.
func TestOneCallFailsAlone(t *testing.T) {
	for _, row := range []struct {
		name, result string
		status       int
		want         string
	}{
		{"too many requests", "", http.StatusTooManyRequests, "refuses more requests for now (status 429)"},
		{"not now", "", http.StatusServiceUnavailable, "the server has failed (status 503)"},
		{"an image that is no base64", `{"content":[{"type":"image","mimeType":"image/png","data":"***"}]}`, 0, "base64"},
		{"content of no known type", `{"content":[{"type":"hologram"}]}`, 0, "hologram"},
		{"content that is no list", `{"content":7}`, 0, "cannot unmarshal"},
		{"null", `null`, 0, ""},
		{"content of null", `{"content":[null]}`, 0, "content"},
	} {
		t.Run(row.name, func(t *testing.T) {
			began, end := make(chan struct{}), make(chan struct{})
			url := oddServer(t, func(method string, params json.RawMessage) (string, int) {
				switch {
				case method == "tools/list":
					return `{"tools":[{"name":"slow","inputSchema":{"type":"object"}},{"name":"odd","inputSchema":{"type":"object"}}]}`, 0
				case method != "tools/call":
					return "", 0
				case strings.Contains(string(params), `"slow"`):
					close(began)
					<-end
					return `{"content":[{"type":"text","text":"in the end"}]}`, 0
				}
				return row.result, row.status
			})
			var said strings.Builder // only the call below logs at level Warn
			s := Open(Config{Name: "odd", URL: url, Logger: hclog.New(&hclog.LoggerOptions{Output: &said, Level: hclog.Warn})})
			defer s.Close()
			ready(t, s)
			first, _, _ := s.now()
			slow := make(chan error, 1)
			go func() {
				b, err := s.Call(t.Context(), "slow", json.RawMessage(`{}`), 1000, nil)
				if err == nil && !strings.Contains(string(b), "in the end") {
					err = errors.New(string(b))
				}
				slow <- err
			}()
			<-began
			_, err := s.Call(t.Context(), "odd", json.RawMessage(`{}`), 1000, nil)
			var unusable *UnusableError
			switch {
			case errors.As(err, &unusable):
				if !strings.Contains(said.String(), row.want) || row.want == "" || err.Error() != "the answer of the MCP server odd cannot be used" {
					t.Errorf("%v, and in the log %q", err, said.String())
				}
			case row.want != "" && (row.status == 0 || err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("%v", err)
			}
			close(end)
			if err := <-slow; err != nil {
				t.Errorf("the other call: %v", err)
			}
			if session, _, _ := s.now(); session != first {
				t.Error("the connection was given up")
			}
		})
	}
}

// The address of a server may hold a key.
func TestAddressIsNotTold(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, url := range []string{
		gone.URL + "/sesame/mcp?key=sesame",
		strings.Replace(gone.URL, "http://", "http://ann:sesame@", 1),
		"ftp://ann:sesame@127.0.0.1/?key=sesame",
		"http://127.0.0.1:port/?key=sesame",
		oddServer(t, func(string, json.RawMessage) (string, int) { return "", http.StatusUnauthorized }) + "/?key=sesame",
	} {
		s := Open(Config{Name: "keyed", URL: url})
		s.Wait(t.Context())
		if st := s.Status(); st.State != Down || st.Why.IsZero() || strings.Contains(st.Why.String(), "sesame") {
			t.Errorf("%+v", st)
		}
		s.Close()
	}
}

func TestNotesAreBounded(t *testing.T) {
	url := oddServer(t, func(method string, _ json.RawMessage) (string, int) {
		if method != "tools/list" {
			return "", 0
		}
		one := `{"name":"same","inputSchema":{"type":"object"}},`
		return `{"tools":[` + strings.TrimSuffix(strings.Repeat(one, 5000), ",") + `]}`, 0
	})
	s := Open(Config{Name: "many", URL: url})
	defer s.Close()
	ready(t, s)
	if st := s.Status(); len(st.Tools) != 1 || len(st.Notes) > 50 {
		t.Errorf("%d tools, %d notes", len(st.Tools), len(st.Notes))
	}
}

type seen struct{ r *http.Request }

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.r = r
	return nil, errors.New("seen")
}

// What went out encrypted does not go out in the clear.
func TestHeadersStayEncrypted(t *testing.T) {
	for url, want := range map[string]string{
		"https://example.com/x":     "sesame",
		"https://example.com:443/x": "",
		"http://example.com/x":      "",
		"https://example.org/x":     "",
	} {
		base := &seen{}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = headers{base: base, scheme: "https", host: "example.com", set: map[string]string{"X-Key": "sesame"}}.RoundTrip(r)
		if got := base.r.Header.Get("X-Key"); got != want {
			t.Errorf("%s: %q", url, got)
		}
	}
}

// What is written for a server goes before what it would inherit.
func TestItsOwnEnvironment(t *testing.T) {
	t.Setenv("LANG", "zh_CN.UTF-8")
	t.Setenv("TZ", "Asia/Shanghai")
	s := program(t, "on", func(c *Config) { c.Env["LANG"], c.Env["TZ"] = "C", "UTC" })
	ready(t, s)
	if env := call(t, s, "env", `{}`); strings.Contains(env, "zh_CN") || strings.Contains(env, "Shanghai") || !strings.Contains(env, "TZ=UTC") {
		t.Errorf("%s", env)
	}
}

// Lines that are no messages are passed over, before the first answer and later, and
// told in the log.
func TestProgramBabbles(t *testing.T) {
	var said atomic.Int64
	out := writer(func(p []byte) {
		for _, line := range []string{"Listening on stdio", "{no JSON}", "[1]", "done!"} {
			if strings.Contains(string(p), line) {
				said.Add(1)
			}
		}
	})
	s := program(t, "banner", func(c *Config) {
		c.Logger = hclog.New(&hclog.LoggerOptions{Output: out, Level: hclog.Debug})
	})
	ready(t, s)
	call(t, s, "babble", `{}`)
	if got := call(t, s, "echo", `{"text":"still there"}`); !strings.Contains(got, "still there") {
		t.Errorf("%s", got)
	}
	if n := said.Load(); n != 4 {
		t.Errorf("%d of its lines are in the log", n)
	}
}

// A server that always says that its tools have changed is not listed as fast as
// it says so.
func TestListChangesForEver(t *testing.T) {
	began := time.Now()
	s := program(t, "fickle", nil)
	ready(t, s)
	testtime.Until(t, "the third list", func() bool { return len(s.Status().Tools[0].Description) >= 3 })
	// A lower bound: a slow machine takes longer.
	if took := time.Since(began); took < relistPause {
		t.Errorf("three lists within %s", took)
	}
}

// Changed is not called for a list without changes.
func TestListThatIsTheSame(t *testing.T) {
	var changes, lists atomic.Int64
	out := writer(func(p []byte) {
		if strings.Contains(string(p), "line=\"list ") {
			lists.Add(1)
		}
	})
	s := program(t, "same", func(c *Config) {
		c.Changed = func() { changes.Add(1) }
		c.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: out})
	})
	testtime.Until(t, "the third list", func() bool { return lists.Load() >= 3 })
	if n := changes.Load(); s.Status().State != Ready || n != 1 {
		t.Errorf("%d changes were told", n)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

type pauses struct{ asked, resets atomic.Int64 }

func (p *pauses) NextBackOff() time.Duration { p.asked.Add(1); return 0 }
func (p *pauses) Reset()                     { p.resets.Add(1) }

// A program that ends as soon as it has listed its tools is started again at a
// pace that slows down.
func TestProgramThatAlwaysEnds(t *testing.T) {
	var p pauses
	program(t, "fleeting", func(c *Config) { c.pause = &p })
	testtime.Until(t, "the fourth start", func() bool { return p.asked.Load() >= 3 })
	if n := p.resets.Load(); n != 0 {
		t.Errorf("the pause began anew %d times", n)
	}
}

// An answer without an end is not read into memory.
func TestAnswerWithoutEnd(t *testing.T) {
	var sent atomic.Int64
	odd := oddServer(t, func(method string, _ json.RawMessage) (string, int) {
		if method != "tools/list" {
			return "", 0
		}
		return `{"tools":[]}`, 0
	})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // what is missing is no call
		if !strings.Contains(string(b), "tools/call") {
			again, err := http.NewRequestWithContext(r.Context(), r.Method, odd, strings.NewReader(string(b)))
			if err != nil {
				return
			}
			resp, err := http.DefaultClient.Do(again)
			if err != nil {
				return
			}
			defer resp.Body.Close()
			w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
			w.WriteHeader(resp.StatusCode)
			_, _ = io.Copy(w, resp.Body) // the client has gone
			return
		}
		w.Header().Set("Content-Type", "application/json")
		part := []byte(strings.Repeat(" ", 1<<20))
		for sent.Load() < 4*MaxBytes {
			n, err := w.Write(part)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	defer http.DefaultClient.CloseIdleConnections()
	defer web.Close()
	s := Open(Config{Name: "odd", URL: web.URL})
	defer s.Close()
	ready(t, s)
	if b, err := s.Call(t.Context(), "t", json.RawMessage(`{}`), 1000, nil); err == nil {
		t.Errorf("%s", b)
	}
	if n := sent.Load(); n >= 4*MaxBytes {
		t.Errorf("%d bytes were read", n)
	}
}

func TestIsMessage(t *testing.T) {
	for line, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                                true,
		`  {"jsonrpc":"2.0","method":"notifications/x"}  ` + "\r\n":                           true,
		`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"notifications/x"}]`: true,
		`[{"jsonrpc":"2.0","id":1,"result":{}},7]`:                                            false,
		`[[{"jsonrpc":"2.0","id":1,"result":{}}]]`:                                            false,
		`[]`:                     false,
		`[INFO] started`:         false,
		`{}`:                     false,
		`{"level":"info"}`:       false,
		`{"jsonrpc":"2.0","id":`: false,
		"":                       false,
		"\n":                     false,
		"null":                   false,
		"\x00\xff":               false,
	} {
		text := []byte(line)
		if got := isMessage(text); got != want || string(text) != line {
			t.Errorf("%q: %v, and then it is %q", line, got, text)
		}
	}
}

// A message that is too long is logged and skipped, and the next one is read.
func TestMessageReader(t *testing.T) {
	var said strings.Builder
	log := hclog.New(&hclog.LoggerOptions{Output: &said, Level: hclog.Warn})
	next := `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	long := io.MultiReader(strings.NewReader(strings.Repeat("x", MaxBytes)), strings.NewReader("x\n"+next))
	got, err := io.ReadAll(&messageReader{r: bufio.NewReader(long), log: &outputLog{server: &Server{cfg: Config{Name: "example"}, log: log}}})
	if err != nil || string(got) != next || !strings.Contains(said.String(), "too long") || !strings.Contains(said.String(), "example") {
		t.Errorf("%.100q, %v, and %.300q in the log", got, err, said.String())
	}
}

// Lists and structured answers keep the order of their members, whatever else a server says
// of itself beside them.
func TestOrderIsKept(t *testing.T) {
	url := oddServer(t, func(method string, _ json.RawMessage) (string, int) {
		switch method {
		case "tools/list":
			return `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"odd","version":"1"}},"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"z":{},"b":{}}},"execution":{"taskSupport":"optional"}}]}`, 0
		case "tools/call":
			return `{"_meta":{"k":1},"structuredContent":{"z":1.50,"b":{"y":1,"c":2}},"content":[]}`, 0
		}
		return "", 0
	})
	s := Open(Config{Name: "odd", URL: url})
	defer s.Close()
	ready(t, s)
	one := s.Status().Tools[0]
	if string(one.Schema) != `{"type":"object","properties":{"z":{},"b":{}}}` || string(one.Execution) != `{"taskSupport":"optional"}` || one.Meta != nil {
		t.Errorf("%s, %s, %s", one.Schema, one.Execution, one.Meta)
	}
	if got := call(t, s, "a", `{}`); !strings.Contains(got, `"structuredContent":{"z":1.50,"b":{"y":1,"c":2}}`) || !strings.Contains(got, `"_meta":{"k":1}`) {
		t.Error(got)
	}
}
