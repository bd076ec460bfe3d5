package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhost/weir/agent/model"
)

const canary = "sk-canary-7f3a9b2c1d"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs h on loopback and makes a model that asks it, without repeats
// unless change allows them.
func serve(t *testing.T, h http.HandlerFunc, change ...func(*Config)) *Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg := Config{Config: model.Config{
		Name: "test", BaseURL: srv.URL + "/v1", Key: canary, KeyEnv: "TEST_KEY", Model: "m-1", HTTP: srv.Client(),
		Retries: -1, RetryWait: time.Millisecond,
	}}
	for _, f := range change {
		f(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// events makes a stream of data lines, each followed by an empty one.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

func delta(field, text string) string {
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{%q:%q},"finish_reason":null}]}`, field, text)
}

func finish(reason string) string {
	return fmt.Sprintf(`{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason)
}

const (
	usageEvent = `{"id":"c1","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}}`
	done       = "[DONE]"
)
