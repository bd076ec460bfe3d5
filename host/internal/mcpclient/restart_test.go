package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// An error that stays the same for different calls restarts a program once, and again only
// after a pause that grows; one bad call, or errors about a call, do not.
func TestStreak(t *testing.T) {
	lost := jsonrpc.Error{Code: -32000, Message: "no session"}
	internal := jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "no session"}
	bad := jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such argument"}
	type event struct {
		err  *jsonrpc.Error // nil: a success
		call string
		at   time.Duration
	}
	for name, row := range map[string]struct {
		events []event
		want   string // one letter for each event
	}{
		"three":                    {[]event{{&lost, "a", 0}, {&lost, "b", 0}, {&lost, "a", 0}}, "..R"},
		"an error of the program":  {[]event{{&internal, "a", 0}, {&internal, "b", 0}, {&internal, "c", 0}}, "..R"},
		"one call":                 {[]event{{&lost, "a", 0}, {&lost, "a", 0}, {&lost, "a", 0}, {&lost, "a", 0}, {&lost, "b", 0}}, "....R"},
		"bad arguments":            {[]event{{&bad, "a", 0}, {&bad, "b", 0}, {&bad, "c", 0}, {&bad, "d", 0}}, "...."},
		"a success between":        {[]event{{&lost, "a", 0}, {&lost, "b", 0}, {nil, "", 0}, {&lost, "c", 0}, {&lost, "d", 0}}, "....."},
		"another error between":    {[]event{{&lost, "a", 0}, {&lost, "b", 0}, {&internal, "c", 0}, {&lost, "d", 0}}, "...."},
		"bad arguments between":    {[]event{{&lost, "a", 0}, {&bad, "b", 0}, {&lost, "c", 0}, {&lost, "d", 0}}, "...R"},
		"again, not before a rest": {[]event{{&lost, "a", 0}, {&lost, "b", 0}, {&lost, "c", 0}, {&lost, "a", 30 * time.Second}, {&lost, "b", 30 * time.Second}, {&lost, "c", 30 * time.Second}, {&lost, "d", time.Minute}, {&lost, "a", 2 * time.Minute}, {&lost, "b", 2 * time.Minute}, {&lost, "c", 2*time.Minute + 59*time.Second}, {&lost, "d", 3 * time.Minute}}, "..R...R...R"},
		"a success ends the rest":  {[]event{{&lost, "a", 0}, {&lost, "b", 0}, {&lost, "c", 0}, {nil, "", 0}, {&lost, "a", 0}, {&lost, "b", 0}, {&lost, "c", 0}}, "..R...R"},
	} {
		var k streak
		got, began := "", time.Now()
		for _, e := range row.events {
			switch {
			case e.err == nil:
				k.answered()
				got += "."
			case k.failed(e.err, e.call, began.Add(e.at)):
				got += "R"
			default:
				got += "."
			}
		}
		if got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

// A program whose backend is gone is restarted, and the log says so.
func TestProgramWithoutItsBackend(t *testing.T) {
	began := t.TempDir() + "/began"
	broken := answering(`echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32000,"message":"No valid session ID provided"}}'`)
	works := answering(`echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"back"}]}}'`)
	var log locked
	s := program(t, "on", func(c *Config) {
		shell(`if [ -e "` + began + `" ]; then ` + works + `; else : >"` + began + `"; ` + broken + `; fi`)(c)
		c.Logger = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Warn})
	})
	ready(t, s)
	for _, args := range []string{`{}`, `{"a":1}`, `{}`} {
		if got := call(t, s, "t", args); !strings.Contains(got, `"text":"No valid session ID provided"`) || !strings.Contains(got, `"isError":true`) {
			t.Error(got)
		}
	}
	testtime.Until(t, "the restart", func() bool { return strings.Contains(log.String(), "is restarted: No valid session ID provided") })
	if got := call(t, s, "t", `{}`); !strings.Contains(got, "back") {
		t.Errorf("%s", got)
	}
}

// A restart by hand ends running calls with a sentence, and the next call is answered.
func TestRestart(t *testing.T) {
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return exampleServer() }, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}))
	defer web.Close()
	for name, change := range map[string]func(*Config){"program": nil, "http": func(c *Config) { c.Command, c.URL = "", web.URL }} {
		t.Run(name, func(t *testing.T) {
			s := program(t, "on", change)
			defer s.Close()
			ready(t, s)
			first, _, _ := s.now()
			running, waits := make(chan error, 1), make(chan struct{})
			go func() {
				_, err := s.Call(t.Context(), "wait", json.RawMessage(`{}`), 1000, func(int, int, string) { close(waits) })
				running <- err
			}()
			<-waits
			if err := s.Restart(t.Context()); err != nil {
				t.Errorf("%v", err)
			}
			if err := <-running; err == nil || err.Error() != "the MCP server example is down: it is restarted by hand" {
				t.Errorf("%v", err)
			}
			if second, _, _ := s.now(); second == first || second == nil {
				t.Error("it was not restarted")
			}
			if got := call(t, s, "echo", `{"text":"again"}`); !strings.Contains(got, "again") {
				t.Errorf("%s", got)
			}
		})
	}
	// One that is down is tried at once, and says why it stays so.
	s := program(t, "on", shell("echo no key >&2; exit 2"))
	s.Wait(t.Context())
	var down *DownError
	if err := s.Restart(t.Context()); !errors.As(err, &down) || !strings.HasSuffix(err.Error(), "no key") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Restart(ctx); err == nil {
		t.Error("nothing ends it")
	}
}

// A restart that is asked for while a connection ends does not end the calls of the next one.
func TestRestartWhileTheConnectionEnds(t *testing.T) {
	s := program(t, "on", shell(answering(`echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[]}}'`)))
	ready(t, s)
	session, _, _ := s.now()
	s.mu.Lock()
	s.ending = tool.Textf("it is restarted by hand") // what again does after maintain has asked whyEnded
	s.mu.Unlock()
	s.down(nil)
	s.up(session, nil, nil)
	_, calling, done := s.within(t.Context(), session)
	defer done()
	if calling.Err() != nil {
		t.Error("a call of the next connection is cancelled")
	}
}
