package host

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A server gets the arguments that its schema neither names nor forbids.
func TestServersDecideAboutUnknownArguments(t *testing.T) {
	m := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	for name, more := range map[string]string{"open": "", "closed": `,"additionalProperties":false`} {
		schema := json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]` + more + `}`)
		m.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	s := served(t, nil, plugin.Server{Name: "echo", URL: web.URL}).Session("me", "c1").ByPerson()
	if got := call(t, s, "echo__open", `{"message":"x","extra":1}`).Whole(); got != `{"extra":1,"message":"x"}` {
		t.Errorf("%s", got)
	}
	for name, args := range map[string]string{"echo__closed": `{"message":"x","extra":1}`, "echo__open": `{"mesage":"x"}`} {
		e := try(t, s, name, args).Err
		if e == nil || e.Code != tool.BadArgs || !strings.Contains(e.Msg, "is not an argument of this tool") {
			t.Errorf("%s: %v", name, e)
		}
	}
}
