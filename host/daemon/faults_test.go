package daemon

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
)

// logged gives a server's daemon a log that can be read.
func (s *server) logged() *bytes.Buffer {
	s.Helper()
	var book bytes.Buffer
	cfg := s.daemon.cfg
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &book})
	d, err := New(cfg)
	if err != nil {
		s.Fatal(err)
	}
	srv := httptest.NewServer(d.Handler())
	s.Cleanup(srv.Close)
	s.url, s.daemon = srv.URL, d
	return &book
}

// A result that is loaded in every turn is a fault, then a re-fault, then
// thrash: in the last event of the turn and in its last line of the log.
func TestFaultsAreShown(t *testing.T) {
	var uuid string
	m := replay.Func(func(n int, r agent.Request) replay.Reply {
		switch {
		case n == 0:
			return replay.Text(longCall)
		case n%2 == 1: // after a call, the answer
			return replay.Text("done")
		}
		return replay.Call("load_tool_history", fmt.Sprintf(`{"uuid":%q}`, uuid))
	})
	s := newServer(t, m)
	book := s.logged()
	es := events(s.post("/api/chat", `{"message":"Make a long text"}`).body)
	uuid = last[api.ToolCallResult](t, es, api.EventResult).KeptUUID
	conversation := last[api.ChatEnd](t, es, api.EventEnd).Conversation
	for i, want := range []string{`"faults":1,"refaults":0,"thrash":0`, `"faults":1,"refaults":1,"thrash":0`, `"faults":1,"refaults":1,"thrash":1`} {
		es := events(s.post("/api/chat", fmt.Sprintf(`{"message":"And line %d?","conversation_id":%q}`, i, conversation)).body)
		if end := es[len(es)-1].data; !strings.Contains(end, want) {
			t.Errorf("turn %d: the end lacks %s: %s", i+2, want, end)
		}
	}
	if !strings.Contains(book.String(), "faults=1 refaults=1 thrash=1") {
		t.Errorf("the log lacks the counts:\n%s", book)
	}
}
