package mcpserver

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host"
)

func names(t *testing.T, s *mcp.ClientSession) []string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range list.Tools {
		out = append(out, x.Name)
	}
	return out
}

// The address of the server chooses the list before the settings for the client, and these
// before the user's. Clients with different lists do not disturb one another, and what is not
// listed can be called by its name in a list for searching alone.
func TestListByAddressAndClient(t *testing.T) {
	own := Listing("")
	b := newBench(t, func(_ *host.Config, c *Config) {
		c.Listing = ListSearch
		c.ClientOf = func(Sender) Client { return Client{Listing: own} }
	})
	url := b.url
	for _, row := range []struct {
		query string
		own   Listing
		all   bool
	}{
		{"", "", false},
		{"?tools=all", "", true},
		{"?tools=auto", "", true},
		{"", ListAll, true},
		{"?tools=search", ListAll, false},
	} {
		b.url, own = url+row.query, row.own
		for _, version := range []string{"2025-11-25", ""} {
			s := b.http(nil, version, "me")
			got := names(t, s)
			if slices.Contains(got, "echo") != row.all || slices.Contains(got, "find_tools") == row.all || !slices.Contains(got, "load_tool_history") {
				t.Errorf("%+v lists %q", row, got)
			}
			if r := b.call(s, "echo", `{"text":"a"}`); textOf(r) != "a" {
				t.Errorf("%+v: echo: %s", row, textOf(r))
			}
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"name": "echo", "arguments": map[string]any{"text": "b"}}})
			if (err != nil) != row.all {
				t.Errorf("%+v: call_tool: %v", row, err)
			}
		}
	}
	b.url = url + "?tools=none"
	if r := b.post("me", nil, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.StatusCode != http.StatusBadRequest {
		t.Errorf("another value: %s", r.Status)
	}
}

// A client cannot send the headers by which the server hands on the parameters of the address.
func TestAddressHeaders(t *testing.T) {
	r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp?structured=short", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(toolsHeader, "all")
	if name, _ := addressed(r); name != "" || r.Header.Get(toolsHeader) != "" || r.Header.Get(structuredHeader) != "short" {
		t.Errorf("%q, %v", name, r.Header)
	}
}
