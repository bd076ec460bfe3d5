package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	officeVerbs = "archive rename print translate approve reject merge export encrypt publish"
	officeNouns = "invoice contract meeting employee holiday warehouse shipment supplier customer ticket budget salary recipe garden camera playlist " +
		"festival museum telescope submarine volcano orchestra lighthouse windmill bicycle helicopter passport embassy pharmacy vaccine allergy thermostat " +
		"sensor antenna satellite glacier avalanche orchard vineyard bakery aquarium theater stadium marathon chess puzzle lottery mortgage pension dividend tax"
)

// office is 510 tools of three MCP servers, and their names.
func office(t *testing.T) (servers []plugin.Server, names []string) {
	for i, nouns := range slices.Collect(slices.Chunk(strings.Fields(officeNouns), 17)) {
		m := mcp.NewServer(&mcp.Implementation{Name: "office", Version: "1"}, nil)
		server := fmt.Sprintf("office%d", i)
		for _, noun := range nouns {
			for _, verb := range strings.Fields(officeVerbs) {
				name := verb + "_" + noun
				names = append(names, server+"__"+name)
				m.AddTool(&mcp.Tool{
					Name: name, Description: fmt.Sprintf("Can %s one %s of the company. The number of the %s has to be known; its state is changed at once, and everybody who follows it is notified.", verb, noun, noun),
					InputSchema: json.RawMessage(`{"type":"object","properties":{"number":{"type":"integer","description":"the number of the ` + noun + `"},"note":{"type":"string"}},"required":["number"]}`),
				}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done: " + name + " " + string(req.Params.Arguments)}}}, nil
				})
			}
		}
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
		t.Cleanup(web.Close)
		servers = append(servers, plugin.Server{Name: server, URL: web.URL})
	}
	return servers, names
}

func officeServer(t *testing.T, m agent.Model) (*server, []string) {
	servers, names := office(t)
	s := serverWith(t, m, func(c *host.Config) {
		c.Servers, c.Approvals = servers, approval.Policy{Default: approval.Allow}
	})
	if err := s.host.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The index is made in the background, and nothing tells that it is there.
	testtime.Until(t, "the tools are found", func() bool {
		return len(s.host.FindTools(t.Context(), host.ToolQuery{Text: names[509], Count: 1})) > 0
	})
	return s, names
}

// A model that knows find_tools alone reaches ten of 510 tools, in either mode, and what
// is sent of them is short and stays the same.
func TestTenOfFiveHundredToolsAreReached(t *testing.T) {
	signature := regexp.MustCompile(`(?m)^- (office\d__\w+)\(number: integer, note\?: string\): Can`)
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprint("native ", native), func(t *testing.T) {
			want := ""
			call := func(r agent.Request, name, args string) replay.Reply {
				switch {
				case !native:
					return replay.Call(name, args)
				case !slices.ContainsFunc(r.Tools, func(s tool.Spec) bool { return s.Name == name }):
					name, args = tool.CallTool, fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)
				}
				return replay.Reply{Calls: []tool.Call{{ID: fmt.Sprint("c", len(r.Messages)), Tool: name, Args: json.RawMessage(args)}}}
			}
			m := replay.Func(func(n int, r agent.Request) replay.Reply {
				last := r.Messages[len(r.Messages)-1].Text
				switch found := signature.FindStringSubmatch(last); {
				case n%3 == 0:
					return call(r, tool.FindTools, fmt.Sprintf(`{"query":"%s","count":3}`, strings.ReplaceAll(want[len("office0__"):], "_", " one ")))
				case n%3 == 1 && found != nil:
					return call(r, found[1], `{"number":7}`)
				}
				return replay.Text("I have done it.")
			}).Describing(agent.ModelInfo{Name: "m", Window: 32768, NativeTools: &native})
			s, names := officeServer(t, m)
			conversation := ""
			for i := range 10 {
				want = names[51*i+i]
				a := s.post("/api/chat", fmt.Sprintf(`{"message":"Go on.","conversation_id":%q}`, conversation))
				end := last[api.ChatEnd](t, events(a.body), api.EventEnd)
				conversation = end.Conversation
				if len(end.Results) != 2 || end.Results[1].Tool != want || !end.Results[1].OK {
					t.Fatalf("%s: the results are %+v", want, end.Results)
				}
			}
			first := ""
			for _, r := range m.Requests() {
				told, _ := json.Marshal([]any{r.System, r.Tools})
				if first == "" {
					first = string(told)
					n := new(agent.Estimator).Tokens(first)
					t.Logf("%d tools cost %d tokens", len(names), n)
					if n > 2000 {
						t.Errorf("the tools cost %d tokens", n)
					}
				}
				if string(told) != first {
					t.Fatal("what is sent of tools has changed")
				}
			}
			metrics := s.get("/metrics").body
			for _, line := range []string{`weir_tool_searches_total{by="model",outcome="found"} 10`, `weir_tool_searches_total{by="question",outcome="none"} 10`, "weir_tool_found_rank_count 10", `weir_tool_found_rank_bucket{le="1"} 10`} {
				if !strings.Contains(metrics, line) {
					t.Errorf("no %s in %s", line, grep(metrics, "weir_tool_"))
				}
			}
			if a := s.get("/api/traces?limit=1"); !strings.Contains(a.body, `"id":10`) {
				t.Errorf("traces %s", a.body)
			}
			if a := s.get("/api/traces/10"); !strings.Contains(a.body, `"found":["`+want) || !strings.Contains(a.body, `"found_rank":1`) {
				t.Errorf("trace %s", a.body)
			}
		})
	}
}

// The same over MCP, where a client lists the tools of the search alone.
func TestTenOfFiveHundredToolsAreReachedOverMCP(t *testing.T) {
	s, names := officeServer(t, replay.New())
	signature := regexp.MustCompile(`(?m)^- (office\d__\w+)\(`)
	for _, version := range []string{"", "2025-11-25"} {
		c := s.mcp(version)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for _, x := range list.Tools {
			listed = append(listed, x.Name)
		}
		slices.Sort(listed)
		if want := []string{"call_tool", "describe_tool", "find_tools", "load_tool_history", "run_script", "search_tool_history"}; !slices.Equal(listed, want) {
			t.Fatalf("the list has %q", listed)
		}
		text, _ := json.Marshal(list.Tools)
		n := new(agent.Estimator).Tokens(string(text))
		t.Logf("%d tools cost %d tokens", len(names), n)
		if n > 2000 {
			t.Errorf("the list costs %d tokens", n)
		}
		call := func(name string, args map[string]any) string {
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
			if err != nil || len(r.Content) == 0 {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
			return r.Content[0].(*mcp.TextContent).Text
		}
		for i := range 10 {
			want := names[51*i+i]
			found := signature.FindStringSubmatch(call("find_tools", map[string]any{"query": strings.ReplaceAll(want[len("office0__"):], "_", " one ")}))
			if found == nil || found[1] != want {
				t.Fatalf("%s: found %q", want, found)
			}
			if got := call("call_tool", map[string]any{"name": want, "arguments": map[string]any{"number": 7}}); !strings.Contains(got, "done: "+want[len("office0__"):]) {
				t.Errorf("%s returns %s", want, got)
			}
			if got := call(want, map[string]any{"number": 8}); !strings.Contains(got, `"number":8`) { // its name is known from elsewhere
				t.Errorf("%s, called by its name, returns %s", want, got)
			}
		}
		if got := call("describe_tool", map[string]any{"name": names[0]}); !strings.Contains(got, "## "+names[0]) {
			t.Errorf("describe_tool returns %s", got)
		}
		for args, want := range map[string]string{`{"name":"office0__archive_invoic"}`: "office0__archive_invoice", `{"name":"call_tool"}`: "call_tool", `{"name":"qqqqzzzz"}`: "find_tools", `{}`: `"name"`} {
			var in map[string]any
			_ = json.Unmarshal([]byte(args), &in) // a literal
			if got := call("call_tool", in); !strings.Contains(got, want) {
				t.Errorf("%s: %s", args, got)
			}
		}
	}
	s.daemon.calls.Flush()
	body := s.get("/metrics").body
	if !strings.Contains(body, `weir_tool_searches_total{by="client",outcome="found"} 20`) || strings.Contains(body, `tool="call_tool",outcome="ok"`) {
		t.Errorf("metrics %s", grep(body, "weir_tool_")+grep(body, "call_tool"))
	}
}

// A user reaches over the search what the user sees, and nothing else; the listing can
// be the user's own.
func TestASearchKeepsToWhatAUserSees(t *testing.T) {
	s, names := officeServer(t, replay.New())
	users := func(listing string) {
		cfg := s.daemon.cfg
		if err := s.daemon.Configure(Setup{Models: cfg.Models, Profiles: cfg.Profiles, Users: map[string]User{
			"ann": {TokenSHA256: sha256.Sum256([]byte(annToken)), Tools: []string{names[0], names[1]}, Listing: listing},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	users("search")
	got := s.as(annToken, "GET", "/api/tools?query="+url.QueryEscape("archive the invoice or reject it"), "").body
	if !strings.Contains(got, names[0]) || strings.Contains(got, "reject_invoice") {
		t.Errorf("the user finds %s", got)
	}
	session := s.mcpAs(annToken, "")
	call := func(name string, args map[string]any) *mcp.CallToolResult {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	hidden := names[5]
	for _, r := range []*mcp.CallToolResult{
		call("find_tools", map[string]any{"query": hidden + " " + strings.ReplaceAll(hidden, "_", " ")}),
		call("describe_tool", map[string]any{"name": hidden}), call("call_tool", map[string]any{"name": hidden, "arguments": map[string]any{"number": 1}}),
		call("call_tool", map[string]any{"name": "describe_tool", "arguments": map[string]any{"name": hidden}}),
	} {
		text, _ := json.Marshal(r)
		if strings.Contains(string(text), "- "+hidden+"(") || strings.Contains(string(text), "## "+hidden) || strings.Contains(string(text), "done:") {
			t.Errorf("the user reads %s", text)
		}
	}
	if r := call("call_tool", map[string]any{"name": names[0], "arguments": map[string]any{"number": 1}}); r.IsError {
		t.Errorf("a tool that the user sees: %+v", r)
	}
	users(string(mcpserver.ListAll))
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 5 {
		t.Errorf("with all: %d tools, %v", len(list.Tools), err)
	}
}

// Tools that the settings pin while the daemon runs are in the list at once.
func TestPinnedToolsAreListed(t *testing.T) {
	s, names := officeServer(t, replay.New())
	listed := func() bool {
		list, err := s.mcp("").ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Tools, func(x *mcp.Tool) bool { return x.Name == names[7] })
	}
	for _, pinned := range [][]string{nil, {names[7]}, nil} {
		c := s.daemon.current.State().Config
		p := c.Profiles["default"]
		p.Agent.PinnedTools = pinned
		c.Profiles = map[string]Profile{"default": p}
		if err := s.daemon.Configure(c); err != nil {
			t.Fatal(err)
		}
		if listed() != (len(pinned) > 0) {
			t.Errorf("with %q pinned it is listed: %v", pinned, listed())
		}
	}
}

// A call over call_tool waits for a person as a direct one does.
func TestCallToolAsksLikeADirectCall(t *testing.T) {
	servers, names := office(t)
	s := serverWith(t, replay.New(), func(c *host.Config) { c.Servers = servers })
	if err := s.host.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := s.mcp("").CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"name": names[0], "arguments": map[string]any{"number": 1}}})
	if err != nil || !r.IsError || strings.Contains(fmt.Sprint(r.Content[0]), "done:") {
		t.Errorf("%+v, %v", r, err)
	}
	s.daemon.calls.Flush()
	if body := s.get("/metrics").body; !strings.Contains(body, `outcome="denied",tool="`+names[0]+`"`) {
		t.Errorf("metrics %s", grep(body, "calls_total"))
	}
}

// What a user calls again and again after a tool is found earlier after that tool, for
// that user.
func TestToolsUsedTogetherAreFoundEarlier(t *testing.T) {
	s, names := officeServer(t, replay.New())
	first := func(principal host.Principal, conversation string) string {
		return append(s.host.Session(principal, conversation).FindTools(t.Context(), "do something with the glacier", 5), "")[0]
	}
	plain := first("ann", "new")
	var next string
	for _, name := range names {
		if strings.HasSuffix(name, "_glacier") && name != plain {
			next = name
		}
	}
	session := s.host.Session("ann", "old").ByPerson()
	for range 3 {
		for _, name := range []string{names[0], next} {
			if r, err := session.Call(t.Context(), tool.Call{Tool: name, Args: json.RawMessage(`{"number":1}`)}); err != nil || r.Err != nil {
				t.Fatal(r.Err, err)
			}
		}
	}
	for _, principal := range []host.Principal{"ann", "bob"} {
		if _, err := s.host.Session(principal, "new").Call(t.Context(), tool.Call{Tool: names[0], Args: json.RawMessage(`{"number":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if plain == "" || first("ann", "new") != next || first("bob", "new") != plain {
		t.Errorf("%s and %s are found, not %s and %s", first("ann", "new"), first("bob", "new"), next, plain)
	}
}
