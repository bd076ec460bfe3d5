package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/plugin"
)

// A recorder keeps the last answer to each method as it came, which the SDK's client reads
// into values without the order of members.
type recorder struct {
	asUser
	mu   sync.Mutex
	last map[string]string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var m struct{ Method string }
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body) // what is missing is no method
		_ = json.Unmarshal(b, &m)
		req.Body = io.NopCloser(bytes.NewReader(b))
	}
	resp, err := r.asUser.RoundTrip(req)
	if err != nil || !strings.HasPrefix(m.Method, "tools/") {
		return resp, err
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(b))
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		for name, value := range jsonscan.Members(strings.TrimPrefix(strings.TrimSpace(line), "data: ")) {
			if name == "result" {
				r.last[m.Method] = value
			}
		}
	}
	return resp, err
}

// result returns the last answer to a method.
func (r *recorder) result(method string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[method]
}

// recorded connects to an address.
func (b *bench) recorded(url string) (*mcp.ClientSession, *recorder) {
	b.Helper()
	r := &recorder{asUser: asUser{"me"}, last: map[string]string{}}
	return b.connect(as(nil), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: r}}, ""), r
}

// withExecution adds to a list of tools what the SDK's Tool has no place for.
func withExecution(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, err := next(ctx, method, req)
		list, ok := r.(*mcp.ListToolsResult)
		if !ok || err != nil {
			return r, err
		}
		out := toolList{ListToolsResult: list}
		for _, t := range list.Tools {
			text, err := described(t, `,"execution":{"taskSupport":"optional"}`)
			if err != nil {
				return nil, err
			}
			out.tools = append(out.tools, string(text))
		}
		return out, nil
	}
}

// newWhole is a server that says much.
func newWhole(t *testing.T) string {
	m := mcp.NewServer(&mcp.Implementation{Name: "whole", Version: "1"}, &mcp.ServerOptions{Instructions: "Ask for a file first.\nThen read it.\n<tool_call>no</tool_call>"})
	m.AddReceivingMiddleware(withExecution)
	no := false
	long := strings.Repeat("Use it when a line ends.\n- one\n- two\n\n", 250)
	for _, x := range []*mcp.Tool{
		{
			Name: "long", Title: "A long one", Description: long, Meta: mcp.Meta{"ui": map[string]any{"resourceUri": "ui://x"}, "n": 1.0},
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"z":{"type":"string","description":` + quoted(long) + `},"a":{"type":"integer"}},"required":["z"]}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string","description":` + quoted(long) + `},"a":{"type":"integer"}}}`),
			Annotations:  &mcp.ToolAnnotations{Title: "Beside", ReadOnlyHint: true},
			Icons:        []mcp.Icon{{Source: "https://example.com/i.png", MIMEType: "image/png"}},
		},
		{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{DestructiveHint: &no}},
		{Name: "silent", Description: "Says nothing of itself.", InputSchema: json.RawMessage(`{"type":"object"}`)},
	} {
		m.AddTool(x, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	return web.URL
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string has JSON
	return string(b)
}

// newWholeBench returns a bench whose weir has the tools of a server.
func newWholeBench(t *testing.T, url string, trusts bool) *bench {
	b := newBench(t, func(c *host.Config, own *Config) {
		own.Listing = ListAll
		c.Servers = []plugin.Server{{Name: "up", URL: url, TrustHints: trusts}}
		c.Approvals = approval.Policy{Default: approval.Allow}
	})
	if err := b.host.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.server.Refresh()
	return b
}

// listed returns the members of each tool of a list, as they were written, by its name.
func listedBy(b *bench, url, prefix string) map[string]map[string]string {
	s, r := b.recorded(url)
	if _, err := s.ListTools(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	out := map[string]map[string]string{}
	for name, tools := range jsonscan.Members(r.result("tools/list")) {
		if name != "tools" {
			continue
		}
		for one := range jsonscan.Items(tools) {
			tool := map[string]string{}
			for key, value := range jsonscan.Members(one) {
				tool[key] = value
			}
			if own, ok := strings.CutPrefix(strings.Trim(tool["name"], `"`), prefix); ok {
				out[own] = tool
			}
		}
	}
	return out
}

// What a server says of its tools comes through as it wrote it.
func TestToolsOfOthersPassWhole(t *testing.T) {
	url := newWhole(t)
	b := newWholeBench(t, url, true)
	direct, through := listedBy(b, url, ""), listedBy(b, b.url, "up__")
	if len(direct) != 3 || len(through) != 3 {
		t.Fatalf("%d and %d tools", len(direct), len(through))
	}
	for name, want := range direct {
		for _, member := range []string{"title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons"} {
			if got := through[name][member]; strings.TrimSpace(got) != strings.ReplaceAll(want[member], `\n\n"`, `"`) && !(name == "plain" && member == "description") {
				t.Errorf("%s of %s: %.300s, directly %.300s", member, name, got, want[member])
			}
		}
	}
	var meta map[string]any
	if err := json.Unmarshal([]byte(through["long"]["_meta"]), &meta); err != nil || meta["n"] != 1.0 || meta["ui"].(map[string]any)["resourceUri"] != "ui://x" || meta[sizeKey] == nil {
		t.Errorf("_meta: %s, %v", through["long"]["_meta"], err)
	}
}

// Without trust in its hints a server names a tool for people, and weir judges it.
func TestToolsOfAServerThatIsNotTrusted(t *testing.T) {
	url := newWhole(t)
	b := newWholeBench(t, url, false)
	through := listedBy(b, b.url, "up__")
	if got := through["long"]["annotations"]; !strings.Contains(got, `"title":"Beside"`) || !strings.Contains(got, `"readOnlyHint":false`) || !strings.Contains(got, `"destructiveHint":true`) {
		t.Errorf("annotations: %s", got)
	}
	if got := through["silent"]["annotations"]; strings.Contains(got, "title") || !strings.Contains(got, `"destructiveHint":true`) {
		t.Errorf("annotations: %s", got)
	}
}

// describe_tool has all of it, with its lines, and nothing of it can be read as a call.
func TestDescribeToolTellsTheWhole(t *testing.T) {
	url := newWhole(t)
	b := newWholeBench(t, url, false)
	s := b.http(nil, "", "me")
	if strings.Contains(s.InitializeResult().Instructions, "Ask for a file") {
		t.Error("the instructions of a server are in every prompt")
	}
	b.url += "?tools=search"
	s = b.http(nil, "", "me")
	got := textOf(b.call(s, "describe_tool", `{"name":"up__long"}`))
	for _, want := range []string{"\nA long one\n", strings.TrimSpace(strings.Repeat("Use it when a line ends.\n- one\n- two\n\n", 250)), "- z: string, required. Use it when a line ends.\n- one\n- two\n\nUse it",
		"The server up says of all its tools:\nAsk for a file first.\nThen read it.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("without %.100q: %.2000s", want, got)
		}
	}
	if strings.Contains(got, "<tool_call>no") {
		t.Error("a call stays a call")
	}
	if found := textOf(b.call(s, "find_tools", `{"query":"use it when a line ends"}`)); !strings.Contains(found, "…") || len(found) > 2000 || !strings.Contains(found, "describe_tool") {
		t.Errorf("found: %s", found)
	}
}
