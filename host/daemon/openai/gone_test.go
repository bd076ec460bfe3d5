package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/host/daemon/ownloop"
	"github.com/weirhost/weir/sdk/tool"
)

// speaking is a Backend whose model says these chunks until the client has gone, and then ends
// with an error.
type speaking struct {
	silent
	chunks int
	chunk  json.RawMessage
	failed error
}

// Pass implements Backend.
func (b speaking) Pass(ctx context.Context, _ ownloop.Ask, emit func(passthrough.Chunk) bool) error {
	for range b.chunks {
		if !emit(passthrough.Chunk{Data: b.chunk}) {
			return nil
		}
	}
	if b.failed == nil {
		<-ctx.Done() // the client's end ends the request
	}
	return b.failed
}

// Names implements Backend.
func (speaking) Names(string) Names { return Names{Passed: map[string]bool{"own": true}} }

// severed is a client that has gone: no write succeeds.
type severed struct{ *httptest.ResponseRecorder }

func (severed) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// A client that goes while its answer comes ends the request, also where much waits to be
// written to it, and where the model's server fails at the same time.
func TestAClientThatGoesEndsItsPassedRequest(t *testing.T) {
	long := json.RawMessage(`{"choices":[{"delta":{"content":"` + strings.Repeat("x", 40<<10) + `"}}]}`)
	for name, b := range map[string]speaking{
		"much waits":                {chunks: 1000, chunk: long},
		"the server fails as well":  {chunks: 1, chunk: json.RawMessage(`{"choices":[]}`), failed: errors.New("cut")},
		"it says nothing more then": {chunks: 1, chunk: json.RawMessage(`{"choices":[]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{Backend: b, Now: time.Now, Heartbeat: func() time.Duration { return time.Hour }, WeirTools: func(string) bool { return false }})
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat/completions", strings.NewReader(`{"model":"own","stream":true,"messages":[]}`))
			r.Header.Set("Content-Type", "application/json")
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() {
					if p := recover(); p != nil && p != http.ErrAbortHandler {
						t.Errorf("panic: %v", p)
					}
				}()
				_ = s.Completions("local", "", tool.En, severed{httptest.NewRecorder()}, r)
			}()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Fatal("the request never ends")
			}
		})
	}
}
