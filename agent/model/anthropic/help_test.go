package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const canary = "sk-ant-canary-7f3a9b2c1d"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs h on loopback after /v1/messages and makes a model that asks it,
// without repeats unless change allows them. The server keeps no list of models.
func serve(t *testing.T, h http.HandlerFunc, change ...func(*Config)) *Model {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", h)
	return serveMux(t, mux, change...)
}

func serveMux(t *testing.T, mux *http.ServeMux, change ...func(*Config)) *Model {
	t.Helper()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	cfg := Config{
		Name: "test", BaseURL: srv.URL, Key: canary, KeyEnv: "TEST_KEY", Model: "claude-test", HTTP: srv.Client(),
		Retries: -1, RetryWait: time.Millisecond,
	}
	for _, f := range change {
		f(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// events makes a stream as the API does: every event has a name, which is
// in its data too.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(d), &kind)
		b.WriteString("event: " + kind.Type + "\ndata: " + d + "\n\n")
	}
	return b.String()
}

const (
	start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":30,"cache_read_input_tokens":100,"output_tokens":1}}}`
	ping  = `{"type":"ping"}`
	stop  = `{"type":"message_stop"}`
)

func begin(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func grow(i int, kind, field, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%q}}`, i, kind, field, text)
}

func closed(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func end(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":42}}`, reason)
}

func says(i int, text string) []string {
	return []string{begin(i, `{"type":"text","text":""}`), grow(i, "text_delta", "text", text), closed(i)}
}

func calls(i int, id, name string, pieces ...string) []string {
	out := []string{begin(i, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, id, name))}
	for _, p := range pieces {
		out = append(out, grow(i, "input_json_delta", "partial_json", p))
	}
	return append(out, closed(i))
}

func thinks(i int, text, signature string) []string {
	return []string{begin(i, `{"type":"thinking","thinking":"","signature":""}`), grow(i, "thinking_delta", "thinking", text),
		grow(i, "signature_delta", "signature", signature), closed(i)}
}

func streamed(parts ...[]string) string {
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return events(all...)
}
