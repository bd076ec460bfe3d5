package daemon

import (
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

// Every uuid that a model or client has seen can be loaded after the turn.
func TestToldUUIDsStay(t *testing.T) {
	search := `<tool_call>{"id":"call_002","tool_name":"search_tool_history","arguments":{"query":"line 12"}}</tool_call>`
	always := map[string]host.ToolConfig{"long_text": {Limits: tool.Limits{Archive: tool.ArchiveAlways}}}
	for _, c := range []struct {
		why   string
		calls []string
		tools map[string]host.ToolConfig
		told  bool // by the events
		kept  int  // archives after the turn
	}{
		{"a result shown whole stands in the conversation: its row goes and its uuid was never told", []string{shortCall}, nil, false, 0},
		{"a search told the model the uuid, and is forgotten with the turn", []string{shortCall, search}, nil, false, 0},
		{"the model loaded it in the same turn: the stub of that load names it", []string{shortCall, search, loadFound}, nil, false, 1},
		{"the operator keeps every result of the tool", []string{shortCall}, always, true, 1},
		{"a result that was cut", []string{longCall}, nil, true, 1},
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
		if first := end.Results[0]; told != c.told || (first.KeptUUID != "") != c.told || strings.Contains(first.Line, "📎") != c.told || (end.KeptChars > 0) != (c.kept > 0) {
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
