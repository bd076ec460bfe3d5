package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
)

// twoDaemons returns two daemons with one database, as on two machines: each has its own
// folder, host and model. Both may write notes into the returned folder.
func twoDaemons(t *testing.T, model func() agent.Model, edit func(*host.Config)) (a, b *server, work string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.db")
	url := pgtest.URL(t)
	if url == "" {
		t.Skip("PostgreSQL only")
	}
	work = t.TempDir()
	dir := pen(t)
	open := func() *server {
		return serverWith(t, model(), func(c *host.Config) {
			c.Folders = []plugin.Folder{{Path: dir, Trust: plugin.TrustGranted}}
			c.Grants = map[string]plugin.Grant{"pen": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: work, Mode: "rw"}}}}
			c.Archive.Path, c.Archive.URL = path, url
			if edit != nil {
				edit(c)
			}
		})
	}
	return open(), open(), work
}

// A request that waits on one daemon is listed and shown by the other. Of two answers at
// the same moment, one on each, one counts, and the other is refused. What "always" covers
// holds on both.
func TestTwoDaemonsApprove(t *testing.T) {
	a, b, work := twoDaemons(t, func() agent.Model {
		return replay.Func(func(n int, _ agent.Request) replay.Reply {
			if n%2 == 0 {
				return replay.Call("write_note", writeA)
			}
			return replay.Text("done")
		})
	}, nil)
	for range 5 {
		l := a.chat(`{"message":"write A","approvals":true}`)
		asked := l.asked()
		if r := b.get("/api/approvals"); !strings.Contains(r.body, asked.ID) {
			t.Fatalf("the other daemon lists %s", r.body)
		}
		if r := b.get("/api/approvals/" + asked.ID); r.status != 200 || !strings.Contains(r.body, "write_note") {
			t.Errorf("%d %s", r.status, r.body)
		}
		var answers [2]answer
		var both sync.WaitGroup
		for i, s := range []*server{a, b} {
			both.Go(func() { answers[i] = s.answer(asked.ID, "once") })
		}
		both.Wait()
		if answers[0].status+answers[1].status != 200+409 {
			t.Errorf("%d %s, %d %s", answers[0].status, answers[0].body, answers[1].status, answers[1].body)
		}
		if r := l.result(); !r.OK {
			t.Errorf("%+v", r)
		}
		l.until(api.EventEnd)
	}
	if !there(t, filepath.Join(work, "a.txt")) {
		t.Error("nothing was written")
	}
	l := a.chat(`{"message":"write A","approvals":true}`)
	asked := l.asked()
	if r := b.answer(asked.ID, "always"); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	l.until(api.EventEnd)
	l = b.chat(`{"message":"again","approvals":true,"conversation_id":"` + asked.Conversation + `"}`)
	if r := l.result(); !r.OK || r.Approval == nil || r.Approval.By != "always" {
		t.Errorf("on the other daemon: %+v", r)
	}
	l.until(api.EventEnd)
	if r := a.do("DELETE", "/api/conversations/"+asked.Conversation, "", nil); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if n, err := b.daemon.store.Answers().Remembers(t.Context(), "local\x00"+asked.Conversation, "private"); n || err != nil {
		t.Errorf("something is remembered of a deleted conversation: %v", err)
	}
}

// Of 15 sessions of MCP clients that one daemon opened, the other goes on with every one:
// each request goes to the daemon whose turn it is. A session that one of them ended is
// unknown to both.
func TestTwoDaemonsServeMCP(t *testing.T) {
	a, b, _ := twoDaemons(t, func() agent.Model { return replay.New() }, nil)
	both := []*server{a, b}
	send := func(s *server, method, token, id, body string) answer {
		return s.do(method, "/mcp", body, func(r *http.Request) {
			bearing(token)(r)
			r.Header.Set("Accept", "application/json, text/event-stream")
			if id != "" {
				r.Header.Set("Mcp-Session-Id", id)
			}
		})
	}
	for n := range 15 {
		version := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}[n%4]
		hello := send(both[n%2], "POST", testToken, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		id := hello.header.Get("Mcp-Session-Id")
		if hello.status != 200 || id == "" {
			t.Fatalf("%d %s", hello.status, hello.body)
		}
		if r := send(both[(n+1)%2], "POST", testToken, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.status != 202 {
			t.Errorf("session %d: %d %s", n, r.status, r.body)
		}
		for i := range 6 {
			method, want := `"tools/list"`, "write_note"
			if i%2 == 1 {
				method, want = `"tools/call","params":{"name":"read_note","arguments":{"path":"none.txt"}}`, "none.txt"
			}
			if r := send(both[(n+i)%2], "POST", testToken, id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s}`, i+2, method)); r.status != 200 || !strings.Contains(r.body, want) {
				t.Errorf("session %d, request %d: %d %s", n, i, r.status, r.body)
			}
		}
		if n%5 > 0 {
			continue
		}
		if r := send(a, "DELETE", testToken, id, ""); r.status/100 != 2 {
			t.Errorf("%d %s", r.status, r.body)
		}
		gone := func() bool {
			return send(b, "POST", testToken, id, `{"jsonrpc":"2.0","id":9,"method":"ping"}`).status == 404
		}
		testtime.Until(t, "the session is gone everywhere", gone)
	}
}

// What one daemon asks a client's person is answered through the other, and a call that runs on
// one is ended through the other.
func TestTwoDaemonsAskMCPClients(t *testing.T) {
	a, b, work := twoDaemons(t, func() agent.Model { return replay.New() }, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // it ends what hangs, on a busy machine too
	defer cancel()
	post := func(s *server, session, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		bearing(testToken)(r)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Session-Id", session)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { got.Body.Close() })
		return got
	}
	hello := post(a, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	session := hello.Header.Get("Mcp-Session-Id")
	post(b, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	ask := func(s *server, id int, path string) (question string, rest *bufio.Scanner) {
		call := post(s, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_note","arguments":{"path":"%s","text":"x"}}}`, id, path))
		rest = bufio.NewScanner(call.Body)
		for rest.Scan() {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			data, ok := strings.CutPrefix(rest.Text(), "data: ")
			if ok && json.Unmarshal([]byte(data), &m) == nil && m.Method == "elicitation/create" {
				return string(m.ID), rest
			}
		}
		t.Fatalf("call %d asks nothing", id)
		return "", nil
	}
	// Both daemons ask at once, and each answer comes to the one that it is not for.
	first, fromA := ask(a, 2, "a.txt")
	second, fromB := ask(b, 3, "b.txt")
	for id, answer := range map[string]struct {
		at   *server
		what string
	}{first: {b, "once"}, second: {a, "deny"}} {
		if r := post(answer.at, session, `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept","content":{"answer":"`+answer.what+`"}}}`); r.StatusCode != 202 {
			t.Errorf("%d", r.StatusCode)
		}
	}
	until := func(from *bufio.Scanner, word string) {
		t.Helper()
		for from.Scan() {
			if strings.Contains(from.Text(), word) {
				return
			}
		}
		t.Errorf("the call ended without %q", word)
	}
	until(fromA, `"id":2`)
	until(fromB, `"id":3`)
	if !there(t, filepath.Join(work, "a.txt")) || there(t, filepath.Join(work, "b.txt")) {
		t.Error("the answers came to other calls")
	}
	// An answer is handed on however much comes with it, but not one that is long itself.
	third, fromA := ask(a, 5, "d.txt")
	long := strings.Repeat("x", 1<<17)
	accept := `{"jsonrpc":"2.0","id":` + third + `,"result":{"action":"accept","content":{"answer":"once"}`
	if r := post(b, session, accept+`,"_meta":{"long":"`+long+`"}}}`); r.StatusCode != 413 {
		t.Errorf("a long answer: %d", r.StatusCode)
	}
	if r := post(b, session, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":{"long":"`+long+`"}}}`); r.StatusCode != 202 {
		t.Errorf("a long message: %d", r.StatusCode)
	}
	post(b, session, "["+accept+`}},{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":{"long":"`+long+`"}}}]`)
	until(fromA, `"id":5`)
	if !there(t, filepath.Join(work, "d.txt")) {
		t.Error("an answer with a long message did not come")
	}
	_, waits := ask(a, 4, "c.txt")
	if r := post(b, session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`); r.StatusCode != 202 {
		t.Errorf("%d", r.StatusCode)
	}
	until(waits, `"id":4,"error"`)
}

// A browser that logged in on one daemon is logged in on the other at once, and logged out
// there within two seconds.
func TestTwoDaemonsLogIn(t *testing.T) {
	a, b, _ := twoDaemons(t, func() agent.Model { return replay.New() }, nil)
	here := a.login(byToken(testToken))
	there := &browser{b, here.cookie, here.key}
	status := func() int {
		return there.ask("GET", "/api/settings", "", func(r *http.Request) { r.Host = strings.TrimPrefix(a.url, "http://") }).status
	}
	if got := status(); got != 200 {
		t.Errorf("on the other daemon: %d", got)
	}
	if r := here.ask("DELETE", "/api/session", "", nil); r.status/100 != 2 {
		t.Errorf("%d %s", r.status, r.body)
	}
	testtime.Until(t, "the sign-in is gone everywhere", func() bool { return status() == 401 })
}
