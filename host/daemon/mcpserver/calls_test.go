package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// everyWay runs a test over each transport and revision.
func everyWay(t *testing.T, b *bench, o *mcp.ClientOptions, f func(b *bench, s *mcp.ClientSession)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			mine := &bench{T: t, host: b.host, server: b.server, url: b.url, folder: b.folder}
			f(mine, w.join(mine, o))
		})
	}
}

func TestList(t *testing.T) {
	b := newBench(t, func(c *host.Config, m *Config) {
		c.Tools = map[string]host.ToolConfig{"long": {Limits: tool.Limits{MaxChars: 1500}}}
		m.Deny = []string{"wait"}
	})
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		if got := s.InitializeResult(); !strings.Contains(got.Instructions, "load_tool_history") || got.ServerInfo.Name != "weir" {
			t.Errorf("introduces itself as %+v", got)
		}
		list, err := s.ListTools(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		tools := map[string]*mcp.Tool{}
		for _, x := range list.Tools {
			tools[x.Name] = x
		}
		if tools["wait"] != nil {
			b.Error("a tool that is denied is listed")
		}
		long := tools["long"]
		if long == nil || tools["load_tool_history"] == nil || tools["search_tool_history"] == nil {
			b.Fatalf("%d tools", len(tools))
		}
		if n := long.Meta[sizeKey]; fmt.Sprint(n) != "1500" {
			b.Errorf("long says that its results have %v characters", n)
		}
		a := long.Annotations
		if !a.ReadOnlyHint || !a.IdempotentHint || *a.DestructiveHint || *a.OpenWorldHint {
			b.Errorf("annotations %+v", a)
		}
		schema, err := json.Marshal(tools["json_schema_2020_12_tool"].InputSchema)
		if err != nil || !strings.Contains(string(schema), "$defs") {
			b.Errorf("schema %s, %v", schema, err)
		}
		if r, err := s.CallTool(b.Context(), &mcp.CallToolParams{Name: "wait"}); err == nil && !r.IsError {
			b.Error("a tool that is denied can be called")
		}
	})
}

func TestCall(t *testing.T) {
	b := newBench(t, nil)
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		if r := b.call(s, "echo", `{"text":"第一页 \"<b>\"\n"}`); r.IsError || textOf(r) != "第一页 \"<b>\"\n" || len(r.Content) != 1 {
			b.Errorf("echo: %+v", r)
		}
		r := b.call(s, "test_error_handling", `{}`)
		e, _ := r.Meta[errorKey].(map[string]any)
		if !r.IsError || !strings.Contains(textOf(r), "intentionally") || !strings.Contains(textOf(r), "call another one") || e["code"] != "failed" {
			b.Errorf("a failure: %s, %v", textOf(r), r.Meta)
		}
		if r := b.call(s, "echo", `{"text":7}`); !r.IsError || !strings.Contains(textOf(r), "text") {
			b.Errorf("wrong arguments: %s", textOf(r))
		}
		if _, err := s.CallTool(b.Context(), &mcp.CallToolParams{Name: "nothing"}); err == nil || !strings.Contains(err.Error(), "nothing") {
			b.Errorf("an unknown tool: %v", err)
		}
		r = b.call(s, "test_multiple_content_types", `{}`)
		var kinds []string
		for _, c := range r.Content {
			kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", c), "*mcp."))
		}
		if got := strings.Join(kinds, " "); got != "TextContent ImageContent EmbeddedResource" {
			b.Errorf("content: %s", got)
		}
		if r := b.call(s, "structured", `{}`); fmt.Sprint(r.StructuredContent) != "map[celsius:12]" {
			b.Errorf("structured: %v", r.StructuredContent)
		}
	})
	if len(b.told()) == 0 {
		t.Error("nobody was told of any call")
	}
}

// linked makes clients ones that show links.
func linked(_ *host.Config, c *Config) {
	c.ClientOf = func(Sender) Client { return Client{Links: true} }
}

// A cut result is one text for clients that are not known to show links. Its notice names
// the call and _meta the whole.
func TestLongResultIsText(t *testing.T) {
	b := newBench(t, nil)
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		r := b.call(s, "long", `{"lines":200}`)
		id, _ := r.Meta[archiveKey].(string)
		if len(r.Content) != 1 || id == "" || !strings.Contains(textOf(r), `load_tool_history(uuid="`+id) {
			b.Errorf("content %+v, meta %v", r.Content, r.Meta)
		}
	})
}

// Clients that would give a model what is in _meta get nothing there.
func TestBareResults(t *testing.T) {
	b := newBench(t, func(_ *host.Config, c *Config) {
		c.ClientOf = func(Sender) Client { return Client{Bare: true} }
	})
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		for _, name := range []string{"long", "test_error_handling"} {
			r := b.call(s, name, `{}`)
			if r.Meta[archiveKey] != nil || r.Meta[errorKey] != nil || len(r.Content) != 1 {
				b.Errorf("%s: %v", name, r.Meta)
			}
		}
	})
}

// For other clients it has a notice and a link; it can be read as a resource, loaded and
// found.
func TestLongResult(t *testing.T) {
	b := newBench(t, linked)
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		r := b.call(s, "long", `{"lines":200}`)
		text := textOf(r)
		if len(text) > 2000 || !strings.Contains(text, "load_tool_history(uuid=") {
			b.Errorf("%d characters: %s", len(text), text)
		}
		link, ok := r.Content[len(r.Content)-1].(*mcp.ResourceLink)
		if !ok || link.Size == nil || *link.Size != 200*57 || r.Meta[archiveKey] != strings.TrimPrefix(link.URI, archivePrefix) {
			b.Fatalf("content %+v, meta %v", r.Content, r.Meta)
		}
		read := func(uri string) string {
			res, err := s.ReadResource(b.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				b.Fatal(err)
			}
			return res.Contents[0].Text
		}
		if whole := read(link.URI); len(whole) != 200*57 {
			b.Errorf("the whole has %d characters", len(whole))
		}
		if part := read(link.URI + "?lines=3-3"); part != "line "+strings.Repeat("0123456789", 5)+"c\n" {
			b.Errorf("a part: %q", part)
		}
		id := strings.TrimPrefix(link.URI, archivePrefix)
		if got := textOf(b.call(s, "load_tool_history", `{"uuid":"`+id+`","lines":"3-4"}`)); !strings.Contains(got, "9c\n") {
			b.Errorf("a load: %q", got)
		}
		if got := textOf(b.call(s, "search_tool_history", `{"query":"0123456789z"}`)); !strings.Contains(got, id) && !strings.Contains(got, "uuid=") {
			b.Errorf("a search: %q", got)
		}
		list, err := s.ListResources(b.Context(), nil)
		if err != nil || !slices.ContainsFunc(list.Resources, func(x *mcp.Resource) bool { return x.URI == link.URI && x.Size == 200*57 && x.Name == "long" }) {
			b.Errorf("resources: %v, %v", list, err)
		}
		if templates, err := s.ListResourceTemplates(b.Context(), nil); err != nil || len(templates.ResourceTemplates) != 4 {
			b.Errorf("templates: %v, %v", templates, err)
		}
		for _, row := range []struct{ uri, want string }{
			{archivePrefix + "00000000-0000-0000-0000-000000000000", "no archived result"},
			{link.URI + "?lines=9-3", "lines"},
			{link.URI + "?pointer=/a", ""},
			{link.URI + "/part/0", "no archived result"},
			{"weir://elsewhere/1", "ot found"},
		} {
			if _, err := s.ReadResource(b.Context(), &mcp.ReadResourceParams{URI: row.uri}); err == nil || !strings.Contains(err.Error(), row.want) {
				b.Errorf("%s: %v", row.uri, err)
			}
		}
	})
}

func TestBlobsAreResources(t *testing.T) {
	b := newBench(t, nil)
	s := b.http(nil, "", "me")
	r := b.call(s, "test_multiple_content_types", `{}`)
	id, _ := r.Meta[archiveKey].(string)
	res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: partURI(id, 1)})
	if err != nil || string(res.Contents[0].Blob) != "\x00\x01\x02" {
		t.Errorf("%v, %v", res, err)
	}
}

// Lists of archives come in pages, the newest first.
func TestResourcesArePaged(t *testing.T) {
	b := newBench(t, nil)
	s := b.http(nil, "2025-06-18", "me")
	session := b.host.Session("me", "elsewhere")
	for i := range pageSize + 20 {
		if _, err := session.Ingest(t.Context(), tool.Call{Tool: "theirs", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}, []byte(strings.Repeat(fmt.Sprint(i, " "), 1000))); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for r, err := range s.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		seen[r.URI] = true
	}
	if len(seen) != pageSize+20 {
		t.Errorf("%d of %d are listed", len(seen), pageSize+20)
	}
	if _, err := s.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "x"}); err == nil {
		t.Error("a cursor that nobody gave is taken")
	}
}

// Another user's archives answer like those that never were.
func TestUsersAreApart(t *testing.T) {
	b := newBench(t, nil)
	mine := b.http(nil, "2025-06-18", "me")
	id, _ := b.call(mine, "long", `{"lines":200}`).Meta[archiveKey].(string)
	never := "01234567-89ab-7def-8123-456789abcdef"
	for _, version := range []string{"", "2025-06-18"} {
		theirs := b.http(nil, version, "somebody else")
		list, err := theirs.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) != 0 {
			t.Errorf("they see %v, %v", list, err)
		}
		answers := func(id string) string {
			_, err := theirs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: archiveURI(id)})
			load := textOf(b.call(theirs, "load_tool_history", `{"uuid":"`+id+`"}`))
			search := textOf(b.call(theirs, "search_tool_history", `{"query":"0123456789"}`))
			return strings.ReplaceAll(fmt.Sprint(err, load, search), id, "ID")
		}
		if a, b := answers(id), answers(never); a != b {
			t.Errorf("what is another's answers\n%s\nand what never was\n%s", a, b)
		}
	}
	// Nor can their session be used.
	r := b.post("somebody else", map[string]string{sessionHeader: mine.ID()}, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`)
	if r.StatusCode != 404 {
		t.Errorf("another's session answers %d", r.StatusCode)
	}
}

// What the same user has archived in a conversation can be read here.
func TestArchivesOfConversations(t *testing.T) {
	b := newBench(t, nil)
	kept, err := b.host.Session("me", "a talk").Call(t.Context(), tool.Call{Tool: "long", Args: json.RawMessage(`{"lines":100}`)})
	if err != nil || kept.Ref == nil {
		t.Fatal(kept, err)
	}
	s := b.http(nil, "", "me")
	if r := b.call(s, "load_tool_history", `{"uuid":"`+kept.Ref.UUID+`","lines":"1-1"}`); r.IsError {
		t.Errorf("%s", textOf(r))
	}
}

func TestProgress(t *testing.T) {
	b := newBench(t, nil)
	var mu sync.Mutex
	var seen []mcp.ProgressNotificationParams
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, *r.Params)
	}}
	everyWay(t, b, o, func(b *bench, s *mcp.ClientSession) {
		mu.Lock()
		seen = nil
		mu.Unlock()
		p := &mcp.CallToolParams{Name: "test_tool_with_progress", Arguments: json.RawMessage(`{}`)}
		p.SetProgressToken("tell me")
		if r, err := s.CallTool(b.Context(), p); err != nil || textOf(r) != "done" {
			b.Fatal(r, err)
		}
		// The SDK's client hands notifications on beside the answer.
		testtime.Until(b, "three reports", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(seen) == 3
		})
		mu.Lock()
		defer mu.Unlock()
		for i, want := range []float64{0, 50, 100} {
			if seen[i].Progress != want || seen[i].Total != 100 || seen[i].ProgressToken != "tell me" {
				b.Errorf("report %d: %+v", i, seen[i])
			}
		}
		if seen[1].Message != "half" {
			b.Errorf("%+v", seen[1])
		}
	})
}

// A tool that counts nothing is reported by numbers that grow.
func TestProgressGrows(t *testing.T) {
	for _, row := range []struct {
		reports []host.Progress
		want    []float64
	}{
		{[]host.Progress{{Msg: "a"}, {Msg: "b"}, {Msg: "c"}}, []float64{0, 1, 2}},
		{[]host.Progress{{Done: 1, Total: 3}, {Done: 3, Total: 3}, {Done: 2, Total: 3}}, []float64{1, 3}}, // which goes back is dropped at the end
		{[]host.Progress{{Done: 5}, {Done: 4}, {Done: 9}}, []float64{5, 6, 9}},
	} {
		var got []float64
		p := reporter{send: func(x mcp.ProgressNotificationParams) { got = append(got, x.Progress) }}
		for _, h := range row.reports {
			p.report(h)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%v: %v, want %v", row.reports, got, row.want)
		}
	}
}

// A call ends when the client ends it, with the SDK and without.
func TestCancel(t *testing.T) {
	b := newBench(t, nil)
	for _, token := range []any{nil, "p"} {
		everyWay(t, b, nil, func(mine *bench, s *mcp.ClientSession) {
			ctx, cancel := context.WithCancel(mine.Context())
			p := &mcp.CallToolParams{Name: "wait", Arguments: json.RawMessage(`{"millis":3600000}`)}
			if token != nil {
				p.SetProgressToken(token)
			}
			failed := make(chan error, 1)
			go func() {
				_, err := s.CallTool(ctx, p)
				failed <- err
			}()
			testtime.Until(mine, "the guest runs", func() bool { return b.busy() > 0 })
			cancel()
			if err := <-failed; err == nil {
				mine.Error("a call that was ended came to a result")
			}
			testtime.Until(mine, "the guest has ended", func() bool { return b.busy() == 0 })
		})
	}
}

// A client hears of tools that come and go.
func TestListChanged(t *testing.T) {
	b := newBench(t, nil)
	changed := make(chan struct{}, 100)
	o := &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }}
	sessions := []*mcp.ClientSession{b.http(o, "2025-11-25", "me"), b.stream(o, "2025-06-18")}
	place(t, b.folder, filepath.Join(guesttest.Root(t), "plugins", "calculator"))
	if _, err := b.host.Reload(t.Context(), host.ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	for range sessions {
		<-changed
	}
	for _, s := range sessions {
		testtime.Until(b, "the new tools", func() bool {
			list, err := s.ListTools(t.Context(), nil)
			if raw, _ := json.Marshal(list); strings.Contains(string(raw), "keep_turns") {
				t.Error("load_tool_history has keep_turns, and there are no turns here")
			}
			return err == nil && slices.ContainsFunc(list.Tools, func(x *mcp.Tool) bool { return x.Name == "calculator" })
		})
	}
}
