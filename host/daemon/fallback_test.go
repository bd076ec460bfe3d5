package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/usage"
)

// A provided is a server as OpenAI's whose replies a test decides.
type provided struct {
	url   string
	asked atomic.Int32
}

func newProvided(t *testing.T, reply http.HandlerFunc) *provided {
	t.Helper()
	p := &provided{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		p.asked.Add(1)
		reply(w, r)
	}))
	t.Cleanup(srv.Close)
	p.url = srv.URL + "/v1"
	return p
}

// refusing answers each request with a status, a body and headers, each a name and a value.
func refusing(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// saying answers each request with a text, and breaks the connection off before its end if
// that is wanted.
func saying(text string, breaks bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if text != "" {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
		}
		if breaks {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":10}}\n\ndata: [DONE]\n\n")
	}
}

// modelAt is a model of a server, which is asked again without a wait.
func modelAt(t *testing.T, name, url string) Model {
	t.Helper()
	works := false
	m, err := provider.New(provider.Config{Name: name, Provider: "openai", BaseURL: url, Model: name + "-1", Window: 16384, NativeTools: &works, Retries: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Model{Model: m, Info: agent.ModelInfo{Name: name, Provider: "openai", Model: name + "-1", Window: 16384}, Price: agent.Price{Prompt: 1, Currency: "CNY"}}
}

// falling is a daemon whose model first has the fallback second.
func falling(t *testing.T, first, second Model) *server {
	t.Helper()
	s := newServer(t, first.Model)
	first.Fallback = []string{"second"}
	second.Price = agent.Price{Prompt: 100, Currency: "USD"}
	if err := s.daemon.Configure(Setup{
		Models:   map[string]Model{"first": first, "second": second},
		Profiles: map[string]Profile{"default": {Model: "first", Agent: agent.Defaults()}},
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnotherModelAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + l.Addr().String() + "/v1"
	l.Close()
	for _, c := range []struct {
		name  string
		reply http.HandlerFunc // nil: the connection is refused
		falls bool
		asked int // how often the first one is
	}{
		{"refused", nil, true, 0},
		{"503", refusing(503, `{"error":{"message":"overloaded"}}`), true, 2},
		{"429 that wants a long wait", refusing(429, `{"error":{"message":"slow down"}}`, "Retry-After", "11"), true, 1},
		{"429 that wants a short wait", refusing(429, `{"error":{"message":"slow down"}}`, "Retry-After-Ms", "1"), true, 2},
		{"429 without a word", refusing(429, `{"error":{"message":"slow down"}}`), true, 2},
		{"OpenAI's quota", refusing(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`), true, 1},
		{"Ark's quota", refusing(403, `{"error":{"code":"AccountOverdueError","message":"The request failed because your account has an overdue balance.","type":"Forbidden"}}`), true, 1},
		{"DeepSeek's quota", refusing(402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`), true, 1},
		{"Qwen's free quota", refusing(403, `{"error":{"code":"AllocationQuota.FreeTierOnly","message":"The free tier of the model has been exhausted."}}`), true, 1},
		{"broken before the first byte", saying("", true), true, 2},
		{"broken after the first byte", saying("It is", true), false, 1},
		{"400", refusing(400, `{"error":{"message":"no"}}`), false, 1},
		{"401", refusing(401, `{"error":{"message":"no"}}`), false, 1},
		{"403", refusing(403, `{"error":{"message":"no"}}`), false, 1},
		{"404", refusing(404, `{"error":{"message":"no such model"}}`), false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first, url := &provided{}, refused
			if c.reply != nil {
				first = newProvided(t, c.reply)
				url = first.url
			}
			second := newProvided(t, saying("from the second", false))
			s := falling(t, modelAt(t, "first", url), modelAt(t, "second", second.url))
			a := s.post("/api/chat", `{"message":"hi"}`)
			es := events(a.body)
			end := last[api.ChatEnd](t, es, api.EventEnd)
			if fell := end.Answer == "from the second"; fell != c.falls || int(first.asked.Load()) != c.asked || (second.asked.Load() > 0) != c.falls {
				t.Fatalf("%q; the first was asked %d times\n%s", end.Answer, first.asked.Load(), a.body)
			}
			if !c.falls {
				if slices.Contains(names(es), api.EventSwitched) || end.Model != "first" || !slices.Contains(names(es), api.EventError) {
					t.Errorf("%v, of %s", names(es), end.Model)
				}
				return
			}
			to := last[api.ModelSwitched](t, es, api.EventSwitched)
			if to.From != "first" || to.To != "second" || to.Code == "" || to.Window != 16384 || end.Model != "second" || end.Cost == nil || end.Cost.Currency != "USD" || end.Usage.Prompt != 1000 {
				t.Errorf("%+v, %+v", to, end)
			}
			trace := decoded[api.Trace](t, s.get("/api/traces/last?conversation_id="+end.Conversation))
			if trace.Model != "second" || len(trace.Switched) != 1 || len(trace.Rounds) != 2 || trace.Rounds[0].Model != "first" || trace.Rounds[0].Error == "" || trace.Rounds[1].Model != "second" {
				t.Errorf("%+v", trace)
			}
			shown := decoded[api.ShownConversation](t, s.get("/api/conversations/"+end.Conversation))
			answer := shown.Messages[len(shown.Messages)-1]
			if answer.Model != "second" || len(shown.Messages[0].Remarks) != 1 || shown.Messages[0].Remarks[0].Answering != "second" {
				t.Errorf("%+v", shown.Messages)
			}
			for _, stream := range []bool{false, true} {
				v1 := s.post("/v1/chat/completions", fmt.Sprintf(`{"model":"weir","stream":%v,"messages":[{"role":"user","content":"hello %v"}]}`, stream, stream))
				if !strings.Contains(v1.body, "from the second") || strings.Contains(v1.body, `"error"`) {
					t.Fatal(v1.body)
				}
				for _, piece := range pieces(t, v1.body, stream) {
					if text := piece.Choices; piece.Model != "second" && (len(text) != 1 || text[0].Delta == nil || text[0].Delta.Role == "") {
						t.Errorf("streamed %v: a piece is of %q: %+v", stream, piece.Model, piece)
					}
				}
			}
		})
	}
}

// pieces are those of an answer of /v1.
func pieces(t *testing.T, body string, stream bool) (out []openai.Completion) {
	t.Helper()
	texts := []string{body}
	if stream {
		texts = nil
		for _, e := range events(body) {
			if e.data != "[DONE]" {
				texts = append(texts, e.data)
			}
		}
	}
	for _, text := range texts {
		var c openai.Completion
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err, text)
		}
		out = append(out, c)
	}
	return out
}

// A quota of a user's ends the turn: another model would not make it right. Nor does one
// answer that the user may not use.
func TestAQuotaOfAUserAsksNoOtherModel(t *testing.T) {
	busy := newProvided(t, refusing(503, `{}`))
	second := newProvided(t, saying("from the second", false))
	s := falling(t, modelAt(t, "first", busy.url), modelAt(t, "second", second.url))
	first := modelAt(t, "first", busy.url)
	first.Fallback = []string{"second"}
	if err := s.daemon.Configure(Setup{
		Models:   map[string]Model{"first": first, "second": modelAt(t, "second", second.url)},
		Profiles: map[string]Profile{"default": {Model: "first", Agent: agent.Defaults()}},
		Users: map[string]User{
			"ann": {TokenSHA256: sha256.Sum256([]byte("ann-ann-ann-ann-ann")), Quota: usage.Quota{TokensPerDay: -1}},
			"bob": {TokenSHA256: sha256.Sum256([]byte("bob-bob-bob-bob-bob")), Models: []string{"first"}},
		},
	}); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{"ann-ann-ann-ann-ann": "quota", "bob-bob-bob-bob-bob": "model_overloaded"} {
		a := s.do("POST", "/api/chat", `{"message":"hi"}`, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
		if !strings.Contains(a.body, want) || second.asked.Load() != 0 {
			t.Errorf("%s: %s", token, a.body)
		}
	}
}

// Whoever waits for a model's first answer reads that it is asked whether it can call tools.
func TestProbingIsSaid(t *testing.T) {
	ready := newProvided(t, saying("ready", false))
	m := modelAt(t, "first", ready.url)
	s := falling(t, m, modelAt(t, "second", ready.url))
	asked := 0
	m.Native = func(ctx context.Context) (works, known bool) {
		if asked++; asked == 1 { // what is known already is not asked
			setup.Probing(ctx)
		}
		return false, true
	}
	if err := s.daemon.Configure(Setup{Models: map[string]Model{"first": m}, Profiles: map[string]Profile{"default": {Model: "first", Agent: agent.Defaults()}}}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, -1} {
		es := events(s.post("/api/chat", `{"message":"hi"}`).body)
		if at := slices.Index(names(es), api.EventProbing); at != want || asked != i+1 || last[api.ChatEnd](t, es, api.EventEnd).Answer != "ready" {
			t.Errorf("question %d: %v", i+1, names(es))
		}
	}
}
