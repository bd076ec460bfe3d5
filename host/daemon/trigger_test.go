package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
)

// A profile with a trigger loads what the question means before the model is
// asked, and tells it by an event of its own.
func TestTriggerWholeWay(t *testing.T) {
	m := replay.New(replay.Text(longCall), replay.Text("done"), replay.Text("It is line 600."))
	s := newServer(t, m)
	prof := s.daemon.cfg.Profiles["default"]
	prof.Agent.Trigger = agent.TriggerHybrid
	s.daemon.cfg.Profiles["default"] = prof
	book := s.logged()
	es := events(s.post("/api/chat", `{"message":"Make a long text"}`).body)
	uuid := last[ToolCallResult](t, es, eventResult).KeptUUID
	es = events(s.post("/api/chat", fmt.Sprintf(`{"message":"What does line 600 of the long_text say that you made earlier?","conversation_id":%q}`, last[ChatEnd](t, es, eventEnd).Conversation)).body)
	got := last[struct {
		UUIDs          []string
		Score          float64
		By             string
		Hinted, Loaded bool
	}](t, es, eventRecalled)
	if len(got.UUIDs) != 1 || got.UUIDs[0] != uuid || got.Hinted == got.Loaded || got.By != "words" || got.Score <= 0 {
		t.Errorf("%+v", got)
	}
	sent := m.Requests()[2].Messages
	if text := sent[len(sent)-1].Text; !strings.Contains(text, uuid) {
		t.Errorf("the model is told\n%.500s", text)
	}
	if !strings.Contains(book.String(), "archived results may be meant") {
		t.Errorf("the log lacks it:\n%s", book)
	}
}
