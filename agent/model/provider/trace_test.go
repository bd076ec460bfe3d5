package provider

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/weirhost/weir/agent"
)

// Every kind of server is handed the trace that a request belongs to, where
// there is one.
func TestTraceIsHandedOn(t *testing.T) {
	for _, kind := range []string{"openai", "anthropic", "ollama"} {
		var seen []string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				seen = append(seen, r.Header.Get("Traceparent"))
			}
			w.WriteHeader(http.StatusBadRequest)
		}))
		defer srv.Close()
		m, err := New(Config{Name: "m", Provider: kind, BaseURL: srv.URL, Key: canary, Model: "m", Window: 4096, Retries: -1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		id := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
		for range m.Generate(t.Context(), agent.Request{Messages: []agent.ChatMessage{{Role: "user", Text: "hello"}}}) {
		}
		for range m.Generate(trace.ContextWithSpanContext(t.Context(), id), agent.Request{Messages: []agent.ChatMessage{{Role: "user", Text: "hello"}}}) {
		}
		if last := "00-01000000000000000000000000000000-0200000000000000-01"; len(seen) < 2 || seen[0] != "" || seen[len(seen)-1] != last {
			t.Errorf("%s: %q", kind, seen)
		}
	}
}

func TestServer(t *testing.T) {
	for _, row := range []struct{ provider, base, want string }{
		{"deepseek", "", "api.deepseek.com:443"}, {"vllm", "", "127.0.0.1:8000"}, {"openai", "http://x/v1", "x:80"}, {"openai", "%", ""}, {"nobody", "", ""},
	} {
		if got := (Config{Provider: row.provider, BaseURL: row.base}).Server(); got != row.want {
			t.Errorf("%s %s: %q", row.provider, row.base, got)
		}
	}
}
