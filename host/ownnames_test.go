package host

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// listing is a server with tools of those names.
func listing(t *testing.T, names ...string) string {
	m := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	for _, name := range names {
		m.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	return web.URL
}

// What servers themselves call their tools: a rule that denies by such a name denies every
// tool that has it, one that allows holds while one tool alone has it and every server has
// answered, and a name of another tool is never one of a server's.
func TestServersOwnNames(t *testing.T) {
	rules := func(action approval.Action, names ...string) (out []approval.Rule) {
		for _, name := range names {
			out = append(out, approval.Rule{Tool: name, Action: action})
		}
		return out
	}
	one, two := listing(t, "get-sum", "both", "find_tools", "script"), listing(t, "both", "b.c")
	for _, row := range []struct {
		why     string
		servers []plugin.Server
		rules   []approval.Rule
		name    string
		runs    bool
	}{
		{"nothing is said", []plugin.Server{{Name: "one", URL: one}}, nil, "one__get-sum", false},
		{"one has the name", []plugin.Server{{Name: "one", URL: one}, {Name: "two", URL: two}}, rules(approval.Allow, "get-sum"), "one__get-sum", true},
		{"a name with a dot", []plugin.Server{{Name: "two", URL: two}}, rules(approval.Allow, "b.c"), "two__b_c", true},
		{"two have it", []plugin.Server{{Name: "one", URL: one}, {Name: "two", URL: two}}, rules(approval.Allow, "both"), "one__both", false},
		{"one has it alone", []plugin.Server{{Name: "two", URL: two}}, rules(approval.Allow, "both"), "two__both", true},
		{"another server has not answered", []plugin.Server{{Name: "down", URL: "http://127.0.0.1:1/"}, {Name: "two", URL: two}}, rules(approval.Allow, "both"), "two__both", false},
		{"a tool of weir has the name", []plugin.Server{{Name: "one", URL: one}}, rules(approval.Allow, "find_tools"), "one__find_tools", false},
		{"a script has the name", []plugin.Server{{Name: "one", URL: one}}, rules(approval.Allow, "script"), "one__script", false},
		{"a pattern", []plugin.Server{{Name: "one", URL: one}}, rules(approval.Allow, "get-*"), "one__get-sum", false},
		{"denied, then all allowed", []plugin.Server{{Name: "one", URL: one}, {Name: "two", URL: two}}, append(rules(approval.Deny, "both"), rules(approval.Allow, "*")...), "two__both", false},
		{"denied in the old form", []plugin.Server{{Name: "one", URL: one}}, append(rules(approval.Deny, "get_sum"), rules(approval.Allow, "*")...), "one__get-sum", false},
	} {
		h, err := Open(t.Context(), Config{Settings: Settings{Servers: row.servers, Taken: []string{"script"}, Approvals: approval.Policy{Default: approval.Deny, Rules: row.rules}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.WaitServers(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := h.Session("p", "c").Call(t.Context(), tool.Call{Tool: row.name, Args: json.RawMessage(`{}`)})
		if err != nil || (r.Err == nil) != row.runs {
			t.Errorf("%s: %+v, %v", row.why, r.Err, err)
		}
		h.Close()
	}
}

// A caller may use such a name; one that two servers have names both.
func TestCallersUseServersOwnNames(t *testing.T) {
	h, err := Open(t.Context(), Config{Settings: Settings{Servers: []plugin.Server{{Name: "one", URL: listing(t, "get-sum", "both")}, {Name: "two", URL: listing(t, "both")}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := func(string) bool { return true }
	if name, _ := h.Named("get-sum", all); name != "one__get-sum" {
		t.Errorf("get-sum is %q", name)
	}
	if err := h.NoTool("both", true, all); !strings.Contains(err.(*tool.Error).Hint, "one__both, two__both") {
		t.Errorf("both: %v", err)
	}
	if name, _ := h.Named("both", func(name string) bool { return name == "two__both" }); name != "two__both" {
		t.Errorf("both is %q to who sees one of them", name)
	}
}
