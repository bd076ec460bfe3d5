package daemon

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/model/replay"
)

// An unknown route answers with a problem, not with the server library's text.
func TestOddRequests(t *testing.T) {
	s := newServer(t, replay.New(replay.Text("Yes.")))
	long := strings.Repeat("x", 200+1)
	for _, c := range []struct {
		why, method, path, body string
		status                  int
		code                    string
	}{
		{"an unknown route", "GET", "/api/nope", "", 404, "no_route"},
		{"an unknown route that is posted to", "POST", "/v1/nope", "{}", 404, "no_route"},
		{"a route with the wrong method", "PUT", "/api/chat", "{}", 404, "no_route"},
		{"a stream without an event", "GET", "/api/chat", "", 400, "no_event"},
		{"the page posted to", "POST", "/", "{}", 404, "no_route"},
		{"a bracket behind the body", "POST", "/api/chat", `{"message":"x"} ]`, 400, "bad_body"},
		{"a list for a body", "POST", "/api/chat", `[]`, 400, "bad_body"},
		{"an endless conversation id", "POST", "/api/chat", `{"message":"x","conversation_id":"` + long + `"}`, 400, "bad_conversation"},
		{"a line end in a conversation id", "POST", "/api/chat", `{"message":"x","conversation_id":"a\nb"}`, 400, "bad_conversation"},
		{"the same of a call", "POST", "/api/tools/calculator/call", `{"conversation_id":"a\u0000"}`, 400, "bad_conversation"},
		{"the same of a result", "POST", "/api/results", `{"tool_name":"x","result":"y","conversation_id":"a\u0000"}`, 400, "bad_conversation"},
	} {
		a := s.do(c.method, c.path, c.body, nil)
		if a.status != c.status || a.code(t) != c.code {
			t.Errorf("%s: %d %s", c.why, a.status, a.body)
		}
		if strings.Contains(a.body, `\"\"`) {
			t.Errorf("%s: names a field that has no name: %s", c.why, a.body)
		}
	}
	if a := s.post("/api/chat", `{"message":"x","conversation_id":"中文 id"}`); a.status != 200 {
		t.Errorf("an id in Chinese: %d %s", a.status, a.body)
	}
}

// Packages for OpenAI's API that ask for another of its routes, or with another
// base URL, get a hint with the right one.
func TestRoutesOfOpenAIThatAreNotHere(t *testing.T) {
	s := newServer(t, replay.New())
	for path, hint := range map[string]string{
		"/v1/responses": `setOpenAIAPI(\"chat_completions\")`, "/v1/completions": "openai.chat", "/v1/embeddings": "no embeddings", "/chat/completions": "ends with /v1", "/models": "ends with /v1", "/v1": "ends with /v1",
	} {
		for _, method := range []string{"GET", "POST"} {
			if a := s.do(method, path, "", nil); a.status != 404 || a.code(t) != "no_route" || !strings.Contains(a.body, hint) {
				t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
			}
		}
	}
}
