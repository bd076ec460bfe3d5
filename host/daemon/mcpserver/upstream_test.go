package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/plugin"
)

type weather struct {
	Celsius float64  `json:"celsius" jsonschema:"the temperature"`
	Wind    string   `json:"wind"`
	Hours   []string `json:"hours,omitempty"`
}

// newUpstream is another server for weir: structured answers, pictures between texts, an
// output schema that is hostile.
func newUpstream(t *testing.T) string {
	m := mcp.NewServer(&mcp.Implementation{Name: "upstream", Version: "1"}, nil)
	type none struct{}
	mcp.AddTool(m, &mcp.Tool{Name: "weather"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, weather, error) {
		return nil, weather{Celsius: 12.5, Wind: "west"}, nil
	})
	mcp.AddTool(m, &mcp.Tool{Name: "long_weather"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, weather, error) {
		return nil, weather{Hours: strings.Split(strings.Repeat("rain ", 4000), " ")}, nil
	})
	raw := func(name, output string, r *mcp.CallToolResult) {
		x := &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
		if output != "" {
			x.OutputSchema = json.RawMessage(output)
		}
		m.AddTool(x, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return r, nil })
	}
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	raw("wrapped", "", &mcp.CallToolResult{Content: []mcp.Content{text("a file\nof two lines")}, StructuredContent: json.RawMessage(`{"content":"a file\nof two lines"}`)})
	raw("wrapped_list", "", &mcp.CallToolResult{Content: []mcp.Content{text("one"), text(`{"n":2}`)}, StructuredContent: json.RawMessage(`{"result":["one",{"n":2}]}`)})
	raw("more", "", &mcp.CallToolResult{Content: []mcp.Content{text("one")}, StructuredContent: json.RawMessage(`{"result":["one","two"]}`)})
	raw("pictures", "", &mcp.CallToolResult{Content: []mcp.Content{text("before"), &mcp.ImageContent{Data: []byte("PNG1"), MIMEType: "image/png"}, text("between"),
		&mcp.ImageContent{Data: []byte("PNG1"), MIMEType: "image/png"}, text("after")}})
	costly := `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 50) + `{"$ref":"#/$defs/a"}]}}}`
	raw("costly", costly, &mcp.CallToolResult{Content: []mcp.Content{text("x")}, StructuredContent: json.RawMessage(`{}`)})
	raw("pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"((a{1000}){1000}){1000}"}}}`, &mcp.CallToolResult{Content: []mcp.Content{text("x")}, StructuredContent: json.RawMessage(`{"a":"b"}`)})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	return web.URL
}

func newUpstreamBench(t *testing.T, change ...func(*Config)) *bench {
	url := newUpstream(t)
	b := newBench(t, func(c *host.Config, own *Config) {
		for _, f := range change {
			f(own)
		}
		c.Servers = []plugin.Server{{Name: "up", URL: url}}
		c.Approvals = approval.Policy{Default: approval.Allow}
	})
	if err := b.host.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.server.Refresh()
	return b
}

// The first list of tools waits for servers that start: many clients ask once.
func TestListWaitsForServersThatStart(t *testing.T) {
	m := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	m.AddTool(&mcp.Tool{Name: "late", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	handler, started := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil), make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-started:
			handler.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(web.Close)
	start := sync.OnceFunc(func() { close(started) })
	var asked atomic.Bool
	var forward atomic.Int64
	b := newBench(t, func(c *host.Config, own *Config) {
		c.Servers = []plugin.Server{{Name: "up", URL: web.URL}}
		own.Now = func() time.Time {
			if asked.Load() {
				start()
			}
			return time.Now().Add(time.Duration(forward.Load()))
		}
	})
	has := func() bool {
		l, err := ways[0].join(b, nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(l.Tools, func(x *mcp.Tool) bool { return x.Name == "up__late" })
	}
	forward.Store(int64(firstLists))
	if has() {
		t.Error("the server has answered before it started")
	}
	forward.Store(0)
	asked.Store(true)
	if !has() {
		t.Error("the list did not wait for the server")
	}
}

// A client that wants to know how a call gets on hears that it runs, also where the server says
// nothing: it would give the call up.
func TestSilentCallsAreProgress(t *testing.T) {
	heard := make(chan struct{})
	m := mcp.NewServer(&mcp.Implementation{Name: "silent", Version: "1"}, nil)
	m.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-heard:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	b := newBench(t, func(c *host.Config, _ *Config) {
		c.Servers = []plugin.Server{{Name: "up", URL: web.URL}}
		c.Approvals = approval.Policy{Default: approval.Allow}
	})
	if err := b.host.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.server.Refresh()
	b.server.saysEvery = time.Millisecond
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			var last atomic.Value
			var times atomic.Int32
			s := w.join(&bench{T: t, host: b.host, server: b.server, url: b.url}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					if last.Store(*r.Params); times.Add(1) == 3 {
						heard <- struct{}{}
					}
				},
			})
			p := &mcp.CallToolParams{Name: "up__wait", Arguments: json.RawMessage(`{}`)}
			p.SetProgressToken("tell me")
			if r, err := s.CallTool(t.Context(), p); err != nil || r.IsError {
				t.Errorf("%+v, %v", r, err)
			}
			if got := last.Load().(mcp.ProgressNotificationParams); got.Message != "running" || got.ProgressToken != "tell me" || got.Progress >= 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// An output schema that is not bounded is left out with a reason.
func TestOutputSchemasAreBounded(t *testing.T) {
	b := newUpstreamBench(t)
	var why []string
	for _, p := range b.host.Plugins() {
		for _, text := range p.Problems {
			why = append(why, text.String())
		}
	}
	for _, name := range []string{"up__pattern", "up__costly"} {
		if !slices.ContainsFunc(why, func(s string) bool { return strings.HasPrefix(s, "the output schema of "+name+" is left out: ") }) {
			t.Errorf("nothing is said of %s in %q", name, why)
		}
	}
}

// Structured answers and their schemas come through, to clients that check them too.
func TestStructuredAnswersPass(t *testing.T) {
	b := newUpstreamBench(t)
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		list, err := s.ListTools(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		outputs := map[string]string{}
		for _, x := range list.Tools {
			if x.OutputSchema != nil {
				outputs[x.Name] = fmt.Sprint(x.OutputSchema)
			}
		}
		for _, name := range []string{"up__weather", "up__long_weather"} {
			if !strings.Contains(outputs[name], "the temperature") || !strings.Contains(outputs[name], "required") || strings.Contains(outputs[name], "left_out") {
				b.Errorf("%s has the output schema %s", name, outputs[name])
			}
		}
		for _, name := range []string{"up__costly", "up__pattern"} {
			if outputs[name] != "" {
				b.Errorf("%s passes the output schema %s", name, outputs[name])
			}
		}
		r := b.call(s, "up__weather", `{}`)
		if got := fmt.Sprint(r.StructuredContent); got != "map[celsius:12.5 wind:west]" || !strings.Contains(textOf(r), "12.5") || len(r.Content) != 1 {
			b.Errorf("weather: %s, %+v", got, r.Content)
		}
		r = b.call(s, "up__long_weather", `{}`)
		if whole, _ := r.StructuredContent.(map[string]any); len(whole["hours"].([]any)) != 4001 || len(whole) != 3 || r.IsError {
			b.Errorf("a long answer has %d members", len(whole))
		}
	})
}

// Clients that show a model the structured answer get a long one shortened, with what is left
// out, by a schema that says so. The settings decide, and before them the address.
func TestStructuredAnswersAreShortened(t *testing.T) {
	b := newUpstreamBench(t, func(c *Config) {
		c.ClientOf = func(s Sender) Client { return Client{Short: s.Info == "test"} }
	})
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		list, err := s.ListTools(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		output := ""
		for _, x := range list.Tools {
			if x.Name == "up__long_weather" {
				text, err := json.Marshal(x.OutputSchema)
				if err != nil {
					b.Fatal(err)
				}
				output = string(text)
			}
		}
		r := b.call(s, "up__long_weather", `{}`)
		text, err := json.Marshal(r.StructuredContent)
		if err != nil {
			b.Fatal(err)
		}
		var got struct {
			weather
			Weir rest `json:"weir"`
		}
		if err := json.Unmarshal(text, &got); err != nil {
			b.Fatal(err)
		}
		if len(text) > 8000 || len(text) < 7000 || len(got.Hours)+got.Weir.LeftOut.Items != 4001 || got.Weir.UUID != r.Meta[archiveKey] || got.Weir.Load != `load_tool_history(uuid="`+got.Weir.UUID+`")` {
			b.Errorf("%d bytes, %d items, %+v", len(text), len(got.Hours), got.Weir)
		}
		compiled, err := schema.Compile(json.RawMessage(output))
		if err != nil {
			b.Fatal(err)
		}
		if v, err := schema.Decode(text); err != nil || !compiled.Fits(v) || !strings.Contains(output, "left_out") {
			b.Errorf("%s does not fit %s", text, output)
		}
		if r := b.call(s, "up__weather", `{}`); fmt.Sprint(r.StructuredContent) != "map[celsius:12.5 wind:west]" {
			b.Errorf("a short answer: %v", r.StructuredContent)
		}
	})
	b.url += "?structured=whole"
	if r := b.call(b.http(nil, "", "me"), "up__long_weather", `{}`); strings.Contains(fmt.Sprint(r.StructuredContent), "left_out") {
		t.Error("the address asks for the whole")
	}
}

// An answer over the bound fails where a client has been promised one, with the id of the
// whole beside the text.
func TestStructuredAnswerOverTheBound(t *testing.T) {
	var refused atomic.Int32
	b := newUpstreamBench(t, func(c *Config) {
		c.StructuredBytes = 10_000
		c.Structured = func(outcome string, bytes int) {
			if outcome == "refused" && bytes > 20_000 {
				refused.Add(1)
			}
		}
	})
	t.Cleanup(func() {
		if refused.Load() != int32(len(ways)) {
			t.Errorf("%d refused answers are counted", refused.Load())
		}
	})
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		r := b.call(s, "up__long_weather", `{}`)
		id, _ := r.Meta[archiveKey].(string)
		if !r.IsError || r.StructuredContent != nil || id == "" || !strings.Contains(textOf(r), "is not passed on; the maximum is 10000; it is archived as "+id) || !strings.Contains(textOf(r), "load_tool_history(uuid=") {
			b.Errorf("%v: %.300s", r.IsError, textOf(r))
		}
		if whole := textOf(b.call(s, "load_tool_history", `{"uuid":"`+id+`","pointer":"/hours/4000"}`)); strings.Contains(whole, "Error") {
			b.Errorf("the whole: %s", whole)
		}
	})
}

// A structured answer that only repeats the text is no part of its own.
func TestStructuredAnswerThatRepeatsTheText(t *testing.T) {
	b := newUpstreamBench(t)
	s := b.http(nil, "", "me")
	for name, want := range map[string]string{
		"up__wrapped":      "a file\nof two lines",
		"up__wrapped_list": "one\n{\"n\":2}",
		"up__more":         "one", // the client has the structured answer
	} {
		r := b.call(s, name, `{}`)
		if textOf(r) != want || r.StructuredContent == nil {
			t.Errorf("%s: %q, %v", name, textOf(r), r.StructuredContent)
		}
	}
}

// Texts and pictures keep their order.
func TestPicturesBetweenTexts(t *testing.T) {
	b := newUpstreamBench(t)
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		var got []string
		for _, c := range b.call(s, "up__pictures", `{}`).Content {
			switch c := c.(type) {
			case *mcp.TextContent:
				got = append(got, c.Text)
			case *mcp.ImageContent:
				got = append(got, string(c.Data))
			}
		}
		if strings.Join(got, "|") != "before|PNG1|between|PNG1|after" {
			b.Errorf("%q", got)
		}
	})
}

// A call of a tool of a server that never listed any says that the server is down, and why.
func TestToolOfAServerThatIsDown(t *testing.T) {
	b := newBench(t, func(c *host.Config, _ *Config) {
		c.Servers = []plugin.Server{{Name: "crash-y", Command: "/bin/sh", Args: []string{"-c", "echo no key >&2; exit 3"}}}
	})
	if err := b.host.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.server.Refresh()
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		for _, name := range []string{"crash-y__x", "crash_y__x"} {
			r := b.call(s, name, `{}`)
			want := name + " cannot be called: the MCP server crash-y is not ready: it is down: the program ended with code 3; its last lines: no key"
			if !r.IsError || !strings.Contains(textOf(r), want) {
				b.Errorf("%s", textOf(r))
			}
		}
	})
}

// Where a tool of another server fails because the server asks its client for something,
// weir says that it is weir that does not pass it on.
func TestQuestionsOfServersAreNotPassedOn(t *testing.T) {
	m := mcp.NewServer(&mcp.Implementation{Name: "asks", Version: "1"}, nil)
	type none struct{}
	add := func(name string, f func(*mcp.CallToolRequest) error) {
		mcp.AddTool(m, &mcp.Tool{Name: name}, func(_ context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, f(r)
		})
	}
	add("elicit", func(r *mcp.CallToolRequest) error {
		_, err := r.Session.Elicit(t.Context(), &mcp.ElicitParams{Message: "which?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		return err
	})
	add("roots", func(r *mcp.CallToolRequest) error {
		_, err := r.Session.ListRoots(t.Context(), nil)
		return err
	})
	add("typescript", func(*mcp.CallToolRequest) error { return errors.New("Client does not support form elicitation.") })
	add("fails", func(*mcp.CallToolRequest) error { return errors.New("no such city") })
	add("works", func(r *mcp.CallToolRequest) error { return nil })
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(web.Close)
	b := newBench(t, func(c *host.Config, _ *Config) {
		c.Servers = []plugin.Server{{Name: "asks", URL: web.URL}}
		c.Approvals = approval.Policy{Default: approval.Allow}
	})
	if err := b.host.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.server.Refresh()
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		for name, said := range map[string]bool{"elicit": true, "roots": true, "typescript": true, "fails": false, "works": false} {
			r := b.call(s, "asks__"+name, `{}`)
			if got := textOf(r); strings.Contains(got, "weir passes on nothing that a server asks") != said || r.IsError != (name != "works") {
				b.Errorf("%s: %s", name, got)
			}
		}
	})
}

// Clients and models may call a tool by what its server calls it, in each way to call.
func TestCallsByServersOwnNames(t *testing.T) {
	b := newUpstreamBench(t)
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		if r := b.call(s, "weather", `{}`); r.IsError || !strings.Contains(textOf(r), "12.5") {
			b.Errorf("weather: %s", textOf(r))
		}
	})
	b = newUpstreamBench(t, func(c *Config) { c.Listing = ListSearch })
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		for _, row := range [][3]string{
			{"weather", `{}`, "12.5"}, {"call_tool", `{"name":"weather","arguments":{}}`, "12.5"}, {"describe_tool", `{"name":"weather"}`, "up__weather"},
		} {
			if r := b.call(s, row[0], row[1]); r.IsError || !strings.Contains(textOf(r), row[2]) {
				b.Errorf("%s %s: %s", row[0], row[1], textOf(r))
			}
		}
	})
}
