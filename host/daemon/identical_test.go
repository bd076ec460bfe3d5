package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
)

// A result that a later line refers to stays in the archive, even where it
// stood whole in its message, and there is one copy of it.
func TestIdenticalResultsWholeWay(t *testing.T) {
	short := replay.Call("long_text", `{"lines":40}`) // 2,600 characters: archived, shown whole
	long := replay.Call("long_text", `{}`)
	m := replay.New(short, short, replay.Text("twice the same"), long, replay.Text("a long one"), long, replay.Text("the same again"))
	s := newServer(t, m)
	ask := func(question, conversation string) (results []api.ToolCallResult, end api.ChatEnd) {
		es := events(s.post("/api/chat", fmt.Sprintf(`{"message":%q,"conversation_id":%q}`, question, conversation)).body)
		end = last[api.ChatEnd](t, es, api.EventEnd)
		return end.Results, end
	}
	got, end := ask("Make it twice", "")
	id := got[1].KeptUUID
	if len(got) != 2 || id == "" || got[1].Shown != 0 || got[1].Produced != 2600 || !strings.HasPrefix(got[1].Text, "[Identical to the result of ") {
		t.Fatalf("%+v", got)
	}
	if page := s.get("/api/archives/" + id + "?lines=7-7"); page.status != 200 || !strings.Contains(page.body, "line 7") {
		t.Errorf("what the line names cannot be read: %d %s", page.status, page.body)
	}
	first, _ := ask("Make a long one", end.Conversation)
	again, _ := ask("Make it again", end.Conversation)
	if again[0].KeptUUID != first[0].KeptUUID || first[0].KeptUUID == "" || !strings.Contains(again[0].Text, first[0].KeptUUID) || !strings.Contains(again[0].Text, "line 800:") {
		t.Errorf("the second is %+v, the first %s", again[0], first[0].KeptUUID)
	}
	list, err := s.host.Archive().List(t.Context(), archive.Scope{Principal: "local", Conversation: end.Conversation}, archive.Filter{})
	if err != nil || len(list) != 2 {
		t.Errorf("%d rows for two different texts: %v", len(list), err)
	}
}
