package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// A server whose window is shorter than a prompt drops its beginning or refuses it; the
// measured window is then the true one, but for a fifth, and no prompts beyond those that
// were announced are sent.
func TestMeasure(t *testing.T) {
	for _, c := range []struct {
		name    string
		window  int // of the server
		refuses bool
		most    int
		l       tool.Locale
		atLeast bool
	}{
		{"drops the beginning", 20_000, false, DefaultMeasure, tool.En, false},
		{"drops it of a short prompt", 1500, false, DefaultMeasure, tool.En, false},
		{"refuses", 50_000, true, DefaultMeasure, tool.Zh, false},
		{"is longer than what is tried", 100_000, false, 16_384, tool.En, true},
		{"knows nothing", 100, false, 8192, tool.En, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &shortServer{window: c.window, refuses: c.refuses}
			srv := httptest.NewServer(s)
			defer srv.Close()
			m, err := New(Config{Name: "mine", Provider: "openai", BaseURL: srv.URL + "/v1", Model: "m", Retries: -1, Getenv: func(string) string { return "" }}, nil)
			if err != nil {
				t.Fatal(err)
			}
			tests := tester{TestOptions: TestOptions{Measure: c.most, Locale: c.l}, model: m}
			tests.measure(t.Context())
			got, prompts, tokens := tests.Measured, 0, 0
			if prompts, tokens = MeasureCost(c.most); got == nil || s.prompts > prompts || s.tokens > tokens*11/10 {
				t.Fatalf("%+v after %d prompts with %d tokens; announced: %d with %d; %v", got, s.prompts, s.tokens, prompts, tokens, tests.Steps)
			}
			if c.window < leastPrompt {
				if got.Window != 0 || tests.Steps[0].OK {
					t.Errorf("%+v, %+v", got, tests.Steps)
				}
				return
			}
			want := min(c.window, c.most)
			if got.Window > want*11/10 || float64(got.Window)*precision < float64(want)*0.9 || got.AtLeast != c.atLeast || !tests.Steps[0].OK {
				t.Errorf("%+v for a window of %d; %+v", got, c.window, tests.Steps)
			}
			if hint := fmt.Sprintf("window = %d in [models.", got.Window); !strings.Contains(tests.Steps[0].Hint.String(), hint) {
				t.Errorf("hint %q", tests.Steps[0].Hint)
			}
		})
	}
}

// A fault of the server is no window.
func TestMeasureFails(t *testing.T) {
	m, err := New(Config{
		Name: "mine", Provider: "openai", BaseURL: "http://127.0.0.1:1/v1", Model: "m", Retries: -1, Getenv: func(string) string { return "" },
		HTTP: &http.Client{Transport: answers{401, `{"error":{"message":"no"}}`}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := tester{TestOptions: TestOptions{Measure: 8192}, model: m}
	tests.measure(t.Context())
	if s := tests.Steps[0]; tests.Measured != nil || s.Name != StepMeasure || s.OK || s.Code != agent.ModelAuth {
		t.Errorf("%+v, %+v", tests.Measured, tests.Steps)
	}
}

// A shortServer answers with the password at the beginning of what fits its window.
type shortServer struct {
	window, prompts, tokens int
	refuses                 bool
}

var password = regexp.MustCompile(`(?:password is|口令是) ([A-Z0-9]+)`)

func (s *shortServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		http.Error(w, "{}", 404)
		return
	}
	text := []rune(body.Messages[len(body.Messages)-1].Content)
	n := new(agent.Estimator).Tokens(string(text))
	s.prompts, s.tokens = s.prompts+1, s.tokens+n
	if n > s.window {
		if s.refuses {
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"error":{"message":"This model's maximum context length is %d tokens.","code":"context_length_exceeded"}}`, s.window)
			return
		}
		text = text[len(text)-len(text)*s.window/n:]
		n = s.window
	}
	said := "I do not know."
	if p := password.FindStringSubmatch(string(text)); p != nil {
		said = p[1] + "."
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n", said, n)
}
