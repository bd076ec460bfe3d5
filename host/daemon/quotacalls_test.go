package daemon

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// greedy is a script that calls a tool six times, whatever comes of it.
const greedy = `let kept = 0, refused = []
for (let i = 0; i < 6; i++) {
  try { kept += (await tools.long_text({lines: 300 + i})).chars } catch (e) { refused.push([e.code, e.message, e.hint].join(": ")) }
}
return [kept > 0, refused.length, refused[0]].join(" | ")`

// archived fails unless ann's archived results use more than her quota, and at most one
// result and the answer of a script more.
func (s *server) archived(quota int64) {
	s.Helper()
	const one = 320 * 60 // bytes of long_text, at most
	used, _, err := s.daemon.store.ArchiveUsage(s.Context(), "ann")
	if err != nil || used <= quota || used > quota+one+2000 {
		s.Errorf("%d bytes are archived, %v; the quota is %d", used, err, quota)
	}
}

// TestArchiveQuotaOfEachCall: the quota of archived bytes is that of each call, also of
// those that a script or a turn makes. What was archived before stays, and the result of
// the call that exceeds the quota is kept.
func TestArchiveQuotaOfEachCall(t *testing.T) {
	const quota = 30_000
	with := func(t *testing.T, m agent.Model) *server {
		s := newServer(t, m)
		s.withUsers(map[string]User{"ann": ann(usage.Quota{ArchiveBytes: quota})})
		return s
	}
	says := func(t *testing.T, text string) {
		t.Helper()
		for _, want := range []string{"rate_limited", "quota exhausted: 30000 archived bytes allowed", "delete conversations or archives"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in: %s", want, text)
			}
		}
	}
	t.Run("script", func(t *testing.T) {
		s := with(t, mute())
		out, a := s.script(annToken, api.ScriptBody{Source: greedy})
		if !out.OK || !strings.HasPrefix(out.Text, "true | 4") {
			t.Fatalf("%d %s", a.status, a.body)
		}
		says(t, out.Text)
		s.archived(quota)
		for _, c := range out.Calls[:2] {
			if a := s.as(annToken, "GET", "/api/archives/"+c.UUID, ""); a.status != 200 {
				t.Errorf("a result from before: %d %s", a.status, a.body)
			}
		}
	})
	t.Run("script in Chinese", func(t *testing.T) {
		if out, a := with(t, mute()).script(annToken, api.ScriptBody{Source: greedy, Locale: tool.Zh}); !strings.Contains(out.Text, "存档空间的配额已用完：上限 30000 字节") {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
	t.Run("turn", func(t *testing.T) {
		var last string
		s := with(t, replay.Func(func(n int, r agent.Request) replay.Reply {
			if last = r.Messages[len(r.Messages)-1].Text; n < 4 {
				return replay.Call("long_text", fmt.Sprintf(`{"lines":%d}`, 300+n))
			}
			return replay.Text("done")
		}))
		if a := s.as(annToken, "POST", "/api/chat", hi); a.status != 200 || !strings.Contains(a.body, "done") {
			t.Fatalf("%d %s", a.status, a.body)
		}
		says(t, last)
		s.archived(quota)
	})
	t.Run("MCP", func(t *testing.T) {
		s := with(t, mute())
		session := s.mcpAs(annToken, "")
		var text string
		for i := range 8 {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "long_text", Arguments: map[string]any{"lines": 300 + i}})
			if err != nil {
				t.Fatal(err)
			}
			fault, _ := json.Marshal(r.Meta["weir/error"]) // it came as JSON
			text = r.Content[0].(*mcp.TextContent).Text + string(fault)
		}
		says(t, text)
		s.archived(quota)
	})
	t.Run("script over MCP", func(t *testing.T) {
		s := with(t, mute())
		r, err := s.mcpAs(annToken, "").CallTool(t.Context(), &mcp.CallToolParams{Name: tool.RunScript, Arguments: map[string]any{"code": greedy}})
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		says(t, r.Content[0].(*mcp.TextContent).Text)
		s.archived(quota)
	})
}
