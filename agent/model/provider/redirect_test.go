package provider

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
)

// A server that sends requests on to another one passes on neither keys nor the
// conversation; to itself it may.
func TestRedirects(t *testing.T) {
	const key, header = "canary-of-the-key", "canary-of-the-header"
	for _, protocol := range []string{"openai", "anthropic", "ollama"} {
		for _, status := range []int{301, 307, 308} {
			var mu sync.Mutex
			var leaked []string
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var all strings.Builder
				_ = r.Header.Write(&all)
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				leaked = append(leaked, all.String()+string(body))
			}))
			first := httptest.NewServer(http.RedirectHandler(other.URL+"/there", status))
			m, err := New(Config{
				Name: "test", Provider: protocol, BaseURL: first.URL, Key: key, Model: "m", Retries: -1,
				Headers: map[string]string{"Api-Key": header},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = modeltest.Ask(t.Context(), m, modeltest.Hello())
			first.Close()
			other.Close()
			if len(leaked) > 0 {
				t.Errorf("%s, %d: the other server was sent %q", protocol, status, leaked)
			}
			if !agent.IsModelCode(err, agent.ModelNotFound) || !strings.Contains(err.Error(), "base_url") {
				t.Errorf("%s, %d: %v; want what to do about base_url", protocol, status, err)
			}
		}
	}
}

func TestRedirectToTheSameServer(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/chat/completions", http.RedirectHandler("/v2/chat/completions", http.StatusPermanentRedirect))
	mux.HandleFunc("POST /v2/chat/completions", modeltest.SSE("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n"))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	m, err := New(Config{Name: "test", Provider: "openai", BaseURL: srv.URL + "/v1", Key: "k", Model: "m", Retries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); err != nil || got.Text != "hi" {
		t.Errorf("%+v, %v", got, err)
	}
}
