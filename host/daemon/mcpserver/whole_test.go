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
			if got := through[name][member]; got != want[member] && !(name == "plain" && member == "description") {
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

// A client that lists all tools reads the instructions of a server on demand.
func TestInstructionsAreAResource(t *testing.T) {
	s := newWholeBench(t, newWhole(t), false).http(nil, "", "me")
	list, err := s.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) == 0 || list.Resources[0].URI != "weir://server/up" {
		t.Fatalf("%+v, %v", list, err)
	}
	got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "weir://server/up"})
	if err != nil || !strings.HasPrefix(got.Contents[0].Text, "Ask for a file first.\nThen read it.\n") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "weir://server/none"}); err == nil {
		t.Error("a server that is not there has instructions")
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
	for _, p := range b.host.Plugins() {
		if p.Name == "up" && !strings.HasPrefix(p.Instructions, "Ask for a file first.\nThen read it.\n") {
			t.Errorf("weir plugin info: %q", p.Instructions)
		}
	}
	if strings.Contains(got, "<tool_call>no") {
		t.Error("a call stays a call")
	}
	if found := textOf(b.call(s, "find_tools", `{"query":"use it when a line ends"}`)); !strings.Contains(found, "…") || len(found) > 2000 || !strings.Contains(found, "describe_tool") {
		t.Errorf("found: %s", found)
	}
}

// rows are answers of a server.
var rows = []struct{ name, answer string }{
	{"one text", `{"content":[{"type":"text","text":"one"}]}`},
	{"two texts", `{"content":[{"type":"text","text":"one"},{"type":"text","text":"two\nlines"}]}`},
	{"no content", `{"content":[]}`},
	{"an empty text", `{"content":[{"type":"text","text":""}]}`},
	{"a picture between", `{"content":[{"type":"text","text":"one"},{"type":"image","data":"UE5H","mimeType":"image/png"},{"type":"text","text":"two"},{"type":"audio","data":"UE5H","mimeType":"audio/wav"}]}`},
	{"an error of lines", `{"content":[{"type":"text","text":"error line 0\n  error line 1\n"}],"isError":true}`},
	{"a short error", `{"content":[{"type":"text","text":"no such file"}],"isError":true}`},
	{"a long error", `{"content":[{"type":"text","text":"` + strings.Repeat(`a line of a log\n`, 60) + `"}],"isError":true}`},
	{"an error of parts", `{"content":[{"type":"text","text":"one"},{"type":"image","data":"UE5H","mimeType":"image/png"},{"type":"text","text":"two"}],"structuredContent":{"z":1,"a":{"y":2,"b":3}},"isError":true}`},
	{"an error without a word", `{"content":[],"isError":true}`},
	{"a link", `{"content":[{"type":"text","text":"see"},{"type":"resource_link","uri":"demo://a?x=1&y=2","name":"a","title":"An A","description":"all of a","mimeType":"text/plain","size":7,"annotations":{"audience":["user"],"priority":0.5},"_meta":{"k":"v"}},{"type":"resource_link","uri":"demo://b","name":"b"}]}`},
	{"a text resource", `{"content":[{"type":"resource","resource":{"uri":"demo://t","mimeType":"text/markdown","text":"# a\nb","_meta":{"k":1}},"annotations":{"priority":1}}]}`},
	{"a blob resource", `{"content":[{"type":"resource","resource":{"uri":"demo://b.txt","mimeType":"text/plain","blob":"` + strings.Repeat("QUJD", 14) + `"},"_meta":{"k":2}},{"type":"resource","resource":{"uri":"demo://b.gz","mimeType":"application/gzip","blob":"UE5H"}}]}`},
	{"annotations", `{"content":[{"type":"text","text":"one","annotations":{"audience":["assistant"],"priority":0.9,"lastModified":"2026-01-01T00:00:00Z"},"_meta":{"k":[1,2]}},{"type":"image","data":"UE5H","mimeType":"image/png","annotations":{"audience":["user"]}}]}`},
	{"structured", `{"content":[{"type":"text","text":"one"}],"structuredContent":{"z":1,"a":{"y":2.50,"b":"<x>"}}}`},
	{"structured alone", `{"content":[],"structuredContent":{"z":1,"a":2}}`},
	{"_meta", `{"content":[{"type":"text","text":"one"}],"_meta":{"vendor/key":{"a":1}}}`},
}

// What a server answers comes through as it wrote it, where nothing is cut.
func TestAnswersOfOthersPassWhole(t *testing.T) {
	m := mcp.NewServer(&mcp.Implementation{Name: "whole", Version: "1"}, nil)
	for i, row := range rows {
		var r mcp.CallToolResult
		if err := json.Unmarshal([]byte(row.answer), &r); err != nil {
			t.Fatal(row.name, err)
		}
		for name, value := range jsonscan.Members(row.answer) {
			if name == "structuredContent" {
				r.StructuredContent = json.RawMessage(value)
			}
		}
		m.AddTool(&mcp.Tool{Name: "t" + string(rune('a'+i)), InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &r, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	b := newWholeBench(t, web.URL, true)
	direct, saidDirect := b.recorded(web.URL)
	through, saidThrough := b.recorded(b.url)
	for i, row := range rows {
		name := "t" + string(rune('a'+i))
		b.call(direct, name, `{}`)
		b.call(through, "up__"+name, `{}`)
		want, got := answerOf(saidDirect), answerOf(saidThrough)
		for _, member := range []string{"content", "structuredContent", "isError", "_meta"} {
			if got[member] != want[member] {
				t.Errorf("%s: %s is %.600s, directly %.600s", row.name, member, got[member], want[member])
			}
		}
	}
}

// answerOf returns the members of the last answer to a call, without what weir and the SDK
// say for themselves.
func answerOf(r *recorder) map[string]string {
	out := map[string]string{}
	for name, value := range jsonscan.Members(r.result("tools/call")) {
		var v any
		switch name {
		case "_meta":
			kept := map[string]any{}
			if json.Unmarshal([]byte(value), &kept) == nil {
				for key := range kept {
					if strings.HasPrefix(key, "weir/") || strings.HasPrefix(key, protocolPrefix) {
						delete(kept, key)
					}
				}
			}
			if len(kept) > 0 {
				out[name] = string(encoded(kept))
			}
		case "content":
			_ = json.Unmarshal([]byte(value), &v) // members of a part have no order
			out[name] = string(encoded(v))
		default:
			out[name] = value
		}
	}
	return out
}

func encoded(v any) []byte {
	b, _ := json.Marshal(v) // it was JSON before
	return b
}

// An answer that is cut is one text with the notice. Parts that are no text keep their kind,
// and the archive has every text as it came.
func TestAnswersOfOthersThatAreCut(t *testing.T) {
	one, two := strings.Repeat("one of many lines\n", 500), strings.Repeat("\ttwo, and more\r\n", 600)
	m := mcp.NewServer(&mcp.Implementation{Name: "long", Version: "1"}, nil)
	m.AddTool(&mcp.Tool{Name: "long", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: one}, &mcp.ImageContent{Data: []byte("PNG"), MIMEType: "image/png", Annotations: &mcp.Annotations{Priority: 1}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "demo://two", Text: two}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "demo://blob", MIMEType: "text/plain", Blob: []byte("small")}}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	everyWay(t, newWholeBench(t, web.URL, true), nil, func(b *bench, s *mcp.ClientSession) {
		r := b.call(s, "up__long", `{}`)
		if len(r.Content) != 3 || !r.IsError {
			b.Fatalf("%d parts: %.300s", len(r.Content), encoded(r.Content))
		}
		text, _ := r.Content[0].(*mcp.TextContent)
		picture, _ := r.Content[1].(*mcp.ImageContent)
		blob, _ := r.Content[2].(*mcp.EmbeddedResource)
		switch {
		case text == nil || picture == nil || blob == nil:
			b.Fatalf("%.300s", encoded(r.Content))
		case !strings.HasPrefix(text.Text, "Error (failed):\none of many lines\none") || !strings.Contains(text.Text, " left out by "):
			b.Errorf("text %.200q", text.Text)
		case picture.Annotations == nil || blob.Resource.URI != "demo://blob" || string(blob.Resource.Blob) != "small":
			b.Errorf("parts %s", encoded(r.Content[1:]))
		}
		id, _ := r.Meta[archiveKey].(string)
		whole, err := s.ReadResource(b.Context(), &mcp.ReadResourceParams{URI: archiveURI(id)})
		if err != nil {
			b.Fatal(err)
		}
		if got := whole.Contents[0].Text; !strings.HasPrefix(got, one+"\n[part –: image/png, 3 bytes]\ndemo://two:\n") || !strings.Contains(got, strings.ReplaceAll(two, "\r\n", "\n")) {
			b.Errorf("the archive has %d bytes: %.100q", len(got), got)
		}
	})
}
