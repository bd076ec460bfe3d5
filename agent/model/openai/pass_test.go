package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/internal/testtime"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that keeps the connection after the answer, without [DONE], keeps no client waiting.
func TestAStreamThatStaysOpenAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, server := io.Pipe()
		defer server.Close()
		m, err := New(Config{Config: model.Config{Name: "m", Model: "up", BaseURL: "http://server.example/v1", HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			context.AfterFunc(r.Context(), func() { _ = body.CloseWithError(r.Context().Err()) })
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
		})}}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(server, events(delta("content", "Hi"), finish("stop"))) }()
		began := time.Now()
		var answer passthrough.Answer
		var end agent.Finish
		for c, err := range m.Pass(t.Context(), passthrough.Request{Body: json.RawMessage(`{"model":"x","stream":true}`)}) {
			if err != nil {
				t.Fatal(err)
			}
			answer.Add(c.Data)
			end = c.Finish
		}
		if waited := testtime.Since(began); answer.Text() != "Hi" || end != agent.FinishStop || waited != 3*time.Second {
			t.Errorf("%q, %q after %s", answer.Text(), end, waited)
		}
	})
}

// Options that say twice that no usage is wanted hide none from the count.
func TestAStreamIsAskedForItsUsage(t *testing.T) {
	no := `"include_usage":false`
	for options, want := range map[string]string{
		`{"a":1,` + no + `,` + no + `}`: `{"a":1,"include_usage":true}`, `{` + no + `,"b":2}`: `{"include_usage":true,"b":2}`, `[]`: `[]`, `null`: `{"include_usage":true}`,
	} {
		b, err := passthrough.ReadBody(json.RawMessage(`{"stream":true,"stream_options":` + options + `}`))
		if got := string(withUsage(b).Get("stream_options")); err != nil || got != want {
			t.Errorf("%s: %s, %v", options, got, err)
		}
	}
}
