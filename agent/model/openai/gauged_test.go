package openai

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/passthrough"
)

// A server that drops the beginning of a prompt without a word gets none that is too long, by the
// tokens that it counted last; any other decides by itself.
func TestAServerThatDropsTheHead(t *testing.T) {
	perWord := 1
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"model":"m","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, perWord*strings.Count(string(body), "word"))
	}))
	t.Cleanup(srv.Close)
	for _, drops := range []bool{true, false} {
		m, err := New(Config{Config: model.Config{Name: "own", Model: "m", BaseURL: srv.URL, Window: 2000, Retries: -1, DropsHead: drops}})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(words int) (failed error) {
			body := fmt.Sprintf(`{"model":"own","messages":[{"role":"user","content":%q}]}`, strings.Repeat("word ", words))
			for _, err := range m.Pass(t.Context(), passthrough.Request{Body: []byte(body)}) {
				failed = err
			}
			return failed
		}
		asked, perWord = 0, 2
		if err := ask(900); err != nil || asked != 1 {
			t.Errorf("drops %v: a prompt that fits: %v, asked %d times", drops, err, asked)
		}
		if err := ask(1100); agent.IsModelCode(err, agent.ModelWindow) != drops || (asked == 1) != drops { // 2,200 tokens, as the server counts
			t.Errorf("drops %v: a prompt that is too long: %v, asked %d times", drops, err, asked)
		}
	}
}
