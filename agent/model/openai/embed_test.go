package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
)

func TestEmbed(t *testing.T) {
	var path, key string
	var sent struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	answer := `{"data":[{"index":1,"embedding":[0.5,1]},{"index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`
	status := http.StatusOK
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, key = r.URL.Path, r.Header.Get("Authorization")
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}, func(c *Config) { c.EmbeddingModel = "vec-1" })
	e, err := m.Embed(t.Context(), []string{"a", "b"})
	got := e.Vectors
	if e.Usage != (agent.Usage{Prompt: 7}) || e.Model != "vec-1" {
		t.Errorf("%+v by %s", e.Usage, e.Model)
	}
	if err != nil || len(got) != 2 || got[0][0] != 1 || got[1][1] != 1 || got[1][0] != 0.5 {
		t.Errorf("%v, %v", got, err)
	}
	if path != "/v1/embeddings" || key != "Bearer "+canary || sent.Model != "vec-1" || len(sent.Input) != 2 || sent.Input[1] != "b" {
		t.Errorf("sent %+v to %s", sent, path)
	}
	for counted, want := range map[string]int{`,"usage":{"total_tokens":5}`: 5, "": 0, `,"usage":{"prompt_tokens":-3}`: 0} {
		answer = `{"data":[{"index":0,"embedding":[1]}]` + counted + `}`
		if e, err := m.Embed(t.Context(), []string{"a"}); err != nil || e.Usage != (agent.Usage{Prompt: want}) {
			t.Errorf("%s: %+v, %v", counted, e.Usage, err)
		}
	}
	for _, bad := range []struct {
		status int
		answer string
		code   agent.ModelCode
		why    string
	}{
		{200, `{"data":[{"index":0,"embedding":[1]}]}`, agent.ModelGarbage, "too few"},
		{200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, agent.ModelGarbage, "one twice"},
		{200, `{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`, agent.ModelGarbage, "of no text"},
		{200, `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}`, agent.ModelGarbage, "an empty one"},
		{200, `<html>`, agent.ModelGarbage, "a web page"},
		{401, `{"error":{"message":"wrong key ` + canary + `"}}`, agent.ModelAuth, "a wrong key"},
		{404, `{"error":{"message":"no such model"}}`, agent.ModelNotFound, "another server"},
	} {
		status, answer = bad.status, bad.answer
		_, err := m.Embed(t.Context(), []string{"a", "b"})
		if !agent.IsModelCode(err, bad.code) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", bad.why, err)
		}
	}
}

func TestEmbedWithoutAModel(t *testing.T) {
	m := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	if _, err := m.Embed(t.Context(), []string{"a"}); !agent.IsModelCode(err, agent.ModelNotFound) || !strings.Contains(err.Error(), "embedding_model") {
		t.Errorf("%v", err)
	}
}
