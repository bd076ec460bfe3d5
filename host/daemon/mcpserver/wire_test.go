package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/internal/testtime"
)

func TestRecognise(t *testing.T) {
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, row := range []struct {
		text string
		want message
	}{
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`, message{kind: call, id: "7", name: "echo", args: json.RawMessage(`{"a":1}`)}},
		{` {"params" : {"name":"echo"}, "method":"tools/call", "id":"x\"", "jsonrpc":"2.0"} `, message{kind: call, id: `"x\""`, name: "echo", args: json.RawMessage(`{}`)}},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo",` + modern + `}}`, message{kind: call, id: "7", name: "echo", args: json.RawMessage(`{}`), version: "2026-07-28"}},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"late"}}`, message{kind: cancel, id: "7"}},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}`, message{kind: broken}},
		{``, message{kind: broken}},

		// What follows is for the SDK to answer.
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, message{}},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`, message{}},                                                                         // no id: no answer is expected
		{`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"echo"}}`, message{}},                                                               // nor here
		{`{"jsonrpc":"1.0","id":7,"method":"tools/call","params":{"name":"echo"}}`, message{}},                                                                  // another protocol
		{`{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/call","params":{"name":"echo"}}`, message{}},                                                           // which one?
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","name":"rm"}}`, message{}},                                                      // which one?
		{`{"jsonrpc":"2.0","id":7,"method":"tools\u002fcall","params":{"name":"echo"}}`, message{}},                                                             // oddly written
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\u0065cho"}}`, message{}},                                                             // oddly written
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":[1]}}`, message{}},                                                  // no object
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","task":{}}}`, message{}},                                                        // more than a call
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1}}}`, message{}},                                      // wants to hear of it
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","inputResponses":{}}}`, message{}},                                              // an answer to a question
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, message{}}, // lacks what the revision wants
		{`[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}]`, message{}},
		{`{"jsonrpc":"2.0","id":7,"result":{}}`, message{}},
		{`7`, message{}},
	} {
		got := recognise([]byte(row.text))
		if a, b := asText(got), asText(row.want); a != b {
			t.Errorf("%s\n is %s\nwant %s", row.text, a, b)
		}
	}
}

func asText(m message) string {
	b, _ := json.Marshal([]any{m.kind, m.id, m.name, m.args, m.version, m.elicits})
	return string(b)
}

// What is recognised means the same to encoding/json.
func FuzzRecognise(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`)
	f.Add(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}}`)
	f.Add(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		m := recognise([]byte(text))
		if valid := json.Valid([]byte(text)); valid == (m.kind == broken) {
			t.Fatalf("valid %v, %v", valid, m.kind)
		}
		if m.kind != call && m.kind != cancel {
			return
		}
		var top map[string]json.RawMessage
		var params map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &top); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(top["params"], &params); err != nil {
			t.Fatal(err)
		}
		if m.kind == cancel {
			if string(params["requestId"]) != m.id {
				t.Fatalf("ends %s, not %s", m.id, params["requestId"])
			}
			return
		}
		var name string
		if json.Unmarshal(params["name"], &name) != nil || name != strings.ToValidUTF8(m.name, "\uFFFD") || string(top["id"]) != m.id {
			t.Fatalf("%q with id %s is read as %+v", name, top["id"], m)
		}
		if a, ok := params["arguments"]; ok && string(a) != string(m.args) {
			t.Fatalf("arguments %s are read as %s", a, m.args)
		}
	})
}

// A plain call is answered with JSON, whatever revision it is of; what else is
// asked comes as the SDK sends it.
func TestPlainCallIsJSON(t *testing.T) {
	b := newBench(t, nil)
	hello := b.post("me", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	session := map[string]string{sessionHeader: hello.Header.Get(sessionHeader), versionHeader: "2025-06-18"}
	b.post("me", session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	now := map[string]string{versionHeader: stateless, methodHeader: "tools/call", nameHeader: "echo"}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, row := range []struct {
		header     map[string]string
		body, want string
	}{
		{session, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`, `{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"hi"}]}}`},
		{now, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},` + meta + `}}`,
			`{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"weir","title":"weir","version":"0.1.0"}},"content":[{"type":"text","text":"hi"}]}}`},
	} {
		r := b.post("me", row.header, row.body)
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" || string(body) != row.want {
			t.Errorf("%d %s: %s, %v", r.StatusCode, r.Header.Get("Content-Type"), body, err)
		}
	}
	// Headers that say something else than the message are for the SDK to refuse.
	now[nameHeader] = "long"
	if r := b.post("me", now, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},`+meta+`}}`); r.StatusCode != 400 {
		t.Errorf("a header for another tool: %d", r.StatusCode)
	}
	if r := b.post("me", map[string]string{sessionHeader: "none"}, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}`); r.StatusCode != 404 {
		t.Errorf("an unknown session: %d", r.StatusCode)
	}
	if r := b.post("me", session, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+strings.Repeat("x", MaxMessage)+`"}}}`); r.StatusCode != 413 {
		t.Errorf("a message that is too long: %d", r.StatusCode)
	}
}

// What is no message is an error of JSON-RPC in every revision of the protocol, in the
// language that the request asks for.
func TestRefusedMessages(t *testing.T) {
	b := newBench(t, nil)
	hello := b.post("me", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	const en, zh = "the body is not a message of JSON-RPC 2.0; send one", "正文不是 JSON-RPC 2.0 消息；请以"
	for name, header := range map[string]map[string]string{
		"without a session": {}, "in a session": {sessionHeader: hello.Header.Get(sessionHeader), versionHeader: "2025-06-18"}, "by a later revision": {versionHeader: stateless},
	} {
		for language, want := range map[string]string{"": en, "en": en, "zh-CN,en;q=0.5": zh} {
			header["Accept-Language"] = language
			for text, code := range map[string]int{
				`{"jsonrpc":"2.0","id":1,"method":`: -32700, "no json": -32700, "": -32700, // not JSON
				`"x"`: -32600, " null": -32600, "[]": -32600, "[5]": -32600, `{"a":1}`: -32600, `{"jsonrpc":"2.0","id":{},"method":5}`: -32600,
			} {
				r := b.post("me", header, text)
				var got struct {
					ID    json.RawMessage
					Error struct {
						Code    int
						Message string
					}
				}
				body, _ := io.ReadAll(r.Body)
				err := json.Unmarshal(body, &got)
				if err != nil || r.StatusCode != 400 || r.Header.Get("Content-Type") != "application/json" || string(got.ID) != "null" || got.Error.Code != code || !strings.HasPrefix(got.Error.Message, want) {
					t.Errorf("%s, %q, language %q: %d %s", name, text, language, r.StatusCode, body)
				}
			}
		}
	}
}

// A batch is bounded: 20,000 pings in 760 KB took 1.6 GB.
func TestBatchesAreBounded(t *testing.T) {
	b := newBench(t, nil)
	hello := b.post("me", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	session := map[string]string{sessionHeader: hello.Header.Get(sessionHeader), versionHeader: "2025-03-26"}
	for name, header := range map[string]map[string]string{"without a session": {versionHeader: "2025-03-26"}, "in a session": session, "by a later revision": {versionHeader: stateless}} {
		for n, want := range map[int]bool{MaxBatch: false, MaxBatch + 1: true} {
			var pings []string
			for i := range n {
				pings = append(pings, fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, i))
			}
			batch := " [" + strings.Join(pings, ",") + "]"
			if r := b.post("me", header, batch); (r.StatusCode == 413) != want {
				t.Errorf("%s, %d messages: %s", name, n, r.Status)
			}
			if tooMany([]byte(batch)) != want {
				t.Errorf("a line of %d messages: too many is %t", n, !want)
			}
		}
	}
}

// A message needs no more memory than its size explains: the SDK reads _meta and what a
// client declares into Go values. Arguments have a bound of their own.
func TestValuesAreBounded(t *testing.T) {
	b := newBench(t, nil)
	hello := b.post("me", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	session := map[string]string{sessionHeader: hello.Header.Get(sessionHeader), versionHeader: "2025-03-26"}
	list := "[" + strings.Repeat("[],", maxValues) + "0]"
	for name, c := range map[string]struct {
		message string
		want    bool
	}{
		"meta":                 {`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"a":` + list + `}}}`, true},
		"meta of a call":       {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"a":` + list + `},"name":"x","arguments":{}}}`, true},
		"meta in a batch":      {` [{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"a":` + list + `}}}]`, true},
		"what is declared":     {`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"experimental":{"a":` + list + `}},"clientInfo":{"name":"x","version":"1"}}}`, true},
		"arguments":            {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{"a":` + list + `}}}`, false},
		"arguments in a batch": {`[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{"a":` + list + `}}}]`, false},
	} {
		if r := b.post("me", session, c.message); (r.StatusCode == 413) != c.want {
			t.Errorf("%s: %s", name, r.Status)
		}
	}
}

// Sessions are bounded: the one that was idle longest makes room, unless it was used
// in the last minute.
func TestSessionsAreBounded(t *testing.T) {
	now := time.Now()
	b := newBench(t, nil)
	b.server.cfg.MaxSessions, b.server.cfg.Idle = 2, -1
	b.server.now = func() time.Time { now = now.Add(time.Second); return now }
	hello := func() map[string]string {
		r := b.post("me", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		_, _ = io.Copy(io.Discard, r.Body)
		return map[string]string{sessionHeader: r.Header.Get(sessionHeader)}
	}
	ping := func(h map[string]string) int {
		r := b.post("me", h, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		_, _ = io.Copy(io.Discard, r.Body)
		return r.StatusCode
	}
	first, second := hello(), hello()
	now = now.Add(2 * time.Minute)
	if ping(first) != 200 {
		t.Error("the first is gone too early")
	}
	third := hello()
	if a, b, c := ping(first), ping(second), ping(third); a != 200 || b != 404 || c != 200 {
		t.Errorf("%d %d %d", a, b, c)
	}
	r := b.post("me", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode != 429 || r.Header.Get("Retry-After") != "60" || !strings.Contains(string(body), "max_sessions") {
		t.Errorf("a session beside two with a call in the last minute answers %d: %s", r.StatusCode, body)
	}
	if a, b := ping(first), ping(third); a != 200 || b != 200 {
		t.Errorf("afterwards the two answer %d and %d", a, b)
	}
}

// One user cannot use up the sessions of all: an idle session of the same user makes
// room for a new one, and without an idle one the new one is refused.
func TestSessionsOfAUserAreBounded(t *testing.T) {
	b := newBench(t, nil)
	b.server.cfg.MaxSessions, b.server.cfg.MaxUserSessions, b.server.cfg.Idle = 4, 2, -1
	now := time.Now()
	b.server.now = func() time.Time { now = now.Add(2 * time.Minute); return now }
	open := func(who string) (map[string]string, int) {
		r := b.post(who, nil, strings.SplitN(hello, "\n", 2)[0])
		_, _ = io.Copy(io.Discard, r.Body)
		return map[string]string{sessionHeader: r.Header.Get(sessionHeader)}, r.StatusCode
	}
	ping := func(who string, h map[string]string) int {
		r := b.post(who, h, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		_, _ = io.Copy(io.Discard, r.Body)
		return r.StatusCode
	}
	yours, _ := open("you")
	first, _ := open("me")
	for range 5 {
		if _, status := open("me"); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	if a, b := ping("you", yours), ping("me", first); a != 200 || b != 404 {
		t.Errorf("another's session answers %d, the oldest of one's own %d", a, b)
	}
	b.server.mu.Lock()
	var busy []func()
	for _, x := range b.server.sessions {
		if x.user.principal == "me" {
			busy = append(busy, x.use(time.Now))
		}
	}
	b.server.mu.Unlock()
	if _, status := open("me"); len(busy) != 2 || status != 429 {
		t.Errorf("with %d sessions in use one more answers %d", len(busy), status)
	}
	if _, status := open("you"); status != 200 {
		t.Errorf("another is refused: %d", status)
	}
	for _, done := range busy {
		done()
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	b := newBench(t, func(_ *host.Config, c *Config) { c.Idle = 40 * time.Millisecond })
	r := b.post("me", nil, strings.SplitN(hello, "\n", 2)[0])
	if _, err := io.Copy(io.Discard, r.Body); err != nil || r.Header.Get(sessionHeader) == "" {
		t.Fatal(err, r.Status)
	}
	testtime.Until(b, "the session is gone", func() bool {
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		return len(b.server.sessions) == 0
	})
}

// raw is a stream spoken by hand.
func (b *bench) raw(lines string) []string {
	b.Helper()
	var out bytes.Buffer
	if err := b.server.ServeStream(b.Context(), "me", strings.NewReader(lines), &out); err != nil {
		b.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// Whatever was asked before the input ends is answered, by the SDK or without it.
func TestStreamAnswersBeforeItEnds(t *testing.T) {
	b := newBench(t, nil)
	got := b.raw(hello + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","arguments":{"millis":50}}}

{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait","arguments":{"millis":50},"_meta":{"progressToken":1}}}
no json
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", MaxMessage) + `"}}}
{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
	all := strings.Join(got, "\n")
	for _, want := range []string{`"id":1,"result"`, `"id":2,"result":{"content":[{"type":"text","text":"waited"}]}`, `"id":3,"result"`, `-32700`, `too long`, `"id":5,"result"`, `notifications/progress`} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in\n%.3000s", want, all)
		}
	}
	for _, line := range got {
		if !json.Valid([]byte(line)) {
			t.Errorf("not a message: %s", line)
		}
	}
}

// A client that does not read any more ends its stream.
func TestStreamToNobody(t *testing.T) {
	b := newBench(t, nil)
	in, w := io.Pipe()
	gone := errors.New("gone")
	done := make(chan error, 1)
	go func() { done <- b.server.ServeStream(b.Context(), "me", in, failing{gone}) }()
	_, _ = io.WriteString(w, hello)
	if err := <-done; !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	w.Close()
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A refused call has an error for the model.
func TestRefusedCall(t *testing.T) {
	b := newBench(t, nil)
	b.server.cfg.Begin = func(string) (func(), error) { return nil, errors.New("the daemon is shutting down") }
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		if r := b.call(s, "echo", `{"text":"x"}`); !r.IsError || !strings.Contains(textOf(r), "shutting down") {
			b.Errorf("%+v", r)
		}
	})
}

// What is written by hand says what the SDK's value says.
func TestTextReply(t *testing.T) {
	for _, text := range []string{"", "a", "a \"b\"\n\\", "第一页 <b>&", "\u2028\x7f\t", "a\u2029b"} {
		want, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "result": &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}})
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(textReply("7", text), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &b); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%q is answered with %s, want %s", text, textReply("7", text), want)
		}
		if bytes.ContainsAny(textReply("7", text), "\n\r\u2028\u2029") { // each of which some reader of lines takes for an end
			t.Errorf("%q is answered in several lines", text)
		}
	}
}

// A result is written as the SDK writes it, but for what it escapes for web pages.
func TestAppendResult(t *testing.T) {
	size := int64(7)
	for _, r := range []*mcp.CallToolResult{
		{},
		{Content: []mcp.Content{&mcp.TextContent{}}},
		{Content: []mcp.Content{&mcp.TextContent{Text: "a \"b\"\n第一页 <b>&\u2028"}, &mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}, &mcp.ResourceLink{URI: "weir://a", Name: "n", Size: &size}}},
		{Meta: mcp.Meta{"weir/archive": "u", "weir/error": map[string]any{"code": "failed"}}, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}, IsError: true},
		{StructuredContent: json.RawMessage("{\"a\":\n [1, 2]}")}, {StructuredContent: rest{UUID: "u"}},
	} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, complete := range []bool{false, true} {
			got, err := appendResult(nil, r, complete)
			if err != nil || bytes.ContainsAny(got, "\n\u2028") {
				t.Fatalf("%q, %v", got, err)
			}
			var a, b map[string]any
			if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal(want, &b)); err != nil {
				t.Fatal(err)
			}
			if b["content"] == nil {
				b["content"] = []any{}
			}
			if complete {
				b["resultType"] = "complete"
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("written as %s, want %s", got, want)
			}
		}
	}
	if _, err := appendResult(nil, &mcp.CallToolResult{StructuredContent: json.RawMessage("{")}, false); err == nil {
		t.Error("what is no JSON is written")
	}
}
