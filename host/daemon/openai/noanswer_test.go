package openai

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/ownloop"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// silent is a Backend whose turns end without an answer, after a text before the calls.
type silent struct{ reason agent.Reason }

// Ask implements Backend.
func (b silent) Ask(_ context.Context, _ string, _ turns.Question, _ []agent.Message, emit func(string, any)) (api.ChatEnd, error) {
	emit(api.EventStart, api.ChatStart{Conversation: "c1"})
	emit(api.EventText, &api.TextPiece{Text: "I look."})
	return api.ChatEnd{Conversation: "c1", Reason: b.reason}, api.NoAnswer(b.reason, false)
}

// Names implements Backend.
func (silent) Names(string) Names {
	return Names{Default: "default", Profiles: map[string]string{"default": "m"}}
}

// Pass implements Backend.
func (silent) Pass(context.Context, ownloop.Ask, func(passthrough.Chunk) bool) error { return nil }

// Windows implements Backend.
func (silent) Windows(context.Context, string) map[string]int { return nil }

// A turn without an answer is an error that clients do not repeat, with weir's reason as its code;
// a reply that was cut is an answer of OpenAI's that says so. None is a success without content.
func TestNoAnswer(t *testing.T) {
	for _, reason := range []agent.Reason{agent.ReasonMalformed, agent.ReasonMaxCalls, agent.ReasonRepeated, agent.ReasonNoAnswer, agent.ReasonTokens, agent.ReasonTime, agent.ReasonLength} {
		for _, stream := range []string{"false", "true"} {
			s := New(Config{Backend: silent{reason}, Now: time.Now, Heartbeat: func() time.Duration { return time.Hour }, WeirTools: func(string) bool { return false }})
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat/completions", strings.NewReader(`{"stream":`+stream+`,"messages":[{"role":"user","content":"What?"}]}`))
			r.Header.Set("Content-Type", "application/json")
			err := s.Completions("local", "", tool.En, w, r)
			body := w.Body.String()
			p, _ := errors.AsType[*api.Problem](err)
			switch {
			case strings.Contains(body, `"finish_reason":"stop"`):
				t.Errorf("%s: %s", reason, body)
			case reason == agent.ReasonLength:
				if err != nil || !strings.Contains(body, `"finish_reason":"length"`) {
					t.Errorf("%s: %v, %s", reason, err, body)
				}
			case stream == "false":
				if p == nil || p.Status != http.StatusBadRequest || ErrorOf(p).Error.Code != string(reason) || RetryIsUseless(p) || body != "" {
					t.Errorf("%s: %v, %s", reason, err, body)
				}
			case err != nil || !strings.Contains(body, `"code":"`+string(reason)+`"`) || !strings.Contains(body, "I look.") || strings.Contains(body, "[DONE]"):
				t.Errorf("%s: %v, %s", reason, err, body)
			}
		}
	}
}
