package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
)

// A turn whose daemon was killed in mid-answer shows the calls and the text that it showed live,
// and that it has ended; calls without a result say so.
func TestKilledInMidAnswer(t *testing.T) {
	path, m := t.TempDir()+"/archive.db", newStepper()
	here := func(c *host.Config) { c.Archive.Path = path }
	calling := replay.New(replay.Text("First. "+longCall), replay.Text(calculates))
	s := serverWith(t, &inTurn{models: []agent.Model{calling, calling, m}}, here)
	s.daemon.turns.Behind = time.Millisecond
	c := s.connect(`{"message":"Make a long text, and calculate"}`, "")
	id := last[api.ChatStart](t, []event{c.until(api.EventStart)}, api.EventStart).Conversation
	var live []api.ToolCallResult
	for range 2 {
		live = append(live, last[api.ToolCallResult](t, []event{c.until(api.EventResult)}, api.EventResult))
	}
	m.step <- "It"
	c.until(api.EventText)
	ctx := t.Context()
	table := "turn_pieces"
	if pgtest.InPostgres() {
		table = "run_pieces"
	}
	testtime.Until(t, "the text is stored", func() bool {
		n := 0
		if err := s.host.Archive().(*archive.SQLite).DB().QueryRowContext(ctx, "SELECT count(*) FROM "+table+" WHERE body LIKE '%It%'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
	if !pgtest.InPostgres() { // where daemons have more than steps: TestTwoDaemons…
		leaveTurns(t, s.daemon.store)
	}
	if err := s.daemon.cfg.Host.Close(); err != nil { // the turn can store nothing more
		t.Fatal(err)
	}
	c.close()
	<-m.ended

	s = serverWith(t, replay.New(replay.Text("More.")), here)
	if err := s.daemon.Recover(ctx, ""); err != nil {
		t.Fatal(err)
	}
	var shown api.ShownConversation
	testtime.Until(t, "the turn is shown", func() bool { // in PostgreSQL the daemon may be alive elsewhere
		shown = decoded[api.ShownConversation](t, s.get("/api/conversations/"+id))
		return len(shown.Messages) >= 2
	})
	if len(shown.Messages) != 6 || shown.Messages[1].Text != "First." || shown.Messages[3].Text != "I calculate." || shown.Messages[5].Text != "It" || !strings.Contains(fmt.Sprint(shown.Messages[5].Remarks), "the daemon stopped before the answer was complete") {
		t.Fatalf("%+v", shown.Messages)
	}
	for i, want := range live {
		if got := shown.Messages[2+2*i].Results[0]; got.CallID != want.ID || got.Shown != want.Shown || got.Chars != want.Produced || got.Layer != want.Layer || (got.Ref != nil) != (want.KeptUUID != "") {
			t.Errorf("%+v; live: %+v", got, want)
		}
	}
	got := decoded[api.ToolCallResult](t, s.get("/api/conversations/"+id+"/call?turn=1&call="+live[0].ID))
	if got.Line, got.ElapsedMS = live[0].Line, live[0].ElapsedMS; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", live[0]) {
		t.Errorf("got  %+v\nlive %+v", got, live[0])
	}
	if !pgtest.InPostgres() {
		leftTurns(t, s)
	}
	if left, err := s.daemon.store.Unended(ctx); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"And now?","conversation_id":"`+id+`"}`).body), api.EventEnd); end.Answer != "More." {
		t.Errorf("%+v", end)
	}
	if list, err := s.daemon.store.Calls(ctx, archive.Scope{Principal: "local", Conversation: id}, time.Time{}); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

// Where one daemon uses the tables, a turn goes on that cannot be stored: whether a call without
// a result has begun is not known, if it may have had effects.
func TestKilledWithoutRoom(t *testing.T) {
	pgtest.SQLite(t)
	s := serverWith(t, replay.New(), func(c *host.Config) {
		c.Folders = []plugin.Folder{{Path: pen(t), Trust: plugin.TrustGranted}}
		c.Grants = map[string]plugin.Grant{"pen": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: t.TempDir(), Mode: "rw"}}}}
	})
	db := s.daemon.store
	err := db.Begin(t.Context(), store.Conversation{ID: "full", Principal: "local"}, []store.Message{{Turn: 1, Role: "user", Body: []byte(`{"role":"user","text":"Note x.","turn":1}`)}})
	if err == nil { // and then the disk was full
		err = db.Step(t.Context(), "full", 1, []byte(strings.ReplaceAll(called, "calculator", "write_note")))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.daemon.Recover(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if got := s.get("/api/conversations/full").body; !strings.Contains(got, "what came of it is not known") {
		t.Error(got)
	}
}

// leaveTurns stores turns of a daemon that is gone, as no client could make them in time.
func leaveTurns(t *testing.T, db *store.Store) {
	t.Helper()
	err := db.Begin(t.Context(), store.Conversation{ID: "later", Principal: "local"}, []store.Message{{Turn: 1, Role: "user", Body: []byte(`{"role":"user","text":"6*7?","turn":1}`)}})
	if err == nil {
		err = db.Step(t.Context(), "later", 1, []byte(called))
	}
	if err == nil { // the end of this turn could not be stored, and the next question was
		err = db.Begin(t.Context(), store.Conversation{ID: "later", Principal: "local"}, []store.Message{{Turn: 2, Role: "user", Body: []byte(`{"role":"user","text":"7*7?","turn":2}`)}})
	}
	if err != nil {
		t.Fatal(err)
	}
	own := []store.Message{
		{Turn: 1, Role: "user", Body: []byte(`{"role":"user","text":"6*7?","turn":1}`)},
		{Turn: 1, Role: "assistant", Body: []byte(`{"role":"assistant","turn":1,"calls":[{"id":"call_001","tool":"clients","args":{},"turn":1}]}`)},
	}
	err = db.Begin(t.Context(), store.Conversation{ID: "own", Principal: "local"}, own)
	if err == nil { // the client has given the result of its own tool, and the turn went on
		err = db.Step(t.Context(), "own", 1, []byte(`{"from":2,"added":[{"role":"results","turn":1,"results":[{"call_id":"call_001","tool":"clients","text":"six"}]},{"role":"assistant","text":"So 6*7.","turn":1,"calls":[{"id":"call_002","tool":"calculator","args":{"expression":"6*7"},"turn":1}]}],"rest":{"mode":"prompt"}}`))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leftTurns reads those of leaveTurns.
func leftTurns(t *testing.T, s *server) {
	t.Helper()
	if got := s.get("/api/conversations/own").body; !strings.Contains(got, "six") || !strings.Contains(got, "So 6*7.") || !strings.Contains(got, "before there was a result") {
		t.Error(got)
	}
	if got := decoded[api.ShownConversation](t, s.get("/api/conversations/later")); len(got.Messages) != 2 {
		t.Errorf("%+v", got.Messages)
	}
}
