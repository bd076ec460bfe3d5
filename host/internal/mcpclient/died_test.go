package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/internal/testtime"
)

// shell makes a server of a shell script.
func shell(script string) func(*Config) {
	return func(c *Config) { c.Command, c.Args, c.Env = "/bin/sh", []string{"-c", script}, nil }
}

// A locked is a buffer for a log.
type locked struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}
func (l *locked) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.Buffer.String() }

// answers is a server in the shell that answers the handshake and lists one tool, with "call" in
// place of what it does at a call.
const answers = `while read -r line; do
id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
case $line in
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}';;
*'"server/discover"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no such method"}}';;
*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}';;
*'"tools/call"'*) CALL;;
esac
done`

func answering(call string) string { return strings.Replace(answers, "CALL", call, 1) }

// A server that cannot be started, or that ends, says why; the words of the SDK are none of it.
func TestWhyItIsDown(t *testing.T) {
	script := filepath.Join(t.TempDir(), "no-interpreter")
	if err := os.WriteFile(script, []byte("#!/nothing/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, want string
		change     func(*Config)
	}{
		{"a reason", "the program ended with code 3; its last lines: FATAL: config not found", shell(`echo "FATAL: config not found" >&2; exit 3`)},
		{"on standard output", "the program ended with code 1; its last lines: usage: x KEY", shell(`echo "usage: x KEY"; exit 1`)},
		{"without an end of the line", "code 1; its last lines: one | two", shell(`echo one >&2; printf two >&2; exit 1`)},
		{"no reason", "the program ended with code 0", shell("exit 0")},
		{"a signal", "the program was ended by the signal \"killed\"", shell("kill -9 $$")},
		{"the last of many lines", "code 1; its last lines: 96 | 97 | 98 | 99 | 100", shell(`i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo $i >&2; done; exit 1`)},
		{"a stack trace", "its last lines: Error: no key | Node.js v20", shell(`printf 'Error: no key\n    at Object.<anonymous> (/x.js:1:7)\n    at a\n    at b\n    at c\n    at d\n\nNode.js v20\n' >&2; exit 1`)},
		{"frames alone are left out", "its last lines: at least one folder is needed | Error: no", shell(`printf 'at least one folder is needed\nError: no\n    at new Client (file:///x.mjs:2:9)\n    at async main (/x.js:1:7)\n    at file:///x.mjs:3:1\n    at java.lang.Thread.run(Thread.java:829)\n' >&2; exit 1`)},
		{"what npm adds", "its last lines: Error: no such folder", shell(`printf 'Error: no such folder\nnpm notice\nnpm notice New minor version of npm available! 11.19.1 -> 11.21.2\nnpm notice Changelog: https://x/y\nnpm notice To update run: npm install -g npm@11.21.2\nnpm notice\n' >&2; exit 1`)},
		{"a secret in an argument", "its last lines: unknown option ${TOKEN}", func(c *Config) {
			shell(`echo "unknown option sesame-2" >&2; exit 1`)(c)
			c.Variables = map[string]string{"TOKEN": "sesame-2"}
		}},
		{"control characters", "its last lines: red x", shell(`printf '\033[31mred\033[0m x\007\n' >&2; exit 1`)},
		{"after a while of other lines", "code 4; its last lines: the end", func(c *Config) { shell(`read -r line; echo "the end" >&2; exit 4`)(c) }},
		{"secrets", "its last lines: refused: ${API_KEY}, ${DB}", func(c *Config) {
			shell(`echo "refused: $API_KEY, word-pass" >&2; exit 1`)(c)
			c.Env = map[string]string{"API_KEY": "sesame-1", "DB": "postgres://ann:word-pass@db/x", "LEVEL": "use"}
		}},
		{"no folder", `the folder "/nothing/here" does not exist`, func(c *Config) { c.Dir = "/nothing/here" }},
		{"no interpreter", "the interpreter that the first line of the program", func(c *Config) { c.Command = script }},
		{"no such command", `the program "weir-has-no-such" was not found`, func(c *Config) { c.Command = "weir-has-no-such" }},
		{"an error for an answer", "it answers with an error: fetch failed for ${API_KEY}", func(c *Config) {
			shell(strings.Replace(answers, `"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`, `"error":{"code":-32603,"message":"fetch failed for sesame-1"}`, 1))(c)
			c.Env = map[string]string{"API_KEY": "sesame-1"}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var said locked
			s := program(t, "on", func(c *Config) {
				row.change(c)
				c.Logger = hclog.New(&hclog.LoggerOptions{Output: &said, Level: hclog.Warn})
			})
			s.Wait(t.Context())
			why := s.Status().Why.String()
			if !strings.HasSuffix(why, row.want) && !strings.HasPrefix(why, row.want) {
				t.Errorf("%q, want %q", why, row.want)
			}
			_, err := s.Call(t.Context(), "t", json.RawMessage(`{}`), 1000, nil)
			var down *DownError
			if !errors.As(err, &down) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("the call: %v", err)
			}
			testtime.Until(t, "the warning", func() bool { return strings.Contains(said.String(), "another server's tools cannot be used") })
			for _, raw := range []string{"EOF", "calling", "|1", "client is closing", "sesame"} {
				if all := why + err.Error() + said.String(); strings.Contains(all, raw) {
					t.Errorf("%q in %s", raw, all)
				}
			}
		})
	}
}

// A server that lacks a variable is not started, and a call of it does not wait.
func TestUnsetVariables(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	for _, row := range []struct {
		unset []string
		why   string
	}{{[]string{"KEY"}, "the variable KEY is not set"}, {[]string{"A", "B"}, "the variables A, B are not set"}} {
		s := program(t, "on", func(c *Config) { shell(": >" + started)(c); c.Unset = row.unset })
		s.Wait(t.Context())
		_, err := s.Call(t.Context(), "t", nil, 1000, nil)
		if st := s.Status(); st.State != Down || st.Why.String() != row.why || !strings.Contains(st.Fix.String(), ".env") || err == nil || !strings.HasSuffix(err.Error(), row.why) {
			t.Errorf("%+v, %v", st, err)
		}
		s.Close()
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("it was started")
	}
}

// A program that ends during a call gives the reason to this call and to the next.
func TestWhyACallEnded(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "started")
	s := program(t, "on", shell(`[ -e "`+starts+`" ] && { echo "no second time" >&2; exit 5; }; : >"`+starts+`"; `+answering(`echo "out of memory" >&2; exit 9`)))
	ready(t, s)
	for _, want := range []string{"the program ended with code 9; its last lines: out of memory", "the program ended with code 5; its last lines: no second time"} {
		_, err := s.Call(t.Context(), "t", json.RawMessage(`{}`), 1000, nil)
		if err == nil || err.Error() != "the MCP server example is down: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What an address answers that is no MCP server's has one sentence, and what to do.
func TestWhyAnAddressIsDown(t *testing.T) {
	status := func(code int, header ...string) string {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if len(header) > 0 {
				w.Header().Set(header[0], header[1])
			}
			w.WriteHeader(code)
		}))
		t.Cleanup(web.Close)
		return web.URL
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes that fail
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := status(http.StatusNotFound)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	for _, row := range []struct{ url, why, fix string }{
		{plain + "/sse", "no MCP server answers at this path (status 404)", "mcp-remote"},
		{status(http.StatusMethodNotAllowed), "no MCP server answers at this path (status 405)", "/mcp"},
		{status(http.StatusUnauthorized, "WWW-Authenticate", "Bearer"), "the server wants an authorization (status 401)", "headers"},
		{status(http.StatusForbidden), "the server wants an authorization (status 403)", "headers"},
		{status(http.StatusBadGateway), "the server has failed (status 502)", "log"},
		{status(http.StatusTeapot), "the server refuses the request (status 418)", "url"},
		{"http://" + free.Addr().String(), "nothing answers at " + free.Addr().String(), "start the server"},
		{secure.URL, "the certificate of " + strings.TrimPrefix(secure.URL, "https://") + " is not accepted", "authority"},
		{strings.Replace(plain, "http://", "https://", 1), strings.TrimPrefix(plain, "http://") + " does not speak TLS", "http://"},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := Open(Config{Name: "web", URL: row.url})
			defer s.Close()
			s.Wait(t.Context())
			st := s.Status()
			if st.State != Down || st.Why.String() != row.why || !strings.Contains(st.Fix.String(), row.fix) {
				t.Errorf("%s, %q, %q", st.State, st.Why, st.Fix)
			}
		})
	}
}

// A host without an address is named, and nothing else of the url.
func TestWhyAHostIsUnknown(t *testing.T) {
	err := &url.Error{Op: "Post", URL: "http://ann:sesame@weir.invalid/?key=sesame", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "weir.invalid"}}}
	if why := webReason(err); why == nil || why.Text.String() != `no address was found for the host "weir.invalid"` {
		t.Errorf("%v", why)
	}
}
