package daemon

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/plugin"
)

const testToken = "test-token-0123456789"

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main{M: m, Part: "^TestChatWholeWay|^TestConversationIs|^TestSearchArchives|^TestPruneArchives|^TestResume$|^TestTokensPerDay|^TestReadAgain|^TestTwoDaemons"}.Run())
}

// server is a daemon on loopback over real plugins and a scripted model.
type server struct {
	*testing.T
	url    string
	host   *host.Host
	daemon *Daemon
	model  agent.Model
}

func newServer(t *testing.T, m agent.Model) *server {
	t.Helper()
	return serverWith(t, m, func(*host.Config) {})
}

// serverWith is newServer over a host that edit has configured.
func serverWith(t *testing.T, m agent.Model, edit func(*host.Config)) *server {
	t.Helper()
	cfg := host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: standIns(t), Trust: "granted"}},
			Archive: archive.Config{Path: filepath.Join(t.TempDir(), "archive.db")},
		},
		CacheDir: guesttest.Cache(t),
		Version:  "0.1.0",
	}
	edit(&cfg)
	cfg.Archive.URL = cmp.Or(cfg.Archive.URL, pgtest.URL(t, cfg.Archive.Path))
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Config{
		Host: h, Token: testToken, Version: "test",
		Models:   map[string]Model{"scripted": {Model: m}},
		Profiles: map[string]Profile{"default": {Model: "scripted", Agent: agent.Defaults()}},
		Pages:    fstest.MapFS{"index.html": {Data: []byte("<!doctype html><title>weir</title>")}},
		Scripts:  scriptsOf(t, h),
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(d.Handler())
	t.Cleanup(func() {
		srv.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return &server{t, srv.URL, h, d, m}
}

// answer is one response, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) code(t *testing.T) string {
	t.Helper()
	var p struct{ Error api.Problem }
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("status %d, not a problem: %s", a.status, a.body)
	}
	if p.Error.Msg.IsZero() {
		t.Errorf("status %d: a problem without a sentence: %s", a.status, a.body)
	}
	return p.Error.Code
}

func (s *server) do(method, path, body string, edit func(*http.Request)) answer {
	s.Helper()
	req, a := s.exchange(method, path, body, edit)
	if err := contractOf(s.T).check(req, body, a); err != nil { // every test is one of openapi.json
		s.Errorf("%s %s: %v", method, path, err)
	}
	return a
}

// pass posts a request that is passed through: its answer has the form of the model's server.
func (s *server) pass(body string) answer {
	s.Helper()
	_, a := s.exchange("POST", "/v1/chat/completions", body, nil)
	return a
}

func (s *server) exchange(method, path, body string, edit func(*http.Request)) (*http.Request, answer) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return req, answer{resp.StatusCode, resp.Header, string(b)}
}

func (s *server) get(path string) answer        { return s.do("GET", path, "", nil) }
func (s *server) post(path, body string) answer { return s.do("POST", path, body, nil) }

// event is one server-sent event.
type event struct {
	name string
	data string
}

func events(body string) []event {
	var out []event
	var e event
	sc := bufio.NewScanner(strings.NewReader(body))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		key, value, _ := strings.Cut(sc.Text(), ": ")
		switch key {
		case "event":
			e.name = value
		case "data":
			e.data = value
			out = append(out, e)
			e = event{}
		}
	}
	return out
}

func names(es []event) []string {
	var out []string
	for _, e := range es {
		if len(out) == 0 || out[len(out)-1] != e.name { // deltas come in any number
			out = append(out, e.name)
		}
	}
	return out
}

func last[T any](t *testing.T, es []event, name string) T {
	t.Helper()
	var v T
	i := len(es) - 1
	for i >= 0 && es[i].name != name {
		i--
	}
	if i < 0 {
		t.Fatalf("no event %s among %v", name, names(es))
	}
	if err := json.Unmarshal([]byte(es[i].data), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

const longCall = `<tool_call>{"id":"call_001","tool_name":"long_text","arguments":{}}</tool_call>`

// A long result goes the whole way: called, cut, archived, folded, and in the
// next question loaded back by its uuid.
func TestChatWholeWay(t *testing.T) {
	var uuid string
	m := replay.New(replay.Text(longCall), replay.Text("The text has 800 lines."))
	s := newServer(t, m)
	first := s.post("/api/chat", `{"message":"Make a long text"}`)
	es := events(first.body)
	if got := names(es); got[0] != api.EventStart || got[len(got)-1] != api.EventEnd {
		t.Fatalf("events %v", got)
	}
	for _, name := range []string{api.EventCall, api.EventResult, api.EventTruncated, api.EventArchived, api.EventFolded, api.EventText} {
		if !slices.ContainsFunc(es, func(e event) bool { return e.name == name }) {
			t.Errorf("no %s among %v", name, names(es))
		}
	}
	r := last[api.ToolCallResult](t, es, api.EventResult)
	uuid = r.KeptUUID
	if r.Produced != 52000 || r.Shown > 4000 || r.Layer != "agent" || uuid == "" {
		t.Errorf("result %+v", r)
	}
	end := last[api.ChatEnd](t, es, api.EventEnd)
	if end.Answer != "The text has 800 lines." || end.Reason != agent.ReasonAnswer || end.KeptChars != 52000 {
		t.Errorf("end %+v", end)
	}

	page := s.get("/api/archives/" + uuid + "?lines=600-600")
	if page.status != 200 || !strings.Contains(page.body, "line 600") {
		t.Errorf("line 600: %d %s", page.status, page.body)
	}
	conv := s.get("/api/conversations/" + end.Conversation)
	if !strings.Contains(conv.body, "Tool result archived: "+uuid) || strings.Contains(conv.body, "line 700") {
		t.Errorf("the stored conversation should hold the placeholder alone: %s", conv.body)
	}
}

func TestConversationIsContinued(t *testing.T) {
	m := replay.New(replay.Text("Hello."), replay.Text("Still here."))
	s := newServer(t, m)
	end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Hi"}`).body), api.EventEnd)
	s.post("/api/chat", `{"message":"Are you there?","conversation_id":"`+end.Conversation+`"}`)
	reqs := m.Requests()
	if len(reqs) != 2 {
		t.Fatalf("%d requests", len(reqs))
	}
	var texts []string
	for _, msg := range reqs[1].Messages {
		texts = append(texts, msg.Role+": "+msg.Text)
	}
	if want := []string{"user: Hi", "assistant: Hello.", "user: Are you there?"}; !slices.Equal(texts, want) {
		t.Errorf("sent %q, want %q", texts, want)
	}
	list := s.get("/api/conversations")
	if !strings.Contains(list.body, end.Conversation) || !strings.Contains(list.body, `"title":"Hi"`) {
		t.Errorf("list %s", list.body)
	}
	if r := s.do("DELETE", "/api/conversations/"+end.Conversation, "", nil); r.status != 200 {
		t.Errorf("delete: %d %s", r.status, r.body)
	}
	if r := s.get("/api/conversations/" + end.Conversation); r.status != 404 {
		t.Errorf("deleted conversation: %d", r.status)
	}
}

// The question is stored even if the model fails, and the failure is reported.
func TestModelFailure(t *testing.T) {
	m := replay.New(replay.Reply{Err: &agent.ModelError{Code: agent.ModelAuth, Model: "scripted", Msg: "the key is refused", Hint: "check it"}})
	s := newServer(t, m)
	es := events(s.post("/api/chat", `{"message":"Hi"}`).body)
	p := last[api.Problem](t, es, api.EventError)
	if p.Code != "model_auth" || p.Hint.IsZero() {
		t.Errorf("problem %+v", p)
	}
	end := last[api.ChatEnd](t, es, api.EventEnd)
	if end.Reason != agent.ReasonModel {
		t.Errorf("reason %s", end.Reason)
	}
	if conv := s.get("/api/conversations/" + end.Conversation); !strings.Contains(conv.body, `"text":"Hi"`) {
		t.Errorf("the question is lost: %s", conv.body)
	}
}

func TestBadRequests(t *testing.T) {
	s := newServer(t, replay.New())
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/api/chat", ``, 400, "bad_body"},
		{"POST", "/api/chat", `{"message":`, 400, "bad_body"},
		{"POST", "/api/chat", `{"message":7}`, 400, "bad_body"},
		{"POST", "/api/chat", `{"massage":"typo"}`, 400, "bad_body"},
		{"POST", "/api/chat", `{"message":"a"} {"message":"b"}`, 400, "bad_body"},
		{"POST", "/api/chat", `{"message":"  "}`, 400, "empty"},
		{"POST", "/api/chat", `{"message":"a","model":"gpt-9"}`, 400, "unknown_model"},
		{"POST", "/api/chat", `{"message":"a","profile":"nobody"}`, 400, "unknown_profile"},
		{"POST", "/api/tools/nothing/call", `{}`, 404, "unknown_tool"},
		{"GET", "/api/tools/nothing", ``, 404, "unknown_tool"},
		{"GET", "/api/archives/not-a-uuid", ``, 404, "not_found"},
		{"GET", "/api/archives/0b9fbdcd-6f1e-4f4f-9d0e-3f2d8f6a7b10", ``, 404, "not_found"},
		{"GET", "/api/archives?limit=many", ``, 400, "bad_query"},
		{"GET", "/api/conversations/none", ``, 404, "not_found"},
		{"POST", "/v1/chat/completions", `{"messages":[]}`, 400, "bad_body"},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"assistant","content":"x"}]}`, 400, "bad_body"},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"tool","content":"x"}]}`, 400, "bad_body"},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "unsupported_parameter"},
		{"POST", "/v1/chat/completions", `{"model":"nope","messages":[{"role":"user","content":"x"}]}`, 404, "model_not_found"},
		{"POST", "/v1/chat/completions", `{"tools":[{}],"messages":[{"role":"user","content":"x"}]}`, 400, "unsupported_parameter"},
	} {
		r := s.do(c.method, c.path, c.body, nil)
		if r.status != c.status {
			t.Errorf("%s %s %s: status %d, want %d (%s)", c.method, c.path, c.body, r.status, c.status, r.body)
			continue
		}
		if got := r.code(t); got != c.code {
			t.Errorf("%s %s %s: code %s, want %s", c.method, c.path, c.body, got, c.code)
		}
	}
}

// A tool's failure is data: the route answers, and says that it failed.
func TestToolFailureIsData(t *testing.T) {
	s := newServer(t, replay.New())
	r := s.post("/api/tools/calculator/call", `{"arguments":{"expression":"1/0"}}`)
	var out api.ToolCallResult
	if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if out.OK || out.Error == nil || out.Error.Code != "failed" && out.Error.Code != "bad_args" {
		t.Errorf("%+v", out)
	}
	r = s.post("/api/tools/calculator/call", `{"arguments":{"expresion":"1"}}`)
	if !strings.Contains(r.body, "bad_args") || !strings.Contains(r.body, "expression") {
		t.Errorf("the complaint should name the argument: %s", r.body)
	}
}

// Every route refuses who is not allowed; a new route is in the table, so it
// is tested without anybody's doing.
func TestAccess(t *testing.T) {
	s := newServer(t, replay.New())
	for _, r := range s.daemon.routes() {
		path := strings.NewReplacer("{id}", "x", "{id...}", "x", "{name}", "x", "{uuid}", "x").Replace(r.Path)
		for _, c := range []struct {
			name   string
			edit   func(*http.Request)
			status int
			code   string
			public bool // holds for public routes too
		}{
			{"no token", func(q *http.Request) { q.Header.Del("Authorization") }, 401, "no_token", false},
			{"wrong token", func(q *http.Request) { q.Header.Set("Authorization", "Bearer nope") }, 401, "wrong_token", false},
			{"empty token", func(q *http.Request) { q.Header.Set("Authorization", "Bearer ") }, 401, "no_token", false}, // the blank is lost on the way
			{"blank token", func(q *http.Request) { q.Header.Set("Authorization", "Bearer  x") }, 401, "wrong_token", false},
			{"foreign Host", func(q *http.Request) { q.Host = "evil.example" }, 403, "bad_host", true},
			{"a Host that begins like ours", func(q *http.Request) { q.Host = "127.0.0.1.evil.example:8420" }, 403, "bad_host", true},
			{"an address for ours", func(q *http.Request) { q.Host = "2130706433" }, 403, "bad_host", true},
			{"the token in the address", func(q *http.Request) { q.Header.Del("Authorization"); q.URL.RawQuery = "token=" + testToken }, 401, "no_token", false},
			{"foreign Origin", func(q *http.Request) { q.Header.Set("Origin", "http://evil.example") }, 403, "bad_origin", true},
			{"an Origin that begins like ours", func(q *http.Request) { q.Header.Set("Origin", "http://localhost.evil.example") }, 403, "bad_origin", true},
			{"another program's page", func(q *http.Request) { q.Header.Set("Origin", "http://127.0.0.1:1") }, 403, "bad_origin", true},
			{"an Origin of another scheme", func(q *http.Request) { q.Header.Set("Origin", "chrome-extension://"+q.URL.Host) }, 403, "bad_origin", true},
			{"an Origin without a scheme", func(q *http.Request) { q.Header.Set("Origin", "//"+q.URL.Host) }, 403, "bad_origin", true},
			{"null Origin", func(q *http.Request) { q.Header.Set("Origin", "null") }, 403, "bad_origin", true},
		} {
			if r.Auth == openapi.Public && !c.public {
				continue
			}
			a := s.do(r.Method, path, `{}`, c.edit)
			if a.status != c.status {
				t.Errorf("%s with %s: status %d, want %d", r.Pattern(), c.name, a.status, c.status)
			} else if got := a.code(t); got != c.code {
				t.Errorf("%s with %s: code %s, want %s", r.Pattern(), c.name, got, c.code)
			}
		}
	}
}

func TestPage(t *testing.T) {
	s := newServer(t, replay.New())
	r := s.do("GET", "/", "", func(q *http.Request) { q.Header.Del("Authorization") })
	if r.status != 200 || !strings.Contains(r.body, "weir") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if csp := r.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "trusted-types 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
	again := s.do("GET", "/", "", func(q *http.Request) { q.Header.Set("If-None-Match", r.header.Get("ETag")) })
	other := s.do("GET", "/", "", func(q *http.Request) { q.Header.Set("If-None-Match", `"other"`) })
	if again.status != http.StatusNotModified || again.body != "" || other.status != 200 {
		t.Errorf("a browser that has the page: %d; one that has another: %d", again.status, other.status)
	}
}

func TestCompletions(t *testing.T) {
	m := replay.New(replay.Text("Plain."), replay.Text("Streamed."), replay.Text("Again."))
	s := newServer(t, m)
	r := s.post("/v1/chat/completions", `{"model":"weir","temperature":0.2,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"One?"}]}`)
	var out struct {
		Object  string
		Choices []struct {
			Message      struct{ Role, Content string }
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(r.body), &out); err != nil {
		t.Fatal(err)
	}
	if out.Object != "chat.completion" || len(out.Choices) != 1 || out.Choices[0].Message.Content != "Plain." || out.Choices[0].FinishReason != "stop" {
		t.Errorf("%s", r.body)
	}
	conv := r.header.Get("X-Weir-Conversation")
	r = s.do("POST", "/v1/chat/completions", `{"model":"weir","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Two?"}]}`,
		func(q *http.Request) { q.Header.Set("X-Weir-Conversation", conv) })
	if !strings.HasSuffix(r.body, "data: [DONE]\n\n") || !bytes.Contains([]byte(r.body), []byte(`"content":"Streamed."`)) && !strings.Contains(r.body, "Stream") {
		t.Errorf("%s", r.body)
	}
	reqs := m.Requests()
	if got := len(reqs[1].Messages); got < 3 {
		t.Errorf("the stored conversation should be continued, %d messages were sent", got)
	}
	models := s.get("/v1/models")
	if !strings.Contains(models.body, `"id":"scripted"`) {
		t.Errorf("%s", models.body)
	}
}
