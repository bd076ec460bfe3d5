package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
)

func problem(kind, msg string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, msg)
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		code   agent.ModelCode
		says   []string // in the sentence or the hint
	}{
		{"wrong key", 401, problem("authentication_error", "invalid x-api-key"), agent.ModelAuth, []string{"invalid x-api-key", "TEST_KEY"}},
		{"no right", 403, problem("permission_error", "no access"), agent.ModelAuth, []string{"no access"}},
		{"no balance", 400, problem("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), agent.ModelRateLimited, []string{"top up"}},
		{"unknown model", 404, problem("not_found_error", "model: claude-tset"), agent.ModelNotFound, []string{`"claude-test"`, "/v1/models"}},
		{"wrong path", 404, "404 page not found", agent.ModelNotFound, []string{"/v1/messages"}},
		{"too long", 400, problem("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), agent.ModelWindow, []string{"210000"}},
		{"too large", 413, problem("request_too_large", "Request exceeds the maximum size"), agent.ModelWindow, nil},
		{"rate", 429, problem("rate_limit_error", "slow down"), agent.ModelRateLimited, []string{"slow down"}},
		{"overloaded", 529, problem("overloaded_error", "Overloaded"), agent.ModelOverloaded, []string{"529"}},
		{"broken", 500, problem("api_error", "Internal server error"), agent.ModelOverloaded, []string{"500"}},
		{"bad value", 400, problem("invalid_request_error", "temperature: range: 0..1"), agent.ModelBadRequest, []string{"temperature", "[models.test]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := modeltest.Ask(t.Context(), serve(t, modeltest.Fail(c.status, c.body)), modeltest.Hello())
			var me *agent.ModelError
			if !errors.As(err, &me) || me.Code != c.code || me.Status != c.status || me.Model != "test" {
				t.Fatalf("%#v; want code %s", err, c.code)
			}
			for _, s := range c.says {
				if !strings.Contains(me.Error(), s) {
					t.Errorf("%q does not say %q", me.Error(), s)
				}
			}
		})
	}
}

func TestFailuresInsideTheStream(t *testing.T) {
	hel := []string{begin(0, `{"type":"text","text":""}`), grow(0, "text_delta", "text", "Hel")}
	for _, c := range []struct {
		name, body string
		code       agent.ModelCode
	}{
		{"overloaded", streamed([]string{start}, hel, []string{problem("overloaded_error", "Overloaded")}), agent.ModelOverloaded},
		{"rate", events(problem("rate_limit_error", "slow down")), agent.ModelRateLimited},
		{"refused", streamed([]string{start}, hel, []string{end("refusal"), stop}), agent.ModelBadRequest},
		{"not JSON", "data: oops\n\n", agent.ModelGarbage},
		{"JSON of another kind", "data: [1]\n\n", agent.ModelGarbage},
		{"OpenAI's events", "data: {\"choices\":[]}\n\n", agent.ModelGarbage},
		{"a piece of no block", events(start, grow(3, "text_delta", "text", "x")), agent.ModelGarbage},
		{"a piece of a block that was closed", streamed(says(0, "x"), []string{grow(0, "text_delta", "text", "x")}), agent.ModelGarbage},
		{"a block twice", streamed(says(0, "x"), says(0, "y")), agent.ModelGarbage},
		{"stopped before it ended", streamed([]string{start}, hel, []string{stop}), agent.ModelCut},
		{"nothing", "", agent.ModelCut},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := modeltest.Ask(t.Context(), serve(t, modeltest.SSE(c.body)), modeltest.Hello()); !agent.IsModelCode(err, c.code) {
				t.Errorf("%+v, %v; want code %s", got, err, c.code)
			}
		})
	}
}

func TestGarbageForAnAnswer(t *testing.T) {
	for name, c := range map[string]struct{ kind, body string }{
		"a web page":      {"text/html; charset=utf-8", "<html>Welcome to nginx!</html>"},
		"plain text":      {"text/plain", "hello"},
		"JSON of no chat": {"application/json", `{"status":"ok"}`},
		"OpenAI's answer": {"application/json", `{"choices":[{"message":{"content":"x"}}]}`},
		"broken JSON":     {"application/json", `{"type":"mess}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, modeltest.Say(c.kind, c.body))
			if _, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); !agent.IsModelCode(err, agent.ModelGarbage) || !strings.Contains(err.Error(), "base_url") {
				t.Errorf("%v; want garbage with a hint at base_url", err)
			}
		})
	}
}

func TestRepeats(t *testing.T) {
	ok := modeltest.SSE(streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop}))
	var hits atomic.Int32
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch hits.Add(1) {
		case 1:
			modeltest.Fail(529, problem("overloaded_error", "Overloaded"))(w, r)
		case 2:
			modeltest.SSE(events(start))(w, r) // broken off before anything was said
		default:
			ok(w, r)
		}
	}, func(c *Config) { c.Retries = 2 })
	if got, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); err != nil || got.Text != "Hi" || hits.Load() != 3 {
		t.Errorf("%+v, %v after %d requests", got, err, hits.Load())
	}
}

// No error shows the key, even when the server says it back, and nothing of the
// SDK's own environment is taken.
func TestKeysStayWhereTheyBelong(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE"} {
		t.Setenv(name, "X-Env: of-the-environment")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if h := fmt.Sprint(r.Header); strings.Contains(h, "environment") || strings.Contains(h, "Stainless") || r.Header.Get("X-Api-Key") != canary || r.Header.Get("Anthropic-Version") == "" {
			t.Errorf("sent %s", h)
		}
		modeltest.Fail(401, problem("authentication_error", "bad key "+canary))(w, r)
	})
	modeltest.Hides(t, m, canary)
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		code agent.ModelCode
	}{
		"no model":        {Config{}, agent.ModelNotFound},
		"no address":      {Config{Model: "m", BaseURL: "here"}, agent.ModelBadRequest},
		"a key in quotes": {Config{Model: "m", Key: "“x”"}, agent.ModelAuth},
		"extra tools":     {Config{Model: "m", Extra: map[string]any{"tools": 1}}, agent.ModelBadRequest},
	} {
		if m, err := New(c.cfg); !agent.IsModelCode(err, c.code) || m != nil {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	for _, base := range []string{"https://a.example/v1/messages", "https://a.example/v1/", "https://a.example"} {
		if m, err := New(Config{Model: "m", BaseURL: base}); err != nil || m.String() != "m at https://a.example" {
			t.Errorf("%s: %v, %v", base, m, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	var hits atomic.Int32
	status, body := 200, `{"id":"claude-test","max_input_tokens":200000,"max_tokens":4096}`
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models/claude-test", func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		modeltest.Fail(status, body)(w, r)
	})
	mux.HandleFunc("GET /v1/models", modeltest.Fail(200, `{"data":[{"id":"a"},{"id":"b"}]}`))
	m := serveMux(t, mux)
	for range 2 {
		if info, err := m.Describe(t.Context()); err != nil || info.Window != 200000 || !*info.NativeTools || info.Provider != "anthropic" {
			t.Errorf("%+v, %v", info, err)
		}
	}
	if names, err := m.Models(t.Context()); err != nil || len(names) != 2 || hits.Load() != 1 {
		t.Errorf("%v, %v after %d questions", names, err, hits.Load())
	}
	if s, err := m.look(t.Context()); err != nil || s.maxTokens() != 4096 {
		t.Errorf("replies are bound to %d tokens; want the model's own bound", s.maxTokens())
	}
	status, body = 404, problem("not_found_error", "no list here")
	if info, err := serveMux(t, mux).Describe(t.Context()); err != nil || info.Window != 0 {
		t.Errorf("a server without a list: %+v, %v", info, err)
	}
	status, body = 500, ""
	if info, err := serveMux(t, mux, func(c *Config) { c.Window = 9 }).Describe(t.Context()); !agent.IsModelCode(err, agent.ModelOverloaded) || info.Window != 9 {
		t.Errorf("a server that fails: %+v, %v", info, err)
	}
}

func TestSilence(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		modeltest.SSE(events(start)+events(says(0, "Hi")[:2]...))(w, r)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, func(c *Config) { c.FirstTimeout, c.StallTimeout = time.Minute, 50*time.Millisecond })
	if got, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); !agent.IsModelCode(err, agent.ModelCut) || got.Text != "Hi" {
		t.Errorf("%+v, %v; want a cut behind the text", got, err)
	}
}
