package provider

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
)

// A window of the table needs the address of the service and a name of its models.
func TestKnownWindow(t *testing.T) {
	for _, c := range []struct {
		address, model string
		want           int
	}{
		{"https://ark.cn-beijing.volces.com/api/v3", "doubao-seed-1-6", 224_000},
		{"https://ark.cn-beijing.volces.com/api/v3", "doubao-seed-1-6-flash-250828", 224_000},
		{"https://ark.cn-beijing.volces.com/api/v3", "Doubao-1-5-pro-32k-250115", 32_000},
		{"https://ark.cn-beijing.volces.com/api/v3", "doubao-1-5-pro-256k-250115", 224_000},
		{"https://ark.cn-beijing.volces.com/api/v3", "ep-20260101-abcde", 0}, // an endpoint may be any model
		{"https://ARK.cn-beijing.volces.com:443/api/v3", "doubao-seed-1-6", 224_000},
		{"https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen-plus-latest", 131_072},
		{"https://w1.cn-beijing.maas.aliyuncs.com/compatible-mode/v1", "qwen3-max", 262_144},
		{"https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen3-0.6b", 32_768},
		{"https://api.deepseek.com/v1", "deepseek-chat", 128_000},
		{"https://api.moonshot.cn/v1", "moonshot-v1-8k-vision-preview", 8_192},
		{"https://api.moonshot.cn/v1", "kimi-k2-0711-preview", 131_072},
		{"https://open.bigmodel.cn/api/paas/v4", "glm-4-airx", 8_000},
		{"https://open.bigmodel.cn/api/paas/v4", "glm-4-air-250414", 128_000},
		{"https://api.openai.com/v1", "gpt-4", 8_192},
		{"https://api.openai.com/v1", "gpt-4o-mini", 128_000},
		{"https://api.openai.com/v1", "gpt-5.1-chat-latest", 128_000},
		{"https://api.anthropic.com", "claude-sonnet-4-5", 200_000},
		{"https://generativelanguage.googleapis.com/v1beta/openai", "models/gemini-2.5-pro", 1_048_576},
		{"https://api.mistral.ai/v1", "magistral-medium-latest", 40_000},
		{"http://127.0.0.1:8000/v1", "doubao-seed-1-6", 0},
		{"http://10.0.0.7/v1", "gpt-4o", 0},
		{"https://llm.example.com/v1", "gpt-4o", 0},
		{"https://api.openai.com.example.com/v1", "gpt-4o", 0},
		{"https://api.openai.com/v1", "llama-3", 0},
		{"://", "gpt-4o", 0},
	} {
		if got := KnownWindow(c.address, c.model); got != c.want {
			t.Errorf("%s at %s: %d, want %d", c.model, c.address, got, c.want)
		}
	}
}

// Each row says where its numbers are from and when, and is the only one for its hosts and
// prefixes.
func TestServices(t *testing.T) {
	hosts := map[string]bool{}
	for _, s := range services() {
		if _, err := time.Parse(time.DateOnly, s.read); err != nil || s.source == "" || len(s.windows) == 0 {
			t.Errorf("%v: source %q, read %q, %d windows", s.hosts, s.source, s.read, len(s.windows))
		}
		for _, h := range s.hosts {
			if hosts[h] {
				t.Errorf("%s is there twice", h)
			}
			hosts[h] = true
		}
		prefixes := map[string]bool{}
		for _, w := range s.windows {
			if prefixes[w.prefix] || w.tokens < 4000 || w.from < assumed || w.from > official {
				t.Errorf("%v: %q is there twice, or %d is no window, or it is from nowhere (%d)", s.hosts, w.prefix, w.tokens, w.from)
			}
			prefixes[w.prefix] = true
		}
	}
	for _, p := range Presets() {
		if p.KeyEnv != "" && KnownWindow(p.BaseURL, map[string]string{
			"ark": "doubao-seed-1-6", "deepseek": "deepseek-chat", "qwen": "qwen-plus", "qwen-intl": "qwen-plus", "gemini": "gemini-2.5-flash", "openai": "gpt-4o", "anthropic": "claude-sonnet-4-5",
		}[p.Name]) == 0 {
			t.Errorf("the preset %s has no model with a known window", p.Name)
		}
	}
}

// The operator's window comes first, then the server's, then that of the table, which also
// holds while the server says nothing or fails.
func TestTheTableHoldsWhereTheServerNamesNone(t *testing.T) {
	for _, c := range []struct {
		name       string
		status     int
		list       string
		configured int
		want       int
		fromTable  bool
	}{
		{"the server has no list", 404, `{}`, 0, 224_000, true},
		{"the list has no windows", 200, `{"data":[{"id":"doubao-seed-1-6"}]}`, 0, 224_000, true},
		{"the server fails", 500, `{}`, 0, 224_000, true},
		{"the list has the window", 200, `{"data":[{"id":"doubao-seed-1-6","context_length":65536}]}`, 0, 65_536, false},
		{"the operator says it", 404, `{}`, 8192, 8192, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := New(Config{
				Name: "mine", Provider: "ark", Model: "doubao-seed-1-6", Key: "k", Window: c.configured, Retries: -1,
				HTTP: &http.Client{Transport: answers{c.status, c.list}}, Getenv: func(string) string { return "" },
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			info, err := m.(agent.Describer).Describe(t.Context())
			if info.Window != c.want || info.FromTable != c.fromTable || (err != nil) != (c.status == 500) {
				t.Errorf("window %d, from the table %v, error %v", info.Window, info.FromTable, err)
			}
		})
	}
}

// answers is a server that gives every request the same answer.
type answers struct {
	status int
	body   string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.WriteHeader(a.status)
	_, _ = w.WriteString(a.body)
	res := w.Result()
	res.Request = r
	return res, nil
}
