package provider

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/weirhost/weir/agent"
)

// The name of the model that replied is the provider's, in streams and in whole
// answers.
func TestWhoReplied(t *testing.T) {
	const (
		sse  = "text/event-stream"
		json = "application/json"
	)
	for _, row := range []struct{ name, provider, kind, body string }{
		{"OpenAI", "openai", sse, sseOf(false, `{"model":"m-2026","choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]")},
		{"OpenAI, whole", "openai", json, `{"model":"m-2026","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}`},
		{"Anthropic", "anthropic", sse, sseOf(true, `{"type":"message_start","message":{"model":"m-2026","usage":{}}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`)},
		{"Anthropic, whole", "anthropic", json, `{"type":"message","model":"m-2026","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`},
		{"Ollama", "ollama", "application/x-ndjson", `{"model":"m-2026","message":{"content":"a"},"done":false}` + "\n" + `{"model":"m-2026","message":{},"done":true,"done_reason":"stop"}` + "\n"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet || r.URL.Path == "/api/show" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", row.kind)
			_, _ = io.WriteString(w, row.body)
		}))
		m, err := New(Config{Name: "m", Provider: row.provider, BaseURL: srv.URL, Key: canary, Model: "m", Window: 4096, Retries: -1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, end := "", agent.Delta{}
		for d, err := range m.Generate(t.Context(), agent.Request{Messages: []agent.ChatMessage{{Role: "user", Text: "hello"}}}) {
			if err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
			if d.Text != "" && d.Model != "m-2026" { // a turn may leave a reply after any of them
				t.Errorf("%s: text by %q", row.name, d.Model)
			}
			text, end = text+d.Text, d
		}
		if text != "a" || end.Finish != agent.FinishStop || end.Model != "m-2026" {
			t.Errorf("%s: %q, %+v", row.name, text, end)
		}
		srv.Close()
	}
}
