package daemon

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/store"
)

// What a model wrote is counted by format and outcome, what could not be read
// included; a name it made up is no tool.
func TestStatsPerModelFormatAndOutcome(t *testing.T) {
	s := newServer(t, replay.New(
		replay.Text(`<tool_call>{"tool_name":"calculater","arguments":{}}</tool_call>`),
		replay.Text(`<tool_call>{"tool_name":"calculator","arguments":{"expression":"6*7"}}</tool_call>`),
		replay.Text(`<tool_call>{"tool_name":"calculator","arguments":{"expression":"1/0"}}</tool_call>`),
		replay.Text("It is 42."),
	))
	if r := s.post("/api/chat", `{"message":"What is six times seven?"}`); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	var st store.Stats
	if err := json.Unmarshal([]byte(s.get("/api/stats").body), &st); err != nil {
		t.Fatal(err)
	}
	want := []store.ModelStats{{
		Model: "scripted", Format: "tool_call", Calls: 2, Failed: 1, Malformed: 1,
		Outcomes: map[string]int{"ok": 1, "bad_args": 1, "malformed:unknown_tool": 1},
	}}
	if diff := cmp.Diff(want, st.Models); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(st.Tools) != 1 || st.Tools[0].Tool != "calculator" || st.Tools[0].Calls != 2 {
		t.Errorf("tools %+v", st.Tools)
	}
}
