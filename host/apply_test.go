package host

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/upstream"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// running begins a call that goes on until let; the result comes on the channel.
func running(t *testing.T, h *Host) (let func(), result chan tool.Result) {
	t.Helper()
	begun, wait := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := h.Session("me", "running").Reporting(func(Progress) {
		once.Do(func() { close(begun) })
		<-wait
	})
	result = make(chan tool.Result, 1)
	go func() {
		r, err := s.Call(context.WithoutCancel(t.Context()), tool.Call{Tool: "steps", Args: json.RawMessage("{}")})
		if err != nil {
			t.Error(err)
		}
		result <- r
	}()
	<-begun
	return sync.OnceFunc(func() { close(wait) }), result
}

// Another way to run plugins holds from the next call on; a call that runs ends
// where it began, which is closed afterwards.
func TestApplySandbox(t *testing.T) {
	h := openIsolated(t, drop(t, "probe"), func(c *Config) {
		c.Sandbox.Workers.Isolation = Inline
		c.Tools = map[string]ToolConfig{"steps": {Limits: tool.Limits{Timeout: 5 * time.Minute}}}
	})
	before := h.engines.Load()
	let, result := running(t, h)
	defer let()
	set := h.cfg.Settings
	set.Sandbox.Workers.Isolation, set.Sandbox.Spares, set.Parallel = OwnProcess, 1, 3
	if _, err := h.Apply(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	now := h.engines.Load()
	if now == before || now.Inline("probe") == CanIsolate() || h.running.Size() != 3 {
		t.Errorf("%+v, %d places", now.Settings(), h.running.Size())
	}
	call(t, h.Session("me", "c"), "count", "{}")
	if before.References() == 0 {
		t.Error("what a call runs in was closed")
	}
	let()
	if r := <-result; r.Err != nil {
		t.Errorf("the call that ran: %v", r.Err)
	}
	if n := before.References(); n != 0 {
		t.Errorf("%d hold on to what nothing runs in", n)
	}

	set.Sandbox.Engine = "steam"
	if _, err := h.Apply(t.Context(), set); err == nil || !strings.Contains(err.Error(), "steam") || h.engines.Load() != now {
		t.Errorf("an engine that there is not: %v", err)
	}
	call(t, h.Session("me", "c"), "count", "{}")
	set.Sandbox.Engine = ""
	if _, err := h.Apply(t.Context(), set); err != nil || h.engines.Load() != now {
		t.Errorf("the same again: %v", err)
	}
}

// Folders come and go.
func TestApplyFolders(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	more := drop(t, "notes")
	set := h.cfg.Settings
	first := set.Folders
	set.Folders = append(slices.Clone(first), plugin.Folder{Path: more, Trust: plugin.TrustGranted})
	change, err := h.Apply(t.Context(), set)
	if err != nil || !slices.Equal(change.Pending, []string{"notes"}) || !slices.Contains(h.protectedPaths(), more) {
		t.Fatalf("%+v, %v, %v", change, err, h.protectedPaths())
	}
	set.Folders = set.Folders[1:]
	if change, err = h.Apply(t.Context(), set); err != nil || !slices.Equal(change.Removed, []string{"probe"}) {
		t.Fatalf("%+v, %v", change, err)
	}
	set.Folders = []plugin.Folder{{Path: more, Trust: plugin.TrustAsk}}
	if _, err = h.Apply(t.Context(), set); err != nil || h.Plugins()[0].Trust != plugin.TrustAsk {
		t.Errorf("another trust: %+v, %v", h.Plugins(), err)
	}
	set.Folders = []plugin.Folder{{Path: more, Trust: "blind"}}
	if _, err := h.Apply(t.Context(), set); err == nil {
		t.Error("a trust that there is not")
	}
	if names := h.Plugins(); len(names) != 1 || names[0].Name != "notes" {
		t.Errorf("after a refusal: %+v", names)
	}
}

// Other servers come and go; a call of one that goes ends there, and the same one
// keeps its connection.
func TestApplyServers(t *testing.T) {
	begun, over := make(chan struct{}), make(chan struct{})
	m := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	mcp.AddTool(m, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		close(begun)
		select {
		case <-over:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ended well"}}}, nil, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	defer web.Close()
	_, url := elsewhere(t)
	_, other := elsewhere(t)
	h := served(t, func(c *Config) { c.Approvals.Default = approval.Allow }, plugin.Server{Name: "old", URL: web.URL}, plugin.Server{Name: "files", URL: url})
	connection := h.servers.Servers()[1]
	result := make(chan tool.Result, 1)
	go func() {
		r, err := h.Session("me", "c").Call(context.WithoutCancel(t.Context()), tool.Call{Tool: "old__wait", Args: json.RawMessage("{}")})
		if err != nil {
			t.Error(err)
		}
		result <- r
	}()
	<-begun
	old := h.servers.Servers()[0]
	set := h.cfg.Settings
	set.Servers = []plugin.Server{{Name: "files", URL: url}, {Name: "more", URL: other}}
	if _, err := h.Apply(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if err := h.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h.servers.Servers()[0] != connection {
		t.Error("a server that is the same was connected anew")
	}
	has := func(name string) bool { _, ok := h.Tool(name); return ok }
	if has("old__wait") || !has("files__picture") || !has("more__picture") {
		t.Errorf("%+v", h.Tools())
	}
	if _, err := (upstream.Tool{Server: old}).Acquire(t.Context()); err == nil {
		t.Error("a server that was taken away takes calls")
	}
	close(over)
	if r := <-result; r.Err != nil || r.Whole() != "ended well" {
		t.Errorf("the call that ran: %+v", r)
	}
}

// How long results are kept can change.
func TestApplyArchive(t *testing.T) {
	now := time.Now()
	h := open(t, drop(t, "probe"), func(c *Config) { c.Now = func() time.Time { return now } })
	r := call(t, h.Session("me", "c1"), "long", `{"Lines":2000,"Width":30}`)
	now = now.Add(time.Hour)
	set := h.cfg.Settings
	set.Archive = archive.Config{MaxAge: time.Minute, UserScope: true}
	if _, err := h.Apply(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Archive().Get(t.Context(), archive.Scope{Principal: "me", Conversation: "c2"}, r.Ref.UUID); err != nil {
		t.Errorf("the scope of the user: %v", err)
	}
	if p, err := h.Archive().Prune(t.Context(), true); err != nil || len(p.Pruned) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}
