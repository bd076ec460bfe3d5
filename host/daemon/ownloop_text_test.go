package daemon

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/passthrough"
)

// unnative takes the tool calling from the model of a server.
func unnative(t *testing.T, s *server) {
	t.Helper()
	cfg := s.daemon.current.State().Config
	m := cfg.Models["own"]
	m.NativeTools = new(false)
	cfg.Models = map[string]Model{"own": m}
	if err := s.daemon.Configure(cfg); err != nil {
		t.Fatal(err)
	}
}

// A model without tool calling is told of the client's tools in text, and its calls in text
// come back as data. Its bad call is corrected without the client, and both replies count.
func TestACallInTextIsPassedBack(t *testing.T) {
	say := func(text string) string {
		return strings.Replace(textChunk, `"Hi"`, `"`+strings.ReplaceAll(text, `"`, `\"`)+`"`, 1)
	}
	u := newUpstream(t, func(w http.ResponseWriter, n int, _ string) {
		call := `<tool_call>{"id":"call_001","tool_name":"bash","arguments":{"command":"ls"}}</tool_call>`
		if n == 1 {
			call = strings.Replace(call, "bash", "shell", 1)
		}
		chunks(w, say("I look. "), strings.Replace(say(call), `"role":"assistant",`, "", 1), endChunk, usageChunk)
	})
	s := passing(t, u)
	unnative(t, s)
	a := s.pass(agentBody)
	var got passthrough.Answer
	for line := range strings.SplitSeq(a.body, "\n\n") {
		got.Add(json.RawMessage(strings.TrimPrefix(line, "data: ")))
	}
	message := `{"role":"assistant","content":"I look. ","tool_calls":[{"id":"call_001","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`
	if a.status != 200 || string(got.Message()) != message || !strings.Contains(a.body, `"finish_reason":"tool_calls"`) || !strings.Contains(a.body, `"total_tokens":1460`) {
		t.Errorf("%d %s\n%s", a.status, got.Message(), a.body)
	}
	asked := u.asked()
	if len(asked) != 2 {
		t.Fatalf("%d requests", len(asked))
	}
	var sent struct {
		Messages []struct{ Content any }
		Tools    any
		Odd      any `json:"unheard_of"`
	}
	if err := json.Unmarshal([]byte(asked[0]), &sent); err != nil {
		t.Fatal(err)
	}
	system, _ := sent.Messages[0].Content.(string)
	if !strings.HasPrefix(system, "You are an agent.\n\n  Keep this.  \n\n# How to call a tool") || !strings.Contains(system, "## bash\nRuns.\n\n- one\n- two\n") || sent.Tools != nil || sent.Odd == nil {
		t.Errorf("sent upstream: %s", asked[0])
	}
	if picture := `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"}}`; !strings.Contains(asked[0], picture) {
		t.Errorf("the picture is missing: %s", asked[0])
	}
	if use := s.get("/api/usage").body; !strings.Contains(use, `"prompt_tokens":1400`) {
		t.Errorf("the tokens of one reply are missing: %s", use)
	}
	// Without tools and calls nothing is added.
	s.pass(`{"model":"own","messages":[{"role":"user","content":"Title?"}]}`)
	if got := u.asked()[2]; strings.Contains(got, "tool") {
		t.Errorf("sent upstream: %s", got)
	}
}
