package daemon

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
)

// written is what several goroutines log.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.b.Reset()
	return w.b.String()
}

// A panic tells where it was, and nothing that it carries: neither in the log nor
// to whoever asked.
func TestPanicsTellNoSecrets(t *testing.T) {
	values := map[string]any{
		"a *fmt.wrapError": fmt.Errorf("Get https://api.example/?key=%s: %w", canary, fmt.Errorf("refused")),
		"a string":         "the key is " + canary,
		"index out of range [3] with length 0": func() (err any) {
			defer func() { err = recover() }()
			var none []int
			return none[strings.Count(canary, canary)+2]
		}(),
	}
	for says, value := range values {
		s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { panic(value) }))
		var log written
		s.daemon.log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Trace})
		s.daemon.turns.Logger = s.daemon.log
		for _, ask := range []struct{ path, body string }{
			{"/api/chat", `{"message":"hi"}`}, {"/api/chat", `{"message":"hi","resume":true}`},
			{"/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}]}`},
			{"/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`},
		} {
			a := s.post(ask.path, ask.body)
			said := log.take()
			if !strings.Contains(said, "panicked") || !strings.Contains(said, says) || !strings.Contains(said, "panic_test.go") {
				t.Errorf("%s %s: the log does not tell of it: %.600s", ask.path, ask.body, said)
			}
			if strings.Contains(said+a.body, canary) {
				t.Errorf("%s %s: it comes out: %d %.300s\n%.600s", ask.path, ask.body, a.status, a.body, said)
			}
		}
		if a := s.get("/healthz"); a.status != 200 {
			t.Errorf("afterwards: %d", a.status)
		}
	}
}

// A panic after the first pieces of a stream is an error in the stream, which then
// ends as after any other failure.
func TestAPanicInAStream(t *testing.T) {
	s := newServer(t, brokenModel{})
	es := events(s.post("/api/chat", `{"message":"hi"}`).body)
	if p := last[api.Problem](t, es, api.EventError); p.Code != "internal" || es[len(es)-1].name != api.EventEnd {
		t.Errorf("%+v, and the last event is %+v", p, es[len(es)-1])
	}
	a := s.post("/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	if i := strings.LastIndex(a.body, "\n\ndata: {\"error\":"); i < 0 || !strings.HasSuffix(a.body, "\n\n") || strings.Contains(a.body, "[DONE]") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// brokenModel says some words and panics.
type brokenModel struct{}

func (brokenModel) Generate(context.Context, agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		yield(agent.Delta{Text: "The first words of an answer, and some more of them. "}, nil)
		panic("broken")
	}
}
