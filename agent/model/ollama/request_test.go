package ollama

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The options of a request are sent and have precedence over the configured ones.
func TestOptionsOnTheWire(t *testing.T) {
	half, seed := 0.5, int64(7)
	schema := &agent.Format{Schema: json.RawMessage(`{"type":"object"}`)}
	for _, row := range []struct {
		name            string
		req             agent.Request
		options, format string
	}{
		{"nothing is said", agent.Request{}, `{"num_ctx":16384,"temperature":0.2}`, ""},
		{"sampling", agent.Request{Sampling: agent.Sampling{Temperature: &half, PresencePenalty: &half, Seed: &seed}}, `{"num_ctx":16384,"presence_penalty":0.5,"seed":7,"temperature":0.5}`, ""},
		{"any JSON", agent.Request{Format: &agent.Format{}}, `{"num_ctx":16384,"temperature":0.2}`, `"json"`},
		{"a schema", agent.Request{Format: schema}, `{"num_ctx":16384,"temperature":0.2}`, `{"type":"object"}`},
		{"a schema beside tools, which could not be called", agent.Request{Format: schema, Tools: []tool.Spec{{Name: "clock"}}}, `{"num_ctx":16384,"temperature":0.2}`, ""},
		{"a schema when calls are over", agent.Request{Format: schema, Tools: []tool.Spec{{Name: "clock"}}, NoCalls: true}, `{"num_ctx":16384,"temperature":0.2}`, `{"type":"object"}`},
	} {
		var got struct{ Options, Format json.RawMessage }
		m := serve(t, showQwen, func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Error(err)
			}
			lines(text("Hi"), done("stop"))(w, r)
		}, func(c *Config) { c.Extra = map[string]any{"temperature": 0.2} })
		row.req.Messages = []agent.ChatMessage{{Role: "user", Text: "x"}}
		if _, err := modeltest.Ask(t.Context(), m, row.req); err != nil {
			t.Fatal(err)
		}
		if string(got.Options) != row.options || string(got.Format) != row.format {
			t.Errorf("%s: options %s, format %s", row.name, got.Options, got.Format)
		}
	}
}

func TestRequestOnTheWire(t *testing.T) {
	var got []byte
	think := false
	m := serve(t, showQwen, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		lines(text("Hi"), done("stop"))(w, r)
	}, func(c *Config) {
		c.Extra = map[string]any{"temperature": 0.2, "num_ctx": 99}
		c.Think, c.KeepAlive = &think, "30m"
	})
	_, err := modeltest.Ask(t.Context(), m, agent.Request{
		System: "You help.", MaxTokens: 64, Stop: []string{"</tool_call>"}, Locale: tool.Zh,
		Messages: []agent.ChatMessage{
			{Role: "user", Text: "where?"},
			{Role: "assistant"}, // says nothing: left out
			{Role: "assistant", Calls: []tool.Call{
				{ID: "a", Tool: "grep_search", Args: json.RawMessage(`{"pattern":"x"}`)}, {ID: "b", Tool: "clock", Args: json.RawMessage(`{broken`)},
			}},
			{Role: "tool", CallID: "a", Tool: "grep_search", Text: "found"},
		},
		Tools: []tool.Spec{
			{Name: "grep_search", Description: "Search", DescriptionZh: "搜索", Params: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`)},
			{Name: "clock", Description: "Time"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	path := filepath.Join("testdata", "request.json")
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
		t.Errorf("request (-want +got):\n%s", d)
	}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name            string
		show            string
		config, request int
		want            int
	}{
		{"nothing said", showQwen, 0, 0, DefaultWindow},
		{"configured", showQwen, 8192, 0, 8192},
		{"asked for by the loop", showQwen, 8192, 4096, 4096},
		{"never over the model's own", showQwen, 131072, 0, 40960},
		{"a model smaller than the default", `{"model_info":{"phi.context_length":2048}}`, 0, 0, 2048},
		{"the server does not know", `{}`, 32768, 0, 32768},
		{"no /api/show", "", 32768, 0, 32768},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent request
			m := serve(t, c.show, func(w http.ResponseWriter, r *http.Request) {
				json.NewDecoder(r.Body).Decode(&sent)
				lines(text("Hi"), done("stop"))(w, r)
			}, func(cfg *Config) { cfg.Window = c.config })
			r := modeltest.Hello()
			r.Window = c.request
			if _, err := modeltest.Ask(t.Context(), m, r); err != nil {
				t.Fatal(err)
			}
			if got := sent.Options["num_ctx"]; got != float64(c.want) {
				t.Errorf("num_ctx %v; want %d", got, c.want)
			}
			if sent.Truncate || sent.Shift {
				t.Error("the server may drop the beginning of the prompt")
			}
		})
	}
}

func TestDroppedPromptIsReported(t *testing.T) {
	for _, c := range []struct {
		name    string
		prompt  string
		counted int
		warn    bool
	}{
		{"all there", strings.Repeat("word ", 2000), 2100, false},
		{"most of it gone", strings.Repeat("word ", 8000), 2048, true},
		{"most of it gone, Chinese", strings.Repeat("水库", 4000), 2048, true},
		{"dense Chinese tokens", strings.Repeat("水库", 4000), 4000, false},
		{"too short to judge", "hello", 1, false},
		{"not counted", strings.Repeat("word ", 8000), 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []Warning
			end, _ := json.Marshal(piece{Done: true, Prompt: wire.Tokens(c.counted), Completion: 1})
			m := serve(t, showQwen, lines(text("Hi"), string(end)), func(cfg *Config) {
				cfg.Warn = func(w Warning) { got = append(got, w) }
			})
			if _, err := modeltest.Ask(t.Context(), m, agent.Request{System: c.prompt, Messages: modeltest.Hello().Messages}); err != nil {
				t.Fatal(err)
			}
			if (len(got) == 1) != c.warn {
				t.Fatalf("warnings %v; want one: %v", got, c.warn)
			}
			if c.warn && (got[0].Counted != c.counted || got[0].Window != DefaultWindow || !strings.Contains(got[0].Text, "2048")) {
				t.Errorf("%+v", got[0])
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name   string
		show   string
		config *bool
		native *bool
		thinks bool
	}{
		{"as the server says", showQwen, nil, &yes, true},
		{"a model without tools", `{"capabilities":["completion"]}`, nil, &no, false},
		{"the operator knows better", showQwen, &no, &no, true},
		{"an old server does not say", `{"model_info":{}}`, nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := serve(t, c.show, modeltest.Fail(500, ""), func(cfg *Config) { cfg.NativeTools = c.config })
			got, err := m.Describe(t.Context())
			want := agent.ModelInfo{Name: "local", Provider: "ollama", Model: "qwen3:8b", Window: DefaultWindow, NativeTools: c.native}
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
			if thinks, err := m.Thinks(t.Context()); thinks != c.thinks || err != nil {
				t.Errorf("thinks %v, %v", thinks, err)
			}
		})
	}
}

func TestDescribeOfAMissingModel(t *testing.T) {
	m := serve(t, "", modeltest.Fail(500, ""))
	if _, err := m.Describe(t.Context()); !agent.IsModelCode(err, agent.ModelNotFound) || !strings.Contains(err.Error(), "ollama pull") {
		t.Errorf("%v; want not_found with the command", err)
	}
	if _, err := m.Thinks(t.Context()); err == nil {
		t.Error("no error")
	}
}

func TestModels(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/tags" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `{"models":[{"name":"qwen3:8b"},{"name":"llama3.2:latest"}]}`)
	}))
	defer srv.Close()
	for _, tail := range []string{"", "/", "/v1", "/v1/", "/api", "/api/chat"} { // what people paste
		m, err := New(Config{Config: model.Config{Model: "m", BaseURL: srv.URL + tail, HTTP: srv.Client()}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Models(t.Context()); err != nil || !cmp.Equal(got, []string{"qwen3:8b", "llama3.2:latest"}) {
			t.Errorf("base_url …%s: %v, %v", tail, got, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		code agent.ModelCode
	}{
		"no model":   {Config{}, agent.ModelNotFound},
		"no scheme":  {Config{Config: model.Config{Model: "m", BaseURL: "localhost:11434"}}, agent.ModelBadRequest},
		"not a host": {Config{Config: model.Config{Model: "m", BaseURL: "http://"}}, agent.ModelBadRequest},
	} {
		if _, err := New(c.cfg); !agent.IsModelCode(err, c.code) {
			t.Errorf("%s: %v; want code %s", name, err, c.code)
		}
	}
}

func TestToolsStay(t *testing.T) {
	call := `{"message":{"tool_calls":[{"function":{"name":"clock","arguments":{}}}]}}`
	modeltest.ToolsStay(t, func(h http.HandlerFunc) agent.Model { return serve(t, showQwen, h) }, lines(call, done("stop")), lines(text("Noon."), done("stop")))
}
