package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// modelServer is a server as OpenAI's on loopback, whose models behave as their
// names say. It returns the address.
func modelServer(t *testing.T) string {
	t.Helper()
	var busy atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"data":[{"id":"good","max_model_len":32768},{"id":"textual","max_model_len":16384},{"id":"small","max_model_len":2048},{"id":"dull","max_model_len":32768}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body struct {
			Model    string
			Messages []struct{ Role, Content string }
			Tools    []struct{ Function struct{ Name string } }
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			http.Error(w, "not JSON", http.StatusBadRequest)
			return
		}
		refuse := func(status int, code, msg string) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"code":%q,"message":%q}}`, code, msg)
		}
		switch {
		case strings.HasSuffix(r.Header.Get("Authorization"), "wrong"):
			refuse(http.StatusUnauthorized, "invalid_api_key", "no such key")
			return
		case body.Model == "locked" && r.Header.Get("Authorization") == "":
			refuse(http.StatusUnauthorized, "invalid_api_key", "you have no key")
			return
		case body.Model == "silent":
			<-r.Context().Done()
			return
		case body.Model == "closed":
			refuse(http.StatusNotFound, "ModelNotOpen", "your account has not activated the model")
			return
		case body.Model == "busy" && busy.Add(1)%2 == 1:
			w.Header().Set("Retry-After-Ms", "1")
			refuse(http.StatusTooManyRequests, "rate_limit", "slow down")
			return
		case body.Model == "textual" && len(body.Tools) > 0:
			refuse(http.StatusBadRequest, "", "this model does not support tools")
			return
		case body.Model == "unknown":
			refuse(http.StatusNotFound, "model_not_found", "no such model")
			return
		}
		text, call := replyTo(string(raw), body.Model, len(body.Tools) > 0)
		w.Header().Set("Content-Type", "text/event-stream")
		delta := map[string]any{"content": text}
		finish := "stop"
		if call != "" {
			finish = "tool_calls"
			delta = map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "call_a", "function": map[string]string{"name": "river_level", "arguments": call}}}}
		}
		for _, v := range []any{
			map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}},
			map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}},
			map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": 1200, "completion_tokens": 30, "prompt_tokens_details": map[string]int{"cached_tokens": 1000}}},
		} {
			line, _ := json.Marshal(v)
			fmt.Fprintf(w, "data: %s\n\n", line)
		}
		io.WriteString(w, "data: [DONE]\n\n")
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

// replyTo is what a model says, or the arguments of its native call.
func replyTo(request, model string, tools bool) (text, call string) {
	level := strings.Contains(request, "level of the river")
	switch {
	case strings.Contains(request, "level: 2.31 m"):
		return "It is 2.31 m.", ""
	case level && tools && model != "dull":
		return "", `{"place":"weir"}`
	case level && model != "dull" && strings.Contains(request, "river_level"):
		return `<tool_call>{"tool_name":"river_level","arguments":{"place":"weir"}}</tool_call>`, ""
	}
	return "ready", ""
}
