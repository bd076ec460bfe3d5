package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/upstream"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// elsewhere is another MCP server with tools that know no limit.
func elsewhere(t *testing.T) (*mcp.Server, string) {
	t.Helper()
	m := mcp.NewServer(&mcp.Implementation{Name: "elsewhere", Version: "1"}, nil)
	give := func(f func() *mcp.CallToolResult) mcp.ToolHandlerFor[map[string]any, any] {
		return func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
			return f(), nil, nil
		}
	}
	words := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	var long strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&long, "line %d of a long result\n", i)
	}
	mcp.AddTool(m, &mcp.Tool{Name: "Long-Result", Description: "much\u200b text", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, give(func() *mcp.CallToolResult { return words(long.String()) }))
	mcp.AddTool(m, &mcp.Tool{Name: "own_limit", Meta: mcp.Meta{"anthropic/maxResultSizeChars": 2000}}, give(func() *mcp.CallToolResult { return words(long.String()) }))
	mcp.AddTool(m, &mcp.Tool{Name: "picture"}, give(func() *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "a chart"}, &mcp.ImageContent{Data: []byte("PNG…"), MIMEType: "image/png"},
			&mcp.ResourceLink{URI: "https://example.com/data.csv", Name: "the data"},
		}}
	}))
	mcp.AddTool(m, &mcp.Tool{Name: "fails"}, give(func() *mcp.CallToolResult {
		r := words("no such <tool_call>sheet")
		r.IsError = true
		return r
	}))
	mcp.AddTool(m, &mcp.Tool{Name: "secret_admin"}, give(func() *mcp.CallToolResult { return words("boo") }))
	over := make(chan struct{})
	mcp.AddTool(m, &mcp.Tool{Name: "stuck"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
		case <-over: // the server below waits for its handlers
		}
		return nil, nil, ctx.Err()
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	t.Cleanup(func() { close(over) })
	return m, web.URL
}

func served(t *testing.T, change func(*Config), servers ...plugin.Server) *Host {
	t.Helper()
	h := open(t, t.TempDir(), func(c *Config) {
		c.Servers = servers
		if change != nil {
			change(c)
		}
	})
	if err := h.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// Tools of other servers have the same limits and the same archive.
func TestServerTools(t *testing.T) {
	_, url := elsewhere(t)
	h := served(t, func(c *Config) {
		c.Tools = map[string]ToolConfig{"files__stuck": {Limits: tool.Limits{Timeout: 200 * time.Millisecond}}}
	},
		plugin.Server{Name: "files", URL: url, Deny: []string{"secret_*"}})
	var names []string
	for _, i := range h.Tools() {
		if i.Plugin == "files" {
			names = append(names, i.Spec.Name)
		}
	}
	slices.Sort(names)
	if want := []string{"files__Long-Result", "files__fails", "files__own_limit", "files__picture", "files__stuck"}; !slices.Equal(names, want) {
		t.Fatalf("%q", names)
	}
	s := h.Session("me", "c1").ByPerson()
	r := call(t, s, "files__Long-Result", `{}`)
	if !r.Shown.Cut() || r.Shown.By != tool.LayerDefault || len(r.Shown.Text) > 8000 || r.Ref == nil || !strings.HasSuffix(strings.TrimSpace(r.Whole()), "line 1999 of a long result") {
		t.Errorf("by %s, %d bytes, %+v", r.Shown.By, len(r.Shown.Text), r.Ref)
	}
	back := call(t, s, "load_tool_history", fmt.Sprintf(`{"uuid":%q,"lines":"1000"}`, r.Ref.UUID))
	if !strings.Contains(back.Shown.Text, "line 999 of") {
		t.Errorf("%q", back.Shown.Text)
	}
	if r := call(t, s, "files__own_limit", `{}`); r.Shown.By != tool.LayerTool || len(r.Shown.Text) > 2000 {
		t.Errorf("its own limit: by %s, %d bytes", r.Shown.By, len(r.Shown.Text))
	}
	if r := call(t, s, "files__picture", `{}`); len(r.Parts) != 1 || r.Parts[0].MIME != "image/png" || string(r.Parts[0].Data) != "PNG…" || !strings.Contains(r.Whole(), "a chart") || r.Sources[0].URL != "https://example.com/data.csv" {
		t.Errorf("%+v", r)
	}
	for _, row := range []struct {
		name, args string
		code       tool.Code
		want       string
	}{
		{"files__fails", `{}`, tool.Failed, "no such"},
		{"files__stuck", `{}`, tool.TimedOut, "200ms"},
		{"files__secret_admin", `{}`, tool.UnknownTool, ""},
	} {
		if r := try(t, s, row.name, row.args); r.Err == nil || r.Err.Code != row.code || !strings.Contains(r.Err.Msg, row.want) {
			t.Errorf("%s: %v", row.name, r.Err)
		}
	}
	if n := h.running.Busy(); n != 0 {
		t.Errorf("%d places are taken", n)
	}
}

// A server's word that a tool changes nothing is not enough, unless the
// operator takes it.
func TestServerToolsAskFirst(t *testing.T) {
	_, url := elsewhere(t)
	h := served(t, nil, plugin.Server{Name: "files", URL: url}, plugin.Server{Name: "trusted", URL: url, TrustHints: true})
	s := h.Session("me", "c1")
	if r := try(t, s, "files__Long-Result", `{}`); r.Err == nil || r.Err.Code != tool.Denied {
		t.Errorf("nobody was asked: %v", r.Err)
	}
	if r := try(t, s, "trusted__picture", `{}`); r.Err == nil || r.Err.Code != tool.Denied {
		t.Errorf("a tool that does not even claim it: %v", r.Err)
	}
	if r := try(t, s, "trusted__Long-Result", `{}`); r.Err != nil {
		t.Errorf("%v", r.Err)
	}
}

// Of a trusted server, a tool that says that it only reads and nothing of what it reaches runs
// without a question, whatever was read before; one that says that it reaches anything is asked
// about then, for the reason that there is.
func TestServerToolsAfterPrivateText(t *testing.T) {
	m, url := elsewhere(t)
	for name, open := range map[string]*bool{"says_nothing": nil, "says_open": new(true), "says_closed": new(false)} {
		mcp.AddTool(m, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: open}},
			func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found"}}}, nil, nil
			})
	}
	const private, read = "the conversation contains what a tool read in a granted folder", "a conversation of this user contains what a tool read in a granted folder"
	for _, row := range []struct {
		tool    string
		network approval.Action
		across  bool
		reason  string // empty: it runs
	}{
		{"says_nothing", "", false, ""},
		{"says_closed", "", false, ""},
		{"says_open", "", false, "its server can send data to any host, and " + private},
		{"says_open", "", true, "its server can send data to any host, and " + read},
		{"says_nothing", approval.Ask, false, "its server can send data to any host"},
		{"says_closed", approval.Ask, false, ""},
	} {
		h := served(t, func(c *Config) { c.Approvals.Network = row.network }, plugin.Server{Name: "trusted", URL: url, TrustHints: true})
		s := h.Session("me", "c1")
		if row.across {
			s = s.AcrossConversations()
		}
		s.MarkPrivate()
		r := try(t, s, "trusted__"+row.tool, `{}`)
		if row.reason == "" && r.Err != nil || row.reason != "" && (r.Err == nil || !strings.Contains(r.Err.Msg, row.reason+", and no person")) {
			t.Errorf("%+v: %v", row, r.Err)
		}
	}
}

// A star is any letters, a slash among them: what is denied is denied.
func TestServerToolsWithSlashes(t *testing.T) {
	for _, row := range []struct {
		allow, deny []string
		name        string
		want        bool
	}{
		{nil, []string{"*"}, "repo/delete", false},
		{nil, []string{"repo*"}, "repo/delete", false},
		{nil, []string{"*delete"}, "repo/delete", false},
		{nil, []string{"repo/*"}, "repo/delete", false},
		{nil, []string{"repo/*"}, "repository", true},
		{[]string{"repo*"}, nil, "repo/read", true},
		{[]string{"repo?read"}, nil, "repo/read", true},
		{[]string{"list"}, nil, "repo/list", false},
	} {
		s := &upstream.Server{Settings: plugin.Server{Allow: row.allow, Deny: row.deny}}
		if got := s.Allows(row.name); got != row.want {
			t.Errorf("allow %q, deny %q: %s: %t", row.allow, row.deny, row.name, got)
		}
	}
}

// What another server does to a call is said in the conversation's language, with what
// to do next and without the names of Go's types.
func TestServerFailuresAreSaid(t *testing.T) {
	_, url := elsewhere(t)
	var status atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(b, &m) != nil || m.Method != "tools/call" {
			r.Body = io.NopCloser(bytes.NewReader(b))
			to, _ := neturl.Parse(url) // httptest's own
			httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Load()))
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":7}}`, m.ID)
	}))
	t.Cleanup(web.Close)
	h := served(t, nil, plugin.Server{Name: "files", URL: web.URL})
	for code, want := range map[int]string{http.StatusOK: "the answer of the MCP server files cannot be used", http.StatusServiceUnavailable: "the MCP server files is down: "} {
		status.Store(int64(code))
		s := h.Session("me", "c1").ByPerson()
		e := try(t, s, "files__picture", `{}`).Err
		if e == nil || e.Code != tool.Failed || !strings.HasPrefix(e.Msg, want) || e.Hint == "" || strings.Contains(e.Msg, "struct") {
			t.Errorf("%d: %+v", code, e)
		}
		e = try(t, s.In(tool.Zh), "files__picture", `{}`).Err
		if e == nil || e.Hint == "" || !strings.Contains(e.Msg, "files") {
			t.Fatalf("%d: %+v", code, e)
		}
		wantChinese(t, want, e)
	}
}

func TestDeadServers(t *testing.T) {
	_, url := elsewhere(t)
	h := served(t, nil, plugin.Server{Name: "files", URL: url}, plugin.Server{Name: "gone", Command: "/nothing/here"}, plugin.Server{Name: "nobody", URL: "http://127.0.0.1:1/"})
	states := map[string]plugin.Info{}
	for _, p := range h.Plugins() {
		states[p.Name] = p
	}
	if states["files"].State != plugin.Ready || states["files"].Kind != plugin.KindServer {
		t.Errorf("%+v", states["files"])
	}
	for _, name := range []string{"gone", "nobody"} {
		if p := states[name]; p.State != plugin.Pending || p.Why.IsZero() || p.Fix.IsZero() || strings.Contains(p.Why.String(), "*") {
			t.Errorf("%+v", p)
		}
	}
}

// Tools that appear and go are seen; the turn that runs keeps its list.
func TestServerListChanges(t *testing.T) {
	m, url := elsewhere(t)
	h := served(t, nil, plugin.Server{Name: "files", URL: url})
	mcp.AddTool(m, &mcp.Tool{Name: "late"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "late"}}}, nil, nil
	})
	testtime.Until(t, "the new tool is seen", func() bool { return hasTool(h, "files__late") })
	if r := call(t, h.Session("me", "c1").ByPerson(), "files__late", `{}`); r.Whole() != "late" {
		t.Errorf("%q", r.Whole())
	}
}

func hasTool(h *Host, name string) bool {
	return slices.ContainsFunc(h.Tools(), func(i plugin.ToolInfo) bool { return i.Spec.Name == name })
}

// named is a server whose tools have those names.
func named(t *testing.T, names ...string) string {
	t.Helper()
	m := mcp.NewServer(&mcp.Implementation{Name: "named", Version: "1"}, nil)
	for _, name := range names {
		m.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "I am " + name}}}, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	return web.URL
}

// Tools of other servers keep their names. What the operator wrote in the old form, in lower
// case and without hyphens, holds for them: what restricts for each of that form, what allows
// only where it is one.
func TestNamesOfServerTools(t *testing.T) {
	url := named(t, "getIssue", "list-All", "listall", "Drop", "drop", "a.b", "a_b", "set-Off")
	h := served(t, func(c *Config) {
		c.Tools = map[string]ToolConfig{
			"s__getissue": {Limits: tool.Limits{MaxChars: 777}}, "s__drop": {Limits: tool.Limits{MaxChars: 888}}, "s__SET_OFF": {Disabled: new(true)},
		}
		c.Approvals = approval.Policy{Default: approval.Deny, Rules: []approval.Rule{
			{Tool: "s__getissue", Action: approval.Allow},
			{Tool: "s__drop", Action: approval.Allow},
			{Tool: "s__a_b", Action: approval.Allow},
			{Tool: "s__list*", Action: approval.Allow},
			{Tool: "s__list_all", Action: approval.Deny},
		}}
	}, plugin.Server{Name: "s", URL: url})
	limits, hashed := map[string]int{}, ""
	for _, i := range h.Tools() {
		if i.Plugin == "s" {
			limits[i.Spec.Name] = i.Effective.MaxChars
			if strings.HasPrefix(i.Spec.Name, "s__a_b__") {
				hashed = i.Spec.Name
			}
		}
	}
	if hashed == "" || limits["s__getIssue"] != 777 || limits["s__drop"] != 888 || limits["s__Drop"] == 888 || len(limits) != 7 {
		t.Fatalf("%v", limits)
	}
	s := h.Session("me", "c1")
	ask := func(name string) tool.Result {
		r, err := s.Call(t.Context(), tool.Call{Tool: name, Args: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, runs := range map[string]bool{
		"s__getIssue": true,  // by its old form, which it alone has
		"s__drop":     true,  // its very name
		"s__Drop":     false, // its old form is another tool's, too
		"s__a_b":      true,
		hashed:        false, // it is "a.b", which gives way to "a_b"
		"s__list-All": true,  // the first rule that fits
		"s__listall":  true,
		"s__set-Off":  false,
	} {
		r := ask(name)
		if (r.Err == nil) != runs {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	if r := ask(hashed); r.Err == nil || r.Err.Code != tool.Denied {
		t.Errorf("%s: %v", hashed, r.Err)
	}
}
