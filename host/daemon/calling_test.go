package daemon

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// What one turn had to do about its provider ends with it: the next conversation calls
// natively, with all tools. The trace of the turn says what it was.
func TestNoTurnChangesHowOthersCall(t *testing.T) {
	refuse := func(said string, tools ...string) replay.Reply {
		return replay.Reply{Err: &agent.ModelError{Code: agent.ModelBadRequest, Model: "scripted", Msg: said, Tools: tools}}
	}
	for _, row := range []struct {
		name   string
		script []replay.Reply
		mode   agent.Mode // at the end of the turn
		notes  []string
	}{
		{"thoughts and no answer, twice", []replay.Reply{{Reasoning: "Let me think."}, {Reasoning: "Let me think."}}, agent.ModeNative, nil},
		{"a tool whose schema is refused", []replay.Reply{refuse("Invalid schema for function 'long_text'", "long_text"), replay.Text("Hi.")}, agent.ModeNative, []string{"the turn goes on without long_text"}},
		{"tools are refused", []replay.Reply{refuse("m does not support tools"), replay.Text("Hi.")}, agent.ModePrompt, []string{"does not support tools"}},
	} {
		native := true
		var asked []agent.Request
		m := replay.Func(func(n int, r agent.Request) replay.Reply {
			if asked = append(asked, r); n < len(row.script) {
				return row.script[n]
			}
			return replay.Text("Fine.")
		}).Describing(agent.ModelInfo{Name: "scripted", Window: 32768, NativeTools: &native})
		s := newServer(t, m)
		conversation := func() string {
			return last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Hello"}`).body), "chat.end").Conversation
		}
		for turn := range 2 {
			var tr api.Trace
			if err := json.Unmarshal([]byte(s.get("/api/traces/last?conversation_id="+conversation()).body), &tr); err != nil {
				t.Fatal(err)
			}
			switch {
			case turn == 0:
				if tr.Mode != row.mode || len(tr.Notes) != len(row.notes) || !slices.ContainsFunc(append(tr.Notes, tr.Notes...), func(n tool.Text) bool { return strings.Contains(n.String(), row.notes[0]) }) && len(row.notes) > 0 {
					t.Errorf("%s: mode %s, %+v", row.name, tr.Mode, tr.Notes)
				}
			case tr.Mode != agent.ModeNative || len(tr.Notes) > 0 || len(asked[len(asked)-1].Tools) != 4:
				t.Errorf("%s: the next conversation has mode %s, %d tools, %+v", row.name, tr.Mode, len(asked[len(asked)-1].Tools), tr.Notes)
			}
		}
	}
}
