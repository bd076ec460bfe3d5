//go:build clients

package clients

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/openai"
)

// passedOn is a model whose server does what the last message says. A request to it is passed
// through.
func passedOn(t *testing.T) agent.Model {
	u := &upstream{asked: map[string]int{}}
	srv := httptest.NewServer(u)
	t.Cleanup(srv.Close)
	m, err := openai.New(openai.Config{Config: model.Config{Name: "own", Model: "up-1", BaseURL: srv.URL + "/v1", Window: 32768}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// An upstream is a model's server.
type upstream struct {
	mu    sync.Mutex
	asked map[string]int // by the last message
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var body struct {
		Stream   bool
		Messages []struct{ Content json.RawMessage }
	}
	if json.Unmarshal(raw, &body) != nil || len(body.Messages) == 0 {
		http.NotFound(w, r)
		return
	}
	last := string(body.Messages[len(body.Messages)-1].Content)
	u.mu.Lock()
	u.asked[last]++
	n := u.asked[last]
	u.mu.Unlock()
	begin := func() { w.Header().Set("Content-Type", "text/event-stream") }
	switch {
	case strings.Contains(last, "wrong key"):
		refuse(w, 401, "bad key")
	case strings.Contains(last, "busy") && n == 1:
		w.Header().Set("Retry-After", "1")
		refuse(w, 429, "slow down")
	case strings.Contains(last, "too long"):
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":{"message":"maximum context length is 32768 tokens","code":"context_length_exceeded"}}`)
	case strings.Contains(last, "break") && n == 1:
		begin()
		chunk(w, map[string]any{"content": "Half"}, nil)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case strings.Contains(last, "call"):
		begin()
		for i, name := range []string{"read", "bash"} {
			chunk(w, map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprint("c", i), "type": "function", "function": map[string]any{"name": name, "arguments": ""}}}}, nil)
			for _, part := range []string{`{"pa`, `th":"`, `x"}`} {
				chunk(w, map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": part}}}}, nil)
			}
		}
		chunk(w, map[string]any{}, "tool_calls")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	case body.Stream:
		begin()
		chunk(w, map[string]any{"role": "assistant", "content": string(raw)}, nil)
		chunk(w, map[string]any{}, "stop")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	default: // what it was sent
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "c", "object": "chat.completion", "model": "up-1", "choices": []any{
			map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": string(raw)}, "finish_reason": "stop"},
		}})
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q}}`, message)
}

func chunk(w io.Writer, delta map[string]any, finish any) {
	out, _ := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "up-1", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
	fmt.Fprintf(w, "data: %s\n\n", out)
}
