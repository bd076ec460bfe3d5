package daemon

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

const loadFound = `<tool_call>{"id":"call_003","tool_name":"load_tool_history","arguments":{"uuid":"FOUND","lines":"1-2"}}</tool_call>`

var ids = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

const shortCall = `<tool_call>{"id":"call_001","tool_name":"long_text","arguments":{"lines":30}}</tool_call>`

// Every result over 1,000 characters stays in the archive, also one that was shown whole, and
// the client has its uuid.
func TestResultsStay(t *testing.T) {
	search := `<tool_call>{"id":"call_002","tool_name":"search_tool_history","arguments":{"query":"line 12"}}</tool_call>`
	for _, c := range []struct {
		why   string
		calls []string
		tools map[string]host.ToolConfig
		kept  int // archives after the turn
	}{
		{"a result shown whole", []string{shortCall}, nil, 1},
		{"a search adds none", []string{shortCall, search}, nil, 1},
		{"a load adds none", []string{shortCall, search, loadFound}, nil, 1},
		{"the operator keeps no result of the tool", []string{shortCall}, map[string]host.ToolConfig{"long_text": {Limits: tool.Limits{Archive: tool.ArchiveNever}}}, 0},
		{"a result that was cut", []string{longCall}, nil, 1},
	} {
		m := replay.Func(func(n int, r agent.Request) replay.Reply {
			if n >= len(c.calls) {
				return replay.Text("Done.")
			}
			found := ids.FindString(r.Messages[len(r.Messages)-1].Text)
			return replay.Text(strings.ReplaceAll(c.calls[n], "FOUND", found))
		})
		s := serverWith(t, m, func(cfg *host.Config) { cfg.Tools = c.tools })
		es := events(s.post("/api/chat", `{"message":"Make a text"}`).body)
		end := last[api.ChatEnd](t, es, api.EventEnd)
		if end.Reason != agent.ReasonAnswer || len(end.Results) != len(c.calls) {
			t.Fatalf("%s: end %+v", c.why, end)
		}
		told := slices.ContainsFunc(es, func(e event) bool { return e.name == api.EventArchived })
		if first := end.Results[0]; told != (c.kept > 0) || (first.KeptUUID != "") != told || strings.Contains(first.Line, "📎") != told || (end.KeptChars > 0) != told {
			t.Errorf("%s: told %v, result %+v, %d characters kept", c.why, told, first, end.KeptChars)
		}
		list := s.get("/api/archives")
		if got := strings.Count(list.body, `"uuid":`); got != c.kept {
			t.Errorf("%s: %d archives, want %d: %s", c.why, got, c.kept, list.body)
		}
		for _, r := range end.Results {
			if r.KeptUUID != "" {
				if a := s.get("/api/archives/" + r.KeptUUID); a.status != 200 {
					t.Errorf("%s: %s answers %d", c.why, r.KeptUUID, a.status)
				}
			}
		}
	}
}

// A result of the first question is found after thirty others, when its message has left the
// prompt: a long one in the archive, with a uuid that loads it, and a short one whole.
func TestTheFirstResultIsFound(t *testing.T) {
	type call struct{ tool, args string }
	calls := []call{{"long_text", `{"lines":45}`}, {"calculator", `{"expression":"6*7"}`}}
	calls = append(calls, slices.Repeat([]call{{"long_text", `{"lines":30}`}}, 30)...)
	calls = append(calls, call{"search_tool_history", `{"query":"45"}`}, call{"search_tool_history", `{"query":"6*7"}`})
	next := -1
	var found []string
	m := replay.Func(func(_ int, r agent.Request) replay.Reply {
		text := r.Messages[len(r.Messages)-1].Text
		if strings.HasPrefix(text, "Question") {
			next++
			return replay.Text(`<tool_call>{"id":"c","tool_name":"` + calls[next].tool + `","arguments":` + calls[next].args + `}</tool_call>`)
		}
		if calls[next].tool == "search_tool_history" {
			found = append(found, text)
			if slices.ContainsFunc(r.Messages, func(m agent.ChatMessage) bool { return m.Text == "Question 0" }) {
				t.Error("the first question is still in the prompt")
			}
		}
		return replay.Text("Done.")
	})
	s := serverWith(t, m, func(*host.Config) {})
	conversation := ""
	for i := range calls {
		body, _ := json.Marshal(map[string]string{"message": fmt.Sprint("Question ", i), "conversation_id": conversation}) // two texts
		end := last[api.ChatEnd](t, events(s.post("/api/chat", string(body)).body), api.EventEnd)
		if conversation = end.Conversation; end.Answer != "Done." {
			t.Fatalf("question %d: %+v", i, end)
		}
	}
	if id := ids.FindString(found[0]); id == "" || s.get("/api/archives/"+id).status != 200 || !strings.Contains(found[0], "long_text") {
		t.Errorf("of the long result was found: %s", found[0])
	}
	if !strings.Contains(found[1], "calculator") || !strings.Contains(found[1], "42") || strings.Contains(found[1], "Nothing found") {
		t.Errorf("of the short result was found: %s", found[1])
	}
}
