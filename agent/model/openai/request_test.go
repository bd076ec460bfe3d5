package openai

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
	"github.com/weirhost/weir/sdk/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestRequestOnTheWire(t *testing.T) {
	var got []byte
	var head http.Header
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		head = r.Header.Clone()
		got, _ = io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" {
			t.Errorf("path %s", r.URL.Path)
		}
		modeltest.SSE(events(delta("content", "Hi"), finish("stop")))(w, r)
	}, func(c *Config) {
		c.Extra = map[string]any{"temperature": 0.2, "thinking": map[string]any{"type": "disabled"}}
		c.Headers = map[string]string{"X-Team": "weir"}
	})
	_, err := modeltest.Ask(t.Context(), m, agent.Request{
		System: "You help. <b>&", MaxTokens: 64, Stop: []string{"</tool_call>"}, Locale: tool.Zh,
		Messages: []agent.ChatMessage{
			{Role: "user", Text: "where?"},
			{Role: "assistant"}, // says nothing: left out
			{Role: "assistant", Calls: []tool.Call{modeltest.Call("a", "grep_search", `{"pattern":"x"}`), modeltest.Call("b", "clock", `{broken`), modeltest.Call("c", "clock", `null`)}},
			{Role: "tool", CallID: "a", Tool: "grep_search", Text: "found"},
			{Role: "assistant", Text: "There."},
		},
		Tools: []tool.Spec{
			{Name: "grep_search", Description: "Search", DescriptionZh: "搜索", Params: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`)},
			{Name: "clock", Description: "Time"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if head.Get("Authorization") != "Bearer "+canary || head.Get("X-Team") != "weir" {
		t.Errorf("headers %v", head)
	}
	golden(t, "request.json", got)
	if z, a := bytes.Index(got, []byte(`"z":{`)), bytes.Index(got, []byte(`"a":{`)); z < 0 || a < z {
		t.Errorf("the schema lost the order of its properties: %s", got)
	}
}

// The options of a request are sent and have precedence over the configured ones.
func TestOptionsOnTheWire(t *testing.T) {
	half, top, seed := 0.5, 0.9, int64(7)
	format := &agent.Format{Schema: json.RawMessage(`{"type":"object"}`), Strict: true}
	question := []agent.ChatMessage{{Role: "user", Text: "x"}}
	tools := []tool.Spec{{Name: "clock"}}
	for _, row := range []struct {
		name string
		req  agent.Request
		want map[string]string // JSON; "" is left out
	}{
		{"nothing is said", agent.Request{}, map[string]string{"temperature": "0.2", "tool_choice": "", "response_format": "", "seed": ""}},
		{"sampling", agent.Request{Sampling: agent.Sampling{Temperature: &half, TopP: &top, FrequencyPenalty: &half, PresencePenalty: &half, Seed: &seed, Effort: "low", Bias: map[string]int{"5": -100}}},
			map[string]string{"temperature": "0.5", "top_p": "0.9", "frequency_penalty": "0.5", "presence_penalty": "0.5", "seed": "7", "reasoning_effort": `"low"`, "logit_bias": `{"5":-100}`}},
		{"any call", agent.Request{Tools: tools, Choice: agent.Choice{Must: true}, OneCall: true}, map[string]string{"tool_choice": `"required"`, "parallel_tool_calls": "false"}},
		{"one tool", agent.Request{Tools: tools, Choice: agent.Choice{Must: true, Tool: "clock"}}, map[string]string{"tool_choice": `{"function":{"name":"clock"},"type":"function"}`, "parallel_tool_calls": ""}},
		{"without tools there is no choice", agent.Request{Choice: agent.Choice{Must: true}, OneCall: true}, map[string]string{"tool_choice": "", "parallel_tool_calls": ""}},
		{"calls are over", agent.Request{Tools: tools, NoCalls: true, OneCall: true}, map[string]string{"tool_choice": `"none"`, "parallel_tool_calls": "", "tools": `[{"function":{"name":"clock","description":"","parameters":{"type":"object","properties":{}}},"type":"function"}]`}},
		{"any JSON", agent.Request{Format: &agent.Format{}}, map[string]string{"response_format": `{"type":"json_object"}`}},
		{"a schema", agent.Request{Format: format}, map[string]string{"response_format": `{"json_schema":{"name":"answer","schema":{"type":"object"},"strict":true},"type":"json_schema"}`}},
	} {
		var got map[string]json.RawMessage
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Error(err)
			}
			modeltest.SSE(events(delta("content", "Hi"), finish("stop")))(w, r)
		}, func(c *Config) { c.Extra = map[string]any{"temperature": 0.2} })
		row.req.Messages = question
		if _, err := modeltest.Ask(t.Context(), m, row.req); err != nil {
			t.Fatal(err)
		}
		for name, want := range row.want {
			if string(got[name]) != want {
				t.Errorf("%s: %s is %s, want %s", row.name, name, got[name], want)
			}
		}
	}
}

// golden compares JSON with a file, indented so that people can read it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	b.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		code agent.ModelCode
	}{
		"no model":                    {Config{}, agent.ModelNotFound},
		"no address":                  {Config{Config: model.Config{Model: "m", BaseURL: "localhost:8000"}}, agent.ModelBadRequest},
		"a file":                      {Config{Config: model.Config{Model: "m", BaseURL: "file:///etc"}}, agent.ModelBadRequest},
		"a key with its line end":     {Config{Config: model.Config{Model: "m", Key: canary + "\n"}}, agent.ModelAuth},
		"a key in typographic quotes": {Config{Config: model.Config{Model: "m", Key: "“" + canary + "”"}}, agent.ModelAuth},
		"messages in extra":           {Config{Config: model.Config{Model: "m", Extra: map[string]any{"messages": 1}}}, agent.ModelBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.cfg)
			if !agent.IsModelCode(err, c.code) || strings.Contains(err.Error(), canary) {
				t.Errorf("%v; want code %s without the key", err, c.code)
			}
		})
	}
}

func TestWholeAddressIsTaken(t *testing.T) {
	ok := modeltest.SSE(events(delta("content", "Hi"), finish("stop")))
	for _, tail := range []string{"", "/", "/chat/completions", "/chat/completions/"} {
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/chat/completions" {
				http.NotFound(w, r)
				return
			}
			ok(w, r)
		}, func(c *Config) { c.BaseURL += tail })
		if _, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); err != nil {
			t.Errorf("base_url …%s: %v", tail, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	yes := true
	for _, c := range []struct {
		name   string
		pages  map[string]string // path to body; others are 404
		window int
		native *bool
	}{
		{"vLLM", map[string]string{"/v1/models": `{"data":[{"id":"other","max_model_len":1},{"id":"m-1","max_model_len":32768}]}`}, 32768, nil},
		{"OpenRouter", map[string]string{"/v1/models": `{"data":[{"id":"m-1","context_length":131072,"capabilities":{"x":1}}]}`}, 131072, nil},
		{"llama.cpp", map[string]string{"/v1/models": `{"data":[{"id":"m-1","meta":{"n_ctx":8192,"n_ctx_train":131072}}]}`}, 8192, nil},
		{"LM Studio: the loaded length, not the largest", map[string]string{
			"/v1/models":     `{"data":[{"id":"m-1"}]}`,
			"/api/v0/models": `{"data":[{"id":"m-1","max_context_length":131072,"loaded_context_length":4096,"capabilities":["tool_use"]}]}`,
		}, 4096, &yes},
		{"LM Studio from 0.4 on", map[string]string{
			"/v1/models":     `{"data":[{"id":"m-1"}]}`,
			"/api/v1/models": `{"models":[{"key":"other"},{"key":"m-1","max_context_length":131072,"loaded_instances":[{"id":"m-1","config":{"context_length":8000}}],"capabilities":{"vision":false,"trained_for_tool_use":true}}]}`,
		}, 8000, &yes},
		{"LM Studio, not loaded yet", map[string]string{
			"/v1/models":     `{"data":[{"id":"m-1"}]}`,
			"/api/v1/models": `{"models":[{"key":"m-1","max_context_length":131072,"loaded_instances":[],"capabilities":{"trained_for_tool_use":true}}]}`,
		}, 0, &yes},
		{"llama.cpp: one slot's window, and its template", map[string]string{
			"/v1/models": `{"data":[{"id":"m-1","meta":{"n_ctx_train":131072}}]}`,
			"/props":     `{"default_generation_settings":{"n_ctx":16384},"chat_template_caps":{"supports_tools":true,"supports_tool_calls":true}}`,
		}, 16384, &yes},
		{"says nothing", map[string]string{"/v1/models": `{"data":[{"id":"m-1"}]}`}, 0, nil},
		{"no list", nil, 0, nil},
		{"a web page", map[string]string{"/v1/models": `<html>`}, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				body, ok := c.pages[r.URL.Path]
				if !ok {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, body)
			})
			want := agent.ModelInfo{Name: "test", Provider: "openai", Model: "m-1", Window: c.window, NativeTools: c.native}
			got, err := m.Describe(t.Context())
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
			before := asked
			if m.Describe(t.Context()); asked != before {
				t.Error("the server was asked again for what is known")
			}
		})
	}
}

func TestDescribeWithoutAsking(t *testing.T) {
	no := false
	m := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") }, func(c *Config) { c.Window, c.NativeTools = 4096, &no })
	if got, err := m.Describe(t.Context()); err != nil || got.Window != 4096 || got.NativeTools == nil || *got.NativeTools {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDescribeTellsAWrongKey(t *testing.T) {
	m := serve(t, modeltest.Fail(401, ""))
	if got, err := m.Describe(t.Context()); !agent.IsModelCode(err, agent.ModelAuth) || got.Model != "m-1" {
		t.Errorf("%+v, %v; want what is known and an auth error", got, err)
	}
}

func TestModels(t *testing.T) {
	m := serve(t, modeltest.Fail(200, `{"data":[{"id":"b"},{"id":"a"}]}`, "Content-Type", "application/json"))
	if got, err := m.Models(t.Context()); err != nil || !cmp.Equal(got, []string{"b", "a"}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A server that wants thoughts back with the calls they led to gets them from
// then on; others never see them.
func TestThoughtsGoBackWhereTheyAreWanted(t *testing.T) {
	var bodies []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(raw))
		if !strings.Contains(string(raw), `"reasoning_content":"hm"`) {
			modeltest.Fail(400, "{\"error\":{\"message\":\"Missing `reasoning_content` field in the assistant message at message index 1\"}}")(w, r)
			return
		}
		modeltest.SSE(events(delta("content", "noon"), finish("stop")))(w, r)
	})
	r := modeltest.Hello()
	r.Messages = append(r.Messages, agent.ChatMessage{Role: "assistant", Calls: []tool.Call{modeltest.Call("a", "clock", "{}")}, Reasoning: "hm"},
		agent.ChatMessage{Role: "tool", CallID: "a", Text: "12:00"}, agent.ChatMessage{Role: "assistant", Text: "Noon.", Reasoning: "said"})
	for i, want := range []int{2, 3} {
		if got, err := modeltest.Ask(t.Context(), m, r); err != nil || got.Text != "noon" || len(bodies) != want {
			t.Errorf("question %d: %+v, %v after %d requests", i, got, err, len(bodies))
		}
	}
	if strings.Contains(bodies[0], "reasoning_content") || strings.Contains(bodies[2], "said") {
		t.Errorf("thoughts went where nobody wants them: %s", bodies)
	}
}

func TestToolsStay(t *testing.T) {
	call := events(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"clock","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, done)
	modeltest.ToolsStay(t, func(h http.HandlerFunc) agent.Model { return serve(t, h) },
		modeltest.SSE(call), modeltest.SSE(events(delta("content", "Noon."), finish("stop"))))
}

// A server that refuses the word that forbids calls is asked without it, with the same
// tools.
func TestForbiddingCallsIsRefused(t *testing.T) {
	var bodies []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if bodies = append(bodies, string(raw)); strings.Contains(string(raw), `"tool_choice"`) {
			modeltest.Fail(400, `{"error":{"message":"tool_choice: unknown field"}}`)(w, r)
			return
		}
		modeltest.SSE(events(delta("content", "noon"), finish("stop")))(w, r)
	})
	r := modeltest.Hello()
	r.Tools, r.NoCalls = []tool.Spec{{Name: "clock"}}, true
	for i, want := range []int{2, 3} {
		if got, err := modeltest.Ask(t.Context(), m, r); err != nil || got.Text != "noon" || len(bodies) != want || !strings.Contains(bodies[want-1], `"clock"`) {
			t.Errorf("question %d: %+v, %v after %d requests: %s", i, got, err, len(bodies), bodies[len(bodies)-1])
		}
	}
}
