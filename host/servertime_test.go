package host

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// A slowServer has tools that take their time. Its calls wait for release.
type slowServer struct {
	url     string
	release chan struct{}

	mu      sync.Mutex
	running map[string]int
}

func (s *slowServer) runs(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[name]
}

func newSlowServer(t *testing.T) *slowServer {
	t.Helper()
	s := &slowServer{release: make(chan struct{}), running: map[string]int{}}
	m := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	add := func(name string, f func(context.Context, *mcp.CallToolRequest)) {
		m.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.mu.Lock()
			s.running[name]++
			s.mu.Unlock()
			f(ctx, r)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
		})
	}
	wait := func(ctx context.Context, _ *mcp.CallToolRequest) {
		select {
		case <-s.release:
		case <-ctx.Done():
		}
	}
	add("wait", wait)
	add("other", wait)
	add("steps", func(ctx context.Context, r *mcp.CallToolRequest) { // longer than its timeout, which each step begins anew
		for step := range 75 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(step)})
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	t.Cleanup(sync.OnceFunc(func() { close(s.release) }))
	s.url = web.URL
	return s
}

// The time for guests does not hold for servers. What ends a call is the server's setting or
// the tool's, which the error names.
func TestTimeOfServerCalls(t *testing.T) {
	slow := newSlowServer(t)
	const short = 100 * time.Millisecond
	h := served(t, func(c *Config) {
		c.Defaults.Timeout = time.Nanosecond
		c.Tools = map[string]ToolConfig{"usual__wait": {Limits: tool.Limits{Timeout: short}}}
	}, plugin.Server{Name: "usual", URL: slow.url}, plugin.Server{Name: "hasty", URL: slow.url, Timeout: short}, plugin.Server{Name: "patient", URL: slow.url, Timeout: time.Second})
	for name, want := range map[string]struct {
		time time.Duration
		by   tool.Layer
	}{"usual__other": {5 * time.Minute, tool.LayerDefault}, "usual__wait": {short, tool.LayerOperator}, "hasty__wait": {short, tool.LayerOperator}} {
		if info, _ := h.Tool(name); info.Effective.Timeout != want.time || info.TimeoutBy != want.by {
			t.Errorf("%s: %s by %s", name, info.Effective.Timeout, info.TimeoutBy)
		}
	}
	s := h.Session("me", "c1").ByPerson()
	for name, table := range map[string]string{"hasty__wait": "[mcpServers.hasty]", "usual__wait": "[tools.usual__wait]"} {
		e := try(t, s, name, `{}`).Err
		if e == nil || e.Code != tool.TimedOut || !strings.Contains(e.Msg, "the MCP server "+name[:5]) || !strings.Contains(e.Msg, "100ms") || !strings.Contains(e.Hint, table) {
			t.Errorf("%s: %+v", name, e)
		}
		if zh := try(t, s.In(tool.Zh), name, `{}`).Err; zh == nil || strings.Contains(zh.Msg, "did not") || !strings.Contains(zh.Hint, table) {
			t.Errorf("%s: %+v", name, zh)
		}
	}
	if r := call(t, s, "patient__steps", `{}`); r.Whole() != "done" {
		t.Errorf("%+v", r)
	}
	bad := h.settings.Load().Settings
	bad.Servers = []plugin.Server{{Name: "x", URL: slow.url, Timeout: -1}}
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "x: timeout is -1ns") {
		t.Errorf("%v", err)
	}
}

// Calls of a server run at the same time, as many as its own setting says. They take no place
// of guests, and those of one server none of another's.
func TestServerCallsAtTheSameTime(t *testing.T) {
	slow := newSlowServer(t)
	h := served(t, func(c *Config) {
		c.Parallel = 2
		c.Tools = map[string]ToolConfig{"wide__other": {Parallel: 1}}
	}, plugin.Server{Name: "wide", URL: slow.url, Parallel: 13}, plugin.Server{Name: "free", URL: slow.url, Parallel: -1}, plugin.Server{Name: "usual", URL: slow.url})
	for name, want := range map[string]int{"wide__wait": 13, "wide__other": 1, "free__wait": 0, "usual__wait": 64} {
		if info, _ := h.Tool(name); info.Parallel != want {
			t.Errorf("%s: %d at once", name, info.Parallel)
		}
	}
	s := h.Session("me", "c1").ByPerson()
	var all sync.WaitGroup
	begin := func(name string, n int) {
		for range n {
			all.Go(func() {
				if r, err := s.Call(t.Context(), tool.Call{Tool: name, Args: json.RawMessage(`{}`)}); err != nil || r.Err != nil {
					t.Errorf("%s: %v, %v", name, err, r.Err)
				}
			})
		}
	}
	server := func(name string) (running, waiting int) {
		for _, one := range h.servers.Servers() {
			if strings.HasPrefix(name, one.Settings.Name+"__") {
				return one.Slots.Load(name)
			}
		}
		return 0, 0
	}
	begin("wide__other", 3)
	testtime.Until(t, "one runs and two wait", func() bool { r, w := server("wide__other"); return r == 1 && w == 2 })
	begin("wide__wait", 14)
	testtime.Until(t, "the others have the rest", func() bool { r, w := server("wide__wait"); return r == 12 && w == 4 })
	begin("free__wait", 30)
	testtime.Until(t, "no bound holds", func() bool { return slow.runs("wait") == 42 && slow.runs("other") == 1 })
	if n := h.running.Busy(); n != 0 {
		t.Errorf("%d places of guests are taken", n)
	}
	for range 47 {
		slow.release <- struct{}{}
	}
	all.Wait()
}
