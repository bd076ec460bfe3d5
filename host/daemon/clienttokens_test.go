package daemon

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/internal/testtime"
)

// clientToken makes a token for a client with another token.
func (s *server) clientToken(by, client string) api.MadeClientToken {
	s.Helper()
	a := s.as(by, "POST", "/api/client-tokens", `{"client":`+quoted(client)+`}`)
	if a.status != 200 {
		s.Fatalf("%d %s", a.status, a.body)
	}
	return decoded[api.MadeClientToken](s.T, a)
}

// forClients are the routes that a client's token opens.
var forClients = []string{
	"POST /mcp", "GET /mcp", "DELETE /mcp",
	"GET /api/archives", "GET /api/archives/search", "GET /api/archives/{uuid}", "GET /api/archives/{uuid}/matches", "GET /api/archives/{uuid}/raw", "GET /api/archives/{uuid}/parts/{n}",
}

// The token of a client opens /v1, /mcp and the reading of archives, and no other route, the
// operator's too; once revoked, none.
func TestClientTokensOpenTheirRoutesAlone(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("ok") }))
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	for name, own := range map[string]string{"the operator's": testToken, "a user's": annToken} {
		made := s.clientToken(own, "opencode")
		all := func(check func(r openapi.Route, a answer, clients bool)) {
			for _, r := range s.daemon.routes() {
				if r.Auth == openapi.Public || r.Method == "" {
					continue
				}
				path := strings.NewReplacer("{id...}", "x", "{id}", "x", "{uuid}", "x", "{name}", "calculator", "{client}", "opencode").Replace(r.Path)
				check(r, s.as(made.Token, r.Method, path, `{}`), slices.Contains(forClients, r.Pattern()) || strings.HasPrefix(r.Path, "/v1/"))
			}
		}
		opened := 0
		all(func(r openapi.Route, a answer, clients bool) {
			refused := a.status == 403 && strings.Contains(a.body, "clients_token") && strings.Contains(a.body, "made for the client opencode")
			if refused == clients || a.status == 401 {
				t.Errorf("%s token, %s: %d %.200s", name, r.Pattern(), a.status, a.body)
			}
			if !refused {
				opened++
			}
		})
		if opened < len(forClients)+3 {
			t.Errorf("%s token opens only %d routes", name, opened)
		}
		if a := s.as(own, "DELETE", "/api/client-tokens/opencode", ""); a.status != 200 || !strings.Contains(a.body, made.ID) {
			t.Errorf("%d %s", a.status, a.body)
		}
		all(func(r openapi.Route, a answer, _ bool) {
			if a.status != 401 {
				t.Errorf("%s revoked token, %s: %d", name, r.Pattern(), a.status)
			}
		})
	}
}

// A token for a client is that of its owner: the same conversations, quota and archives.
func TestClientTokensAreTheirOwners(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("ok") }))
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	hers, mine := s.clientToken(annToken, "qwen"), s.clientToken(testToken, "qwen")
	kept := decoded[KeptResult](t, s.as(annToken, "POST", "/api/results", `{"tool_name":"t","result":`+quoted(strings.Repeat(canary+"\n", 200))+`}`))
	if a := s.as(hers.Token, "GET", "/api/archives/"+kept.UUID, ""); a.status != 200 || !strings.Contains(a.body, canary) {
		t.Errorf("her client: %d %.200s", a.status, a.body)
	}
	if a := s.as(mine.Token, "GET", "/api/archives/"+kept.UUID, ""); a.status != 404 {
		t.Errorf("the operator's client: %d %.200s", a.status, a.body)
	}
	if a := s.as(hers.Token, "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"Hi"}]}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if u := decoded[api.Usage](t, s.as(annToken, "GET", "/api/usage", "")); len(u.Days) != 1 || u.Days[0].Requests != 2 { // the stored result is one
		t.Errorf("%+v", u.Days)
	}
	list := decoded[api.ClientTokens](t, s.as(annToken, "GET", "/api/client-tokens", ""))
	if len(list.Tokens) != 1 || list.Tokens[0].ID != hers.ID || list.Tokens[0].Client != "qwen" || list.Tokens[0].Created.IsZero() {
		t.Errorf("%+v", list)
	}
	if a := s.as(annToken, "DELETE", "/api/client-tokens/qwen?id="+mine.ID, ""); a.status != 404 {
		t.Errorf("she revoked the operator's: %d %s", a.status, a.body)
	}
	stored, err := s.daemon.store.ClientTokens(t.Context(), "ann", fmt.Sprintf("%x", sha256.Sum256([]byte(annToken))))
	if raw, _ := json.Marshal(stored); err != nil || len(stored) != 1 || strings.Contains(string(raw), hers.Token) {
		t.Errorf("%s %v", raw, err)
	}
	s.withUsers(map[string]User{"ann": {TokenSHA256: [32]byte{1}}})
	if a := s.as(hers.Token, "GET", "/v1/models", ""); a.status != 401 {
		t.Errorf("it outlives the token that made it: %d", a.status)
	}
	s.withUsers(map[string]User{})
	if a := s.as(hers.Token, "GET", "/v1/models", ""); a.status != 401 {
		t.Errorf("it outlives its user: %d", a.status)
	}
}

// Only the owner's own token makes tokens for clients, and these log no browser in.
func TestWhatMakesClientTokens(t *testing.T) {
	s := newServer(t, replay.New())
	made := s.clientToken(testToken, "opencode")
	if a := s.post("/api/session", byToken(made.Token)); a.status != 401 {
		t.Errorf("it logs in: %d %s", a.status, a.body)
	}
	b := s.login(byToken(testToken))
	if a := b.ask("POST", "/api/client-tokens", `{"client":"qwen"}`, nil); a.status != 403 || a.code(t) != "token_only" {
		t.Errorf("a session: %d %s", a.status, a.body)
	}
	for _, name := range []string{"", "Qwen", "a/b", strings.Repeat("a", 65)} {
		if a := s.post("/api/client-tokens", `{"client":`+quoted(name)+`}`); a.status != 400 {
			t.Errorf("%q: %d %s", name, a.status, a.body)
		}
	}
	if a := b.ask("DELETE", "/api/client-tokens/opencode", "", nil); a.status != 200 {
		t.Errorf("a session revokes none: %d %s", a.status, a.body)
	}
	for range 100 {
		s.clientToken(testToken, "a")
	}
	if a := s.post("/api/client-tokens", `{"client":"a"}`); a.status != 409 {
		t.Errorf("one too many: %d %s", a.status, a.body)
	}
}

// Whoever has the token of a client answers no approval over MCP, in no revision of the
// protocol, nor as the answer to a task; nor with the daemon's own header or without it.
func TestClientTokensApproveNothing(t *testing.T) {
	s, work := desk(t, replay.New(), nil)
	made := s.clientToken(testToken, "opencode")
	post := func(body string, header http.Header) answer {
		return s.do("POST", "/mcp", body, func(r *http.Request) {
			bearing(made.Token)(r)
			r.Header.Set("Accept", "application/json, text/event-stream")
			for k, v := range header {
				r.Header[k] = v
			}
		})
	}
	hello := post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`, nil)
	session := http.Header{"Mcp-Session-Id": {hello.header.Get("Mcp-Session-Id")}, "X-Weir-Client": {""}}
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session)
	call := `"name":"write_note","arguments":{"path":"a.txt","text":"x"}`
	if a := post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+call+`}}`, session); strings.Contains(a.body, "elicitation/create") || !strings.Contains(a.body, `"isError":true`) {
		t.Errorf("it is asked: %s", a.body)
	}
	if r := s.taskAs(made.Token, tasksAndForms, "tools/call", "write_note", `{`+call); len(r.Result.InputRequests) > 0 || r.Result.ResultType == "input_required" {
		t.Errorf("it is asked without a session: %+v", r)
	}
	id := s.taskAs(made.Token, tasksAndForms, "tools/call", "run_script", `{"name":"run_script","arguments":{"code":`+quoted(twoNotes)+`}`).Result.TaskID
	var asked mcpTask
	testtime.Until(t, "the script asks", func() bool {
		asked = s.taskGet(tasksAndForms, id)
		return asked.Result.Status == "input_required"
	})
	if r := s.taskAs(made.Token, tasksAndForms, "tasks/get", id, `{"taskId":"`+id+`"`).Result; r.Status != "working" || len(r.InputRequests) > 0 {
		t.Errorf("the task asks its client: %+v", r)
	}
	for key := range asked.Result.InputRequests {
		r := s.taskAs(made.Token, tasksAndForms, "tasks/update", id, `{"taskId":"`+id+`","inputResponses":{"`+key+`":{"action":"accept","content":{"answer":"once"}}}`)
		if r.Error.Code == 0 || !strings.Contains(r.Error.Message, "answers no question") {
			t.Errorf("%+v", r)
		}
	}
	if r := s.taskGet(tasksAndForms, id).Result; r.Status != "input_required" {
		t.Errorf("the task goes on: %+v", r)
	}
	for _, file := range []string{"a.txt", "1.txt", "2.txt"} {
		if there(t, filepath.Join(work, file)) {
			t.Errorf("%s was written", file)
		}
	}
}

// listen opens the stream of an MCP client's session with a token.
func (s *server) listen(token string) *http.Response {
	s.Helper()
	hello := s.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, func(r *http.Request) {
		bearing(token)(r)
		r.Header.Set("Accept", "application/json, text/event-stream")
	})
	r, err := http.NewRequestWithContext(s.Context(), "GET", s.url+"/mcp", nil)
	if err != nil {
		s.Fatal(err)
	}
	bearing(token)(r)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", hello.header.Get("Mcp-Session-Id"))
	got, err := http.DefaultClient.Do(r)
	if err != nil || got.StatusCode != 200 {
		s.Fatalf("%v %v", got, err)
	}
	s.Cleanup(func() { got.Body.Close() })
	return got
}

// The end of a token ends its streams; others go on.
func TestRevokedClientsStreamsEnd(t *testing.T) {
	s := newServer(t, replay.New())
	first, second := s.clientToken(testToken, "opencode"), s.clientToken(testToken, "opencode")
	stream := s.listen(first.Token)
	s.listen(second.Token)
	if a := s.do("DELETE", "/api/client-tokens/opencode?id="+first.ID, "", nil); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for lines := bufio.NewScanner(stream.Body); lines.Scan(); { // until it ends
	}
	testtime.Until(t, "one stream is left", func() bool { return s.daemon.mcp.bearers.Len() == 1 })
	if a := s.as(second.Token, "GET", "/v1/models", ""); a.status != 200 {
		t.Errorf("the other token: %d", a.status)
	}
}

// All daemons of a database have the same tokens, and the streams of a revoked one end on
// all.
func TestTwoDaemonsShareClientTokens(t *testing.T) {
	a, b, _ := twoDaemons(t, func() agent.Model { return replay.New() }, nil)
	made := a.clientToken(testToken, "opencode")
	stream := b.listen(made.Token)
	if r := a.do("DELETE", "/api/client-tokens/opencode", "", nil); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := b.as(made.Token, "GET", "/v1/models", ""); r.status != 401 {
		t.Errorf("%d %s", r.status, r.body)
	}
	for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
	}
}
