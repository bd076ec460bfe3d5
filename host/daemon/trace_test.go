package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// The trace of a turn tells each request with its parts, what its calls got and
// what was left out by which limit.
func TestTraceOfATurn(t *testing.T) {
	s := newServer(t, replay.New(
		replay.Call("long_text", `{"lines":800}`),
		replay.Reply{Text: "It is long.", Usage: &agent.Usage{Prompt: 900, Completion: 7}},
		replay.Text("Hello again."),
	))
	end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Make a long text\nplease","explain":true}`).body), "chat.end")
	var tr api.Trace
	decode := func(a answer, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(a.body), into); a.status != 200 || err != nil {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	decode(s.get("/api/traces/last?conversation_id="+end.Conversation), &tr)
	if tr.Question != "Make a long text" || tr.Model != "scripted" || tr.Reason != agent.ReasonAnswer || tr.Requests != 2 || tr.Calls != 1 || len(tr.Rounds) != 2 {
		t.Fatalf("%+v", tr)
	}
	names := ""
	for _, c := range tr.Tools {
		names += c.Name + " "
		if c.Tokens <= 0 {
			t.Errorf("%s takes %d tokens", c.Name, c.Tokens)
		}
	}
	if names != "calculator long_text load_tool_history search_tool_history " {
		t.Errorf("tools: %s", names)
	}
	first, second := tr.Rounds[0], tr.Rounds[1]
	if first.Round != 1 || first.Sent.System <= 0 || first.Sent.Results != 0 || second.Sent.Results <= 0 || second.Usage.Prompt != 900 || len(second.Calls) != 0 {
		t.Errorf("rounds %+v", tr.Rounds)
	}
	if len(first.Calls) != 1 {
		t.Fatalf("calls %+v", first.Calls)
	}
	c, r := first.Calls[0], end.Results[0]
	if c.Tool != "long_text" || string(c.Args) != `{"lines":800}` || !c.OK || c.Produced != r.Produced || c.Shown != r.Shown || c.Layer != tool.LayerAgent || c.KeptUUID != r.KeptUUID || c.Line != r.Line {
		t.Errorf("%+v", c)
	}
	if tr.FoldedChars <= 0 {
		t.Error("the result folded, and the trace does not say so")
	}

	// A later turn is the last one; each is found by its id, and unasked nothing
	// is explained.
	s.post("/api/chat", `{"message":"Hello"}`)
	var list api.TraceList
	decode(s.get("/api/traces"), &list)
	if len(list.Traces) != 2 || list.Traces[0].Question != "Hello" || list.Traces[1].ID != tr.ID {
		t.Errorf("%+v", list)
	}
	var other api.Trace
	decode(s.get(fmt.Sprintf("/api/traces/%d", list.Traces[0].ID)), &other)
	if other.Question != "Hello" || len(other.Tools) != 0 {
		t.Errorf("%+v", other)
	}
	for _, path := range []string{"/api/traces/999999", "/api/traces/none", "/api/traces/last?conversation_id=nobody"} {
		if a := s.get(path); a.status != 404 || a.code(t) != "no_trace" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// What a tool says of a running call reaches the stream, in front of its result.
func TestProgressReachesTheStream(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(guesttest.Root(t), "host", "testdata", "plugins", "probe")
	manifest, err := os.ReadFile(filepath.Join(from, "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "probe", "plugin.toml"), string(manifest))
	guesttest.Build(t, from, filepath.Join(dir, "probe", "probe.wasm"))
	s := serverWith(t, replay.New(replay.Call("steps", `{}`), replay.Text("done")), func(c *host.Config) {
		c.Folders = []plugin.Folder{{Path: dir, Trust: "granted"}}
		c.Approvals.Default = approval.Allow
	})
	es := events(s.post("/api/chat", `{"message":"go"}`).body)
	p := last[api.ToolCallProgress](t, es, "tool_call.progress")
	if p.Tool != "steps" || p.Done != 2 || p.Total != 2 || p.Message != "two" {
		t.Errorf("%+v", p)
	}
	order := strings.Join(names(es), " ")
	if i, j := strings.Index(order, "tool_call.progress"), strings.Index(order, "tool_call.result"); i < 0 || j < i {
		t.Errorf("order: %s", order)
	}
}
