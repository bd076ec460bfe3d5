package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "sk-canary-7f3a9b2c1d"

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestNew(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		code agent.ModelCode // empty: a model
		says string          // in the error, or in what the model calls itself
	}{
		{"a preset with its variable", Config{Provider: "ark", Model: "ep-1", Getenv: env("ARK_API_KEY", canary)}, "", "ep-1 at https://ark.cn-beijing.volces.com/api/v3"},
		{"a preset without it", Config{Provider: "ark", Model: "ep-1", Getenv: env()}, agent.ModelAuth, "ARK_API_KEY"},
		{"the address alone says whose key is missing", Config{Provider: "openai", BaseURL: "https://api.deepseek.com/v1/", Model: "m", Getenv: env()}, agent.ModelAuth, "DEEPSEEK_API_KEY"},
		{"a preset at another address needs no key", Config{Provider: "openai", BaseURL: "http://10.0.0.1/v1", Model: "m", Getenv: env()}, "", "10.0.0.1"},
		{"a header instead of a key", Config{Provider: "openai", Model: "m", Headers: map[string]string{"api-key": "x"}, Getenv: env()}, "", "api.openai.com"},
		{"a local server", Config{Provider: "vllm", Model: "m", Getenv: env()}, "", "127.0.0.1:8000/v1"},
		{"Ollama", Config{Provider: "ollama", Model: "qwen3:8b", Getenv: env()}, "", "127.0.0.1:11434"},
		{"Ollama without a model", Config{Provider: "ollama", Getenv: env()}, agent.ModelNotFound, "ollama list"},
		{"openai without a model", Config{Provider: "openai", Key: canary, Getenv: env()}, agent.ModelNotFound, "[models.mine]"},
		{"a bad address", Config{Provider: "vllm", BaseURL: "here", Model: "m", Getenv: env()}, agent.ModelBadRequest, "base_url"},
		{"Anthropic's own", Config{Provider: "anthropic", Model: "claude-x", Getenv: env("ANTHROPIC_API_KEY", canary)}, "", "claude-x at https://api.anthropic.com"},
		{"another server that speaks as Anthropic", Config{Provider: "anthropic", BaseURL: "https://api.deepseek.com/anthropic", Model: "m", Key: canary, Getenv: env()}, "", "m at https://api.deepseek.com/anthropic"},
		{"no provider", Config{Model: "m"}, agent.ModelBadRequest, "ollama"},
		{"an unknown one", Config{Provider: "x", Model: "m"}, agent.ModelBadRequest, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Name = "mine"
			m, err := New(c.cfg, nil)
			if c.code != "" {
				if !agent.IsModelCode(err, c.code) || !strings.Contains(err.Error(), c.says) || m != nil {
					t.Errorf("%v, %v; want code %s that says %q and no model", m, err, c.code, c.says)
				}
				return
			}
			if err != nil || !strings.Contains(fmt.Sprint(m), c.says) {
				t.Errorf("%v, %v; want %q", m, err, c.says)
			}
		})
	}
}

// A variable's key goes to the address it belongs to and nowhere else.
func TestKeyOfTheEnvironmentStaysHome(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.Contains(fmt.Sprint(r.Header), canary) {
			t.Error("a stranger got the key")
		}
	}))
	defer srv.Close()
	m, err := New(Config{Provider: "openai", BaseURL: srv.URL, Model: "m", Retries: -1, HTTP: srv.Client(), Getenv: env("OPENAI_API_KEY", canary)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Generate(t.Context(), agent.Request{}) {
		if err == nil {
			t.Error("an answer from a server that gave none")
		}
	}
}

type logged []string

func (l *logged) Warn(msg string, args ...any) { *l = append(*l, msg+" "+fmt.Sprint(args...)) }

func TestRepeatsAndLossesAreLogged(t *testing.T) {
	hits := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/chat" {
			http.NotFound(w, r)
			return
		}
		if hits++; hits == 1 {
			http.Error(w, `{"error":"busy with `+canary+`"}`, http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, `{"message":{"content":"Hi"},"done":true,"prompt_eval_count":10}`+"\n")
	}))
	defer srv.Close()
	var log logged
	m, err := New(Config{Name: "mine", Provider: "ollama", BaseURL: srv.URL, Key: canary, Model: "m", HTTP: srv.Client(), Getenv: env()}, &log)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Generate(t.Context(), agent.Request{System: strings.Repeat("word ", 5000)}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(log) != 2 || !strings.Contains(log[0], "busy") || !strings.Contains(log[1], "dropped") || strings.Contains(fmt.Sprint(log), canary) {
		t.Errorf("logged %q; want one repeat, one loss and no key", log)
	}
}

func TestProbe(t *testing.T) {
	serve := func(path, body string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.Header.Get("Authorization")) > 0 {
				t.Error("a key was sent")
			}
			if r.URL.Path != path {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, body)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hang.Close)
	oll := serve("/api/tags", `{"models":[{"name":"nomic-embed-text:latest"},{"name":"qwen3:8b"},{"name":"$(reboot)"},{"name":"-x"}]}`)
	cpp := serve("/v1/models", `{"models":[{"name":"a.gguf"}],"object":"list","data":[{"id":"a.gguf"}]}`)
	lms := serve("/v1/models", `{"data":[]}`)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	got := Probe(t.Context(), ProbeOptions{
		HTTP: &http.Client{Transport: tr},
		BaseURLs: map[string]string{
			"ollama": oll, "lmstudio": lms + "/v1", "llamacpp": cpp + "/v1", "vllm": hang.URL + "/v1",
		},
		Getenv: env("DEEPSEEK_API_KEY", canary, "ANTHROPIC_API_KEY", canary, "OPENAI_API_KEY", "  "),
	})
	want := []Found{
		{"ollama", "Ollama", oll, "", []string{"nomic-embed-text:latest", "qwen3:8b"}, "weir model use ollama --model qwen3:8b"},
		{"lmstudio", "LM Studio", lms + "/v1", "", nil, "weir model use lmstudio --model <model>"},
		{"llamacpp", "llama.cpp", cpp + "/v1", "", []string{"a.gguf"}, "weir model use llamacpp --model a.gguf"},
		{"deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", nil, "weir model use deepseek --model <model>"},
		{"anthropic", "Anthropic (Claude)", "https://api.anthropic.com", "ANTHROPIC_API_KEY", nil, "weir model use anthropic --model <model>"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("found (-want +got):\n%s", d)
	}
	if strings.Contains(fmt.Sprint(got), canary) {
		t.Error("a key shows")
	}
}

func TestProbeFindsNothing(t *testing.T) {
	strange := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, map[string]string{"/v1/models": "<html>", "/api/tags": `{"hello":1}`}[r.URL.Path])
	}))
	defer strange.Close()
	got := Probe(t.Context(), ProbeOptions{
		HTTP: strange.Client(), Getenv: env(),
		BaseURLs: map[string]string{"ollama": strange.URL, "vllm": strange.URL + "/v1", "llamacpp": "http://%zz", "lmstudio": ""},
	})
	if len(got) != 0 {
		t.Errorf("found %v where there is nothing", got)
	}
}

// A canned model answers each question with the next of its replies.
type canned struct {
	info    agent.ModelInfo
	descErr error
	replies []func(yield func(agent.Delta, error) bool)
	asked   []agent.Request
}

func (c *canned) Describe(context.Context) (agent.ModelInfo, error) { return c.info, c.descErr }

func (c *canned) Generate(_ context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	c.asked = append(c.asked, r)
	return c.replies[len(c.asked)-1]
}

func says(ds ...agent.Delta) func(func(agent.Delta, error) bool) {
	return func(yield func(agent.Delta, error) bool) {
		for _, d := range ds {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func fails(err error) func(func(agent.Delta, error) bool) {
	return func(yield func(agent.Delta, error) bool) { yield(agent.Delta{}, err) }
}

// Ollama is where its variables say: OLLAMA_API_URL, then OLLAMA_HOST.
func TestOllamaAddress(t *testing.T) {
	for _, tt := range []struct{ api, host, want string }{
		{"", "", "http://127.0.0.1:11434"},
		{"http://localhost", "", "http://localhost:11434"}, // as many files have it
		{"http://gpu:8000/", "other", "http://gpu:8000"},
		{"", "gpu", "http://gpu:11434"},
		{"", "gpu:8000", "http://gpu:8000"},
		{"", "0.0.0.0", "http://127.0.0.1:11434"}, // which a server listens on
		{"", ":11500", "http://127.0.0.1:11500"},
		{"", "[::1]:1", "http://[::1]:1"},
		{"https://ollama.example.com/x", "", "https://ollama.example.com/x"},
		{"ftp://x", "gpu", "http://gpu:11434"},
		{"http://user:pass@x", "", "http://127.0.0.1:11434"},
	} {
		p, _ := PresetByName("ollama")
		if got := p.address(env("OLLAMA_API_URL", tt.api, "OLLAMA_HOST", tt.host)); got != tt.want {
			t.Errorf("%q, %q: %s, want %s", tt.api, tt.host, got, tt.want)
		}
	}
}

// A model without base_url, and the search for servers, ask the server of the variable.
func TestOllamaOfTheEnvironmentIsAsked(t *testing.T) {
	asked := map[string]bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path] = true
		switch r.URL.Path {
		case "/api/tags":
			io.WriteString(w, `{"models":[{"name":"qwen3:8b"}]}`)
		case "/api/chat":
			io.WriteString(w, `{"message":{"content":"Hi"},"done":true}`+"\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	getenv := env("OLLAMA_API_URL", srv.URL)
	m, err := New(Config{Provider: "ollama", Model: "qwen3:8b", Retries: -1, HTTP: srv.Client(), Getenv: getenv}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Generate(t.Context(), agent.Request{}) {
		if err != nil {
			t.Error(err)
		}
	}
	others := map[string]string{"lmstudio": "", "vllm": "", "llamacpp": ""}
	found := Probe(t.Context(), ProbeOptions{BaseURLs: others, Getenv: getenv, Timeout: time.Minute, HTTP: srv.Client()})
	if len(found) != 1 || found[0].BaseURL != srv.URL || !asked["/api/chat"] {
		t.Errorf("found %+v, asked %v", found, asked)
	}
	if got := (Config{Provider: "ollama", Getenv: getenv}).Server(); got != strings.TrimPrefix(srv.URL, "http://") {
		t.Errorf("server %s", got)
	}
}

// Gemini is asked at its OpenAI-compatible address, with its own key and tools.
func TestGemini(t *testing.T) {
	var body string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1beta/openai/chat/completions" || r.Header.Get("Authorization") != "Bearer "+canary {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
			return
		}
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"calculator","arguments":"{\"expression\":\"1+1\"}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	p, ok := PresetByName("gemini")
	if !ok || p.KeyEnv != "GEMINI_API_KEY" || p.BaseURL != "https://generativelanguage.googleapis.com/v1beta/openai" {
		t.Fatalf("%v %+v", ok, p)
	}
	m, err := New(Config{Provider: "gemini", Model: "gemini-2.5-flash", Retries: -1, Getenv: env("GEMINI_API_KEY", canary), HTTP: &http.Client{Transport: rerouted{srv.URL}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	spec := tool.Spec{Name: "calculator", Description: "Calculates.", Params: json.RawMessage(`{"type":"object","properties":{"expression":{"type":"string"}}}`)}
	for c, err := range m.Generate(t.Context(), agent.Request{Tools: []tool.Spec{spec}, Messages: []agent.ChatMessage{{Role: "user", Text: "1+1?"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Call != nil {
			calls = append(calls, c.Call.Tool)
		}
	}
	if !slices.Equal(calls, []string{"calculator"}) || !strings.Contains(body, `"gemini-2.5-flash"`) || !strings.Contains(body, `"tools"`) {
		t.Errorf("calls %v, sent %s", calls, body)
	}
	if _, err := New(Config{Provider: "gemini", Model: "m", Getenv: env()}, nil); err == nil || !strings.Contains(err.Error(), "no key") {
		t.Errorf("without a key: %v", err)
	}
}

// rerouted sends requests to another server, with their paths and headers.
type rerouted struct{ to string }

func (r rerouted) RoundTrip(req *http.Request) (*http.Response, error) {
	next := req.Clone(req.Context())
	u, err := url.Parse(r.to)
	if err != nil {
		return nil, err
	}
	next.URL.Scheme, next.URL.Host, next.Host = u.Scheme, u.Host, ""
	return http.DefaultTransport.RoundTrip(next)
}
