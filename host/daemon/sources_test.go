package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
)

// to sends every request to a server on loopback.
type to struct{ host string }

func (t to) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL = &url.URL{Scheme: "http", Host: t.host, Path: r.URL.Path}
	return http.DefaultTransport.RoundTrip(r)
}

// tavily is a search service on loopback: it finds three pages for each query.
func tavily(t *testing.T) to {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Query string }
		if r.URL.Path != "/search" || r.Header.Get("Authorization") != "Bearer key" || json.NewDecoder(r.Body).Decode(&asked) != nil {
			http.Error(w, "wrong request", http.StatusTeapot)
			return
		}
		results := []any{map[string]string{"title": "Both", "url": "https://weather.example/both", "content": "Mild."}}
		for i := range 2 {
			results = append(results, map[string]string{"title": fmt.Sprint(asked.Query, "\u202e ", i), "url": fmt.Sprintf("https://%s.example/%d", asked.Query, i), "content": "Dry."})
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"answer": "Fine.", "results": results}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	return to{strings.TrimPrefix(srv.URL, "http://")}
}

// From the question to the list under the answer: of the stream, of the stored conversation,
// of its export and of OpenAI's protocol.
func TestSourcesOfAnAnswer(t *testing.T) {
	const answer = "晴[1]，明天有风 [4][5]。"
	searches := []replay.Reply{replay.Call("search_web", `{"query":"sun"}`), replay.Call("search_web", `{"query":"wind"}`), replay.Text(answer)}
	m := replay.New(append(append(append(searches, searches...), searches...), replay.Call("search_web", `{"query":"sun"}`), replay.Text("Dry."))...)
	s := serverWith(t, m, func(c *host.Config) {
		c.Folders = append(c.Folders, plugin.Folder{Path: guesttest.Shipped(t, "search_web"), Trust: plugin.TrustGranted})
		c.Grants = map[string]plugin.Grant{"search_web": {Hosts: []plugin.HostGrant{{Host: "api.tavily.com"}}, Secrets: []string{"TAVILY_API_KEY"}}}
		c.Secret = func(string) (string, bool) { return "key", true }
		c.Transport = tavily(t)
	})
	want := []agent.Source{{N: 1, Title: "Both", URL: "https://weather.example/both"}, {N: 4, Title: "wind\u202e 0", URL: "https://wind.example/0"}, {N: 5, Title: "wind\u202e 1", URL: "https://wind.example/1"}}

	end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"天气怎么样？"}`).body), api.EventEnd)
	if d := cmp.Diff(want, end.Sources); d != "" {
		t.Errorf("in the stream (-want +got):\n%s", d)
	}
	asked := m.Requests()
	if !strings.Contains(asked[0].System, "# 来源") {
		t.Error("the model is not asked to cite")
	}
	for i, line := range []string{"内容：Dry.\n[此结果中的来源依次标注为 [1] 至 [3]。]", "内容：Dry.\n[此结果中的来源按先后顺序标注为 [1]、[4]、[5]，不要使用其自带的编号。]"} {
		if text := asked[i+1].Messages[len(asked[i+1].Messages)-1].Text; !strings.Contains(text, line) {
			t.Errorf("the model reads\n%s", text)
		}
	}
	shown := decoded[api.ShownConversation](t, s.get("/api/conversations/"+end.Conversation)).Messages
	if d := cmp.Diff(want, shown[len(shown)-1].Sources); d != "" {
		t.Errorf("opened again (-want +got):\n%s", d)
	}
	list := answer + "\n\nSources:\n\n- \\[1\\] Both <https://weather.example/both>\n- \\[4\\] wind\\\\u202e 0 <https://wind.example/0>\n- \\[5\\] wind\\\\u202e 1 <https://wind.example/1>\n"
	if text := s.get("/api/conversations/" + end.Conversation + "/export?format=markdown").body; !strings.Contains(text, list) {
		t.Errorf("exported:\n%s", text)
	}

	whole := decoded[openai.Completion](t, s.post("/v1/chat/completions", `{"model":"weir","messages":[{"role":"user","content":"How is the weather?"}]}`))
	var marks []string
	for _, a := range whole.Choices[0].Message.Annotations {
		marks = append(marks, fmt.Sprint(a.Type, " ", string([]rune(answer)[a.Citation.Start:a.Citation.End]), " ", a.Citation.URL))
	}
	if d := cmp.Diff([]string{"url_citation [1] https://weather.example/both", "url_citation [4] https://wind.example/0", "url_citation [5] https://wind.example/1"}, marks); d != "" {
		t.Errorf("in /v1 (-want +got):\n%s", d)
	}
	var content string
	var streamed []openai.CompletionAnnotation
	for line := range strings.Lines(s.post("/v1/chat/completions", `{"model":"weir","stream":true,"messages":[{"role":"user","content":"And how is the weather?"}]}`).body) {
		var piece openai.Completion
		if data, ok := strings.CutPrefix(line, "data: {"); ok && json.Unmarshal([]byte("{"+data), &piece) == nil && len(piece.Choices) > 0 {
			if d := piece.Choices[0].Delta; d.Content != nil {
				content += *d.Content
			}
			if a := piece.Choices[0].Delta.Annotations; a != nil {
				if streamed = a; piece.Choices[0].Finish == nil {
					t.Error("not in the last piece")
				}
			}
		}
	}
	if d := cmp.Diff(whole.Choices[0].Message.Annotations, streamed); d != "" || content != answer {
		t.Errorf("streamed %q (-whole +stream):\n%s", content, d)
	}

	uncited := decoded[openai.Completion](t, s.post("/v1/chat/completions", `{"model":"weir","messages":[{"role":"user","content":"Is it dry?"}]}`))
	if a := uncited.Choices[0].Message.Annotations; len(a) != 3 || a[0].Citation.Start != 4 || a[0].Citation.End != 4 {
		t.Errorf("without marks %+v", a)
	}
}
