package daemon

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/demo"
	provider "github.com/weirhost/weir/agent/model/openai"
	"github.com/weirhost/weir/host/daemon/setup"
)

// An upstream is a model server that records what it is asked, and answers by a script.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

// newUpstream starts an upstream. answer gets the number of the request, from 1.
func newUpstream(t testing.TB, answer func(w http.ResponseWriter, n int, body string)) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // the list of models
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.bodies = append(u.bodies, string(body))
		n := len(u.bodies)
		u.mu.Unlock()
		answer(w, n, string(body))
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) asked() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.bodies
}

// chunks streams chunks, and ends the stream.
func chunks(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, c := range append(pieces, "[DONE]") {
		fmt.Fprintf(w, "data: %s\n\n", c)
	}
}

const (
	textChunk  = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up-1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}`
	endChunk   = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usageChunk = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up-1","choices":[],"usage":{"prompt_tokens":700,"completion_tokens":30,"total_tokens":730}}`
)

// passing is a server whose model "own" asks an upstream.
func passing(t *testing.T, u *upstream) *server {
	m := ownModel(t, u)
	s := newServer(t, m)
	s.passes(m)
	return s
}

// ownModel is the model "own", which asks an upstream.
func ownModel(t testing.TB, u *upstream) agent.Model {
	native := true
	m, err := provider.New(provider.Config{Config: model.Config{
		Name: "own", Model: "up-1", BaseURL: u.URL + "/v1", Key: "k", NativeTools: &native, RetryWait: time.Millisecond,
		Extra: map[string]any{"temperature": 0.5, "top_k": 7},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// passes makes m the model "own" of the server, with settings for clients.
func (s *server) passes(m agent.Model) {
	if err := passTo(s.daemon, m); err != nil {
		s.Fatal(err)
	}
}

func passTo(d *Daemon, m agent.Model) error {
	native := true
	cfg := d.current.State().Config
	cfg.Models = map[string]Model{"own": {Model: m, NativeTools: &native}}
	cfg.Profiles["default"] = Profile{Model: "own", Agent: cfg.Profiles["default"].Agent}
	cfg.Clients = setup.Clients{"secretive": {Keep: false}}
	return d.Configure(cfg)
}

// agentBody is a request as a coding agent sends it.
const agentBody = `{"model":"own","max_tokens":32000,"messages":[` +
	`{"role":"system","content":"You are an agent.\n\n  Keep this.  "},` +
	`{"role":"user","name":"ada","content":[{"type":"text","text":"Look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"}}]},` +
	`{"role":"assistant","content":"","reasoning_content":"Hm.","tool_calls":[{"id":"c_9","type":"function","function":{"name":"bash","arguments":"{\"command\":"}}]},` +
	`{"role":"tool","tool_call_id":"c_9","content":"ok"},` +
	`{"role":"system","content":"A reminder."},` +
	`{"role":"user","content":"And now?"}],` +
	`"tools":[{"type":"function","function":{"name":"bash","description":"Runs.\n\n- one\n- two","strict":true,"parameters":{"type":"object","properties":{"command":{"type":"string"}},"additionalProperties":false}}}],` +
	`"tool_choice":"auto","top_k":3,"chat_template_kwargs":{"enable_thinking":false},"unheard_of":[1,{"a":null}],"stream":true,"stream_options":{"include_usage":true}}`

// What arrives at the model's server is what the client sent, but for the model's name and the
// operator's extra members that the client left out.
func TestARequestIsPassedThrough(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) { chunks(w, textChunk, endChunk, usageChunk) })
	s := passing(t, u)
	a := s.pass(agentBody)
	want := strings.Replace(agentBody, `"model":"own"`, `"model":"up-1"`, 1)
	want = strings.TrimSuffix(want, "}") + `,"temperature":0.5}`
	if got := u.asked(); len(got) != 1 || got[0] != want {
		t.Errorf("sent upstream:\n%s\nwant\n%s", got, want)
	}
	back := strings.NewReplacer(`"up-1"`, `"own"`).Replace("data: " + textChunk + "\n\ndata: " + endChunk + "\n\ndata: " + usageChunk + "\n\ndata: [DONE]\n\n")
	if a.status != 200 || a.body != back {
		t.Errorf("%d\n%s\nwant\n%s", a.status, a.body, back)
	}
	if use := s.get("/api/usage").body; !strings.Contains(use, `"prompt_tokens":700`) {
		t.Errorf("the tokens are not counted: %s", use)
	}
	if list := s.get("/api/conversations").body; strings.Contains(list, `"id"`) {
		t.Errorf("a request that was passed through is a conversation of weir's loop: %s", list)
	}
}

// A stream whose usage the client did not ask for is counted all the same.
func TestUsageThatNobodyAskedFor(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) { chunks(w, textChunk, endChunk, usageChunk) })
	s := passing(t, u)
	a := s.pass(`{"model":"own","stream":true,"messages":[{"role":"user","content":"Hi"}]}`)
	if strings.Contains(a.body, "usage") || !strings.HasSuffix(a.body, "data: [DONE]\n\n") {
		t.Errorf("the client reads %s", a.body)
	}
	if got := u.asked()[0]; !strings.Contains(got, `"stream_options":{"include_usage":true}`) || strings.Contains(got, `"tools"`) {
		t.Errorf("sent upstream: %s", got)
	}
	if use := s.get("/api/usage").body; !strings.Contains(use, `"prompt_tokens":700`) {
		t.Errorf("the tokens are not counted: %s", use)
	}
}

// A request that is not for a stream is not made one.
func TestAWholeAnswerIsPassedBack(t *testing.T) {
	whole := `{"id":"c1","object":"chat.completion","created":1,"model":"up-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","odd":1},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, whole)
	})
	s := passing(t, u)
	a := s.pass(`{"model":"model:own","messages":[{"role":"user","content":"Hi"}]}`)
	if want := strings.Replace(whole, "up-1", "model:own", 1); a.status != 200 || a.body != want {
		t.Errorf("%d %s, want %s", a.status, a.body, want)
	}
	if got := u.asked()[0]; strings.Contains(got, "stream") {
		t.Errorf("sent upstream: %s", got)
	}
}

// Clients act by the status: what asking again does not help is 400, and what it helps says
// when.
func TestFailuresOfAPassedRequest(t *testing.T) {
	fails := func(status int, retry, body string) func(http.ResponseWriter, int, string) {
		return func(w http.ResponseWriter, _ int, _ string) {
			if retry != "" {
				w.Header().Set("Retry-After", retry)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name         string
		answer       func(http.ResponseWriter, int, string)
		status, wait int
		code         string
		asked        int
	}{
		{"401", fails(401, "", `{"error":{"message":"bad key"}}`), 400, 0, "model_auth", 1},
		{"403", fails(403, "", `{}`), 400, 0, "model_auth", 1},
		{"404", fails(404, "", `{"error":{"message":"no such model"}}`), 400, 0, "model_not_found", 1},
		{"400", fails(400, "", `{"error":{"message":"bad tool"}}`), 400, 0, "model_bad_request", 1},
		{"the window", fails(400, "", `{"error":{"message":"maximum context length is 9 tokens","code":"context_length_exceeded"}}`), 400, 0, "context_length_exceeded", 1},
		{"429", fails(429, "", `{}`), 429, 5, "model_rate_limited", 1},
		{"429 with a wait", fails(429, "3", `{}`), 429, 3, "model_rate_limited", 1},
		{"429 for an hour", fails(429, "3600", `{}`), 400, 0, "quota", 1},
		{"429 without credit", fails(429, "", `{"error":{"code":"insufficient_quota","message":"no credit"}}`), 400, 0, "quota", 1},
		{"402", fails(402, "", `{}`), 400, 0, "quota", 1},
		{"500", fails(500, "", `{}`), 503, 2, "model_overloaded", 2},
		{"503 for long", fails(503, "300", `{}`), 503, 60, "model_overloaded", 1},
		{"a web page", func(w http.ResponseWriter, _ int, _ string) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}, 400, 0, "model_garbage", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t, c.answer)
			a := passing(t, u).pass(`{"model":"own","stream":true,"messages":[{"role":"user","content":"Hi"}]}`)
			if a.status != c.status || a.code(t) != c.code {
				t.Errorf("%d %s", a.status, a.body)
			}
			if wait, _ := strconv.Atoi(a.header.Get("Retry-After")); wait != c.wait {
				t.Errorf("Retry-After %d, want %d", wait, c.wait)
			}
			if n := len(u.asked()); n != c.asked {
				t.Errorf("asked %d times, want %d", n, c.asked)
			}
		})
	}
}

// A stream that breaks off breaks the client's too, after what was delivered: a clean end
// would be taken for the whole answer.
func TestABrokenStreamBreaksTheConnection(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", textChunk)
	})
	s := passing(t, u)
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/v1/chat/completions", strings.NewReader(`{"model":"own","stream":true,"messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err == nil || !strings.Contains(string(got), `"Hi"`) || strings.Contains(string(got), "DONE") {
		t.Errorf("error %v after %s", err, got)
	}
}

// A member that is there twice is refused: the server could take the other one.
func TestTwoModelsInOneRequest(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) { chunks(w, textChunk, endChunk) })
	s := passing(t, u)
	for _, body := range []string{`{"model":"own","model":"other","messages":[]}`, `{"model":"own","messages":[],"Model":"other"}`} {
		if a := s.pass(body); a.status != 400 || len(u.asked()) > 0 {
			t.Errorf("%d %s, %d sent", a.status, a.body, len(u.asked()))
		}
	}
}

// The list says what is passed through, and how long each window is.
func TestNamesOfPassedModels(t *testing.T) {
	window := 5000
	m, err := provider.New(provider.Config{Config: model.Config{Name: "fast", Model: "up-1", BaseURL: "http://127.0.0.1:9/v1", Window: window}})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, m)
	cfg := s.daemon.current.State().Config
	cfg.Models = map[string]Model{"fast": {Model: m}, "weir": {Model: m}, "plain": {Model: m}}
	cfg.Profiles = map[string]Profile{"default": {Model: "fast", Agent: cfg.Profiles["default"].Agent}, "fast": {Model: "plain", Agent: cfg.Profiles["default"].Agent}}
	if err := s.daemon.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Data []struct {
			ID, Model string
			Profile   bool
			Window    int `json:"context_length"`
		}
	}
	if err := json.Unmarshal([]byte(s.get("/v1/models").body), &list); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range list.Data {
		got += fmt.Sprintf("%s=%s/%v/%d ", r.ID, r.Model, r.Profile, r.Window)
	}
	if want := "weir=fast/true/5000 fast=plain/true/5000 model:fast=fast/false/5000 plain=plain/false/5000 model:weir=weir/false/5000 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A model without tool calling of its own gets the client's tools as text, and its call in text
// comes out as a call.
func TestAPassedRequestToAModelThatCallsByText(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, n int, _ string) {
		chunks(w, `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"up-1","choices":[{"index":0,"delta":{"role":"assistant","content":"I look.\n<tool_call>{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}</tool_call>"},"finish_reason":null}]}`, endChunk)
	})
	s := passing(t, u)
	no := false
	cfg := s.daemon.current.State().Config
	own := cfg.Models["own"]
	own.NativeTools = &no
	cfg.Models = map[string]Model{"own": own}
	if err := s.daemon.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	a := s.pass(agentBody)
	if sent := u.asked()[0]; strings.Contains(sent, `"tools"`) || !strings.Contains(sent, `Runs.\n\n- one\n- two`) || !strings.Contains(sent, "iVBO") {
		t.Errorf("sent upstream: %s", sent)
	}
	if !strings.Contains(a.body, `"finish_reason":"tool_calls"`) || !strings.Contains(a.body, `"name":"bash"`) || strings.Contains(a.body, "<tool_call>") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// The demo model speaks no protocol, and serves a client with its own loop all the same.
func TestAPassedRequestToAModelWithoutAProtocol(t *testing.T) {
	s := newServer(t, demo.New())
	cfg := s.daemon.current.State().Config
	info, _ := demo.New().Describe(t.Context())
	cfg.Models = map[string]Model{"scripted": {Model: demo.New(), Info: info}}
	if err := s.daemon.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	a := s.pass(`{"model":"scripted","stream":true,"messages":[{"role":"user","content":"What is the weather in Paris?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`)
	if a.status != 200 || !strings.Contains(a.body, `"name":"get_weather"`) || !strings.Contains(a.body, `{\"city\":\"Paris\"}`) || !strings.Contains(a.body, `"finish_reason":"tool_calls"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	a = s.pass(`{"model":"scripted","messages":[{"role":"user","content":"Where is the tower in Paris?"}],"response_format":{"type":"json_schema","json_schema":{"name":"c","schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}}`)
	if a.status != 200 || !strings.Contains(a.body, `{\"city\":\"Paris\"}`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A user who has only some profiles has no model by its name, unless a list says so.
func TestWhoMayPassRequests(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ int, _ string) { chunks(w, textChunk, endChunk) })
	s := passing(t, u)
	cfg := s.daemon.current.State().Config
	cfg.Users = map[string]User{
		"ada":   {TokenSHA256: sha256.Sum256([]byte("a"))},
		"bob":   {TokenSHA256: sha256.Sum256([]byte("b")), Profiles: []string{"default"}},
		"cleo":  {TokenSHA256: sha256.Sum256([]byte("c")), Profiles: []string{"default"}, Models: []string{"own"}},
		"diego": {TokenSHA256: sha256.Sum256([]byte("d")), Models: []string{}},
	}
	if err := s.daemon.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{"a": 200, "b": 404, "c": 200, "d": 404} {
		as := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
		_, a := s.exchange("POST", "/v1/chat/completions", `{"model":"own","stream":true,"messages":[{"role":"user","content":"Hi"}]}`, as)
		_, list := s.exchange("GET", "/v1/models", "", as)
		if listed := strings.Contains(list.body, `"id":"own"`); a.status != want || listed != (want == 200) {
			t.Errorf("%s: %d, listed %v: %s %s", token, a.status, listed, a.body, list.body)
		}
	}
}
