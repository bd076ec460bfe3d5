package ollama

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
)

func TestEmbed(t *testing.T) {
	var sent struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	status, answer := http.StatusOK, `{"embeddings":[[1,0],[0.5,1]],"prompt_eval_count":7}`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/embed" {
			t.Errorf("asked %s", r.URL.Path)
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(srv.Close)
	m, err := New(Config{Config: model.Config{Name: "local", BaseURL: srv.URL, Model: "qwen3:8b", HTTP: srv.Client()}, EmbeddingModel: "nomic-embed-text"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.Embed(t.Context(), []string{"a", "b"})
	got := e.Vectors
	if e.Usage != (agent.Usage{Prompt: 7}) || e.Model != "nomic-embed-text" {
		t.Errorf("%+v by %s", e.Usage, e.Model)
	}
	if err != nil || len(got) != 2 || got[1][1] != 1 || sent.Model != "nomic-embed-text" || len(sent.Input) != 2 {
		t.Errorf("%v, %v; sent %+v", got, err, sent)
	}
	for _, bad := range []struct {
		status int
		answer string
		code   agent.ModelCode
		why    string
	}{
		{200, `{"embeddings":[[1,0]]}`, agent.ModelGarbage, "too few"},
		{200, `{"embeddings":[[1,0],[]]}`, agent.ModelGarbage, "an empty one"},
		{200, `hello`, agent.ModelGarbage, "not JSON"},
		{404, `{"error":"model 'nomic-embed-text' not found"}`, agent.ModelNotFound, "not pulled"},
	} {
		status, answer = bad.status, bad.answer
		if _, err := m.Embed(t.Context(), []string{"a", "b"}); !agent.IsModelCode(err, bad.code) {
			t.Errorf("%s: %v", bad.why, err)
		}
	}
	none, err := New(Config{Config: model.Config{Name: "local", BaseURL: srv.URL, Model: "qwen3:8b"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Embed(t.Context(), []string{"a"}); !agent.IsModelCode(err, agent.ModelNotFound) || !errors.Is(err, agent.ErrNoEmbeddings) || !strings.Contains(err.Error(), "embedding_model") {
		t.Errorf("without an embedding model: %v", err)
	}
}
