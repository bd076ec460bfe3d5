package daemon

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"iter"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
)

// sharing returns daemons that share a database, each with its model.
func sharing(t *testing.T, models ...agent.Model) []*server {
	t.Helper()
	list, _ := sharingOne(t, models...)
	return list
}

// sharingOne also returns the database.
func sharingOne(t *testing.T, models ...agent.Model) ([]*server, *sql.DB) {
	t.Helper()
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	path, list := filepath.Join(t.TempDir(), "archive.db"), make([]*server, len(models))
	db, err := sql.Open("pgx", pgtest.URL(t, path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for i, m := range models {
		list[i] = serverWith(t, m, func(c *host.Config) { c.Archive.Path = path })
		list[i].daemon.leases.TakeOver(true)
	}
	return list, db
}

// inTurn is a model that asks one after the other, each once.
type inTurn struct {
	models []agent.Model
	asked  atomic.Int64
}

func (m *inTurn) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return m.models[min(int(m.asked.Add(1)), len(m.models))-1].Generate(ctx, r)
}

// inOrder reads a stream to its end and holds the numbers of its events to be without gap.
func (c *connection) inOrder(after int) (names []string) {
	c.Helper()
	for {
		e, ok := c.next()
		if !ok {
			return names
		}
		names = append(names, e.name)
		at := strings.LastIndexByte(c.last, '-')
		if after++; c.last[at+1:] != strconv.Itoa(after) {
			c.Errorf("event %s comes after number %d", c.last, after-1)
		}
	}
}

// A daemon that is frozen loses its turn: another one goes on from the last checkpoint, and
// both streams come to the same end. When the daemon comes back, it changes nothing.
func TestTwoDaemonsTakeOver(t *testing.T) {
	first, second := newStepper(), replay.New(replay.Text("It is 42."))
	calls := replay.New(replay.Text(`I calculate. <tool_call>{"id":"call_001","tool_name":"calculator","arguments":{"expression":"6*7"}}</tool_call>`))
	s := sharing(t, &inTurn{models: []agent.Model{calls, first}}, second)
	c := s[0].connect(`{"message":"What is 6*7?","resume":true}`, "")
	c.until(api.EventResult)
	first.step <- "Half of the ans"
	c.until(api.EventText)
	at := c.last
	s[0].daemon.leases.Freeze()
	other := s[1].connect("", at)
	other.text = c.text
	n, _ := strconv.Atoi(at[strings.LastIndexByte(at, '-')+1:])
	names := other.inOrder(n)
	if other.text != "I calculate. \n\nIt is 42." || names[len(names)-1] != api.EventEnd || names[0] != api.EventMissed {
		t.Errorf("read %q by %v", other.text, names)
	}
	first.step <- "wer." // the first daemon comes back
	close(first.step)
	c.inOrder(n)
	if c.text != other.text {
		t.Errorf("the first connection read %q", c.text)
	}
	for _, each := range s {
		list := each.get("/api/conversations").body
		if strings.Contains(list, "Half") || !strings.Contains(list, `"messages":4`) {
			t.Errorf("stored: %s", list)
		}
	}
}

// Any daemon refuses a second question, joins a turn by its conversation and ends it.
func TestTwoDaemonsShareATurn(t *testing.T) {
	m := newStepper()
	s := sharing(t, m, newStepper())
	c := s[0].connect(`{"message":"Hi","resume":true}`, "")
	id := last[api.ChatStart](t, []event{c.until(api.EventStart)}, api.EventStart).Conversation
	m.step <- "one "
	c.until(api.EventText)
	if r := s[1].post("/api/chat", `{"message":"And?","conversation_id":"`+id+`"}`); r.status != http.StatusConflict || r.code(t) != api.CodeBusy {
		t.Errorf("a second question: %d %s", r.status, r.body)
	}
	joined := s[1].join(id)
	joined.until(api.EventText)
	if r := s[1].do("DELETE", "/api/chat", "", func(q *http.Request) { q.Header.Set("Last-Event-ID", c.last) }); r.status != http.StatusNoContent {
		t.Errorf("ended: %d %s", r.status, r.body)
	}
	<-m.ended
	n, _ := strconv.Atoi(c.last[strings.LastIndexByte(c.last, '-')+1:])
	for _, names := range [][]string{c.inOrder(n), joined.inOrder(n)} {
		if got := strings.Join(names, " "); got != api.EventEnd {
			t.Errorf("the stream ended by %s", got)
		}
	}
	if r := s[1].do("GET", "/api/chat", "", func(q *http.Request) { q.Header.Set("Last-Event-ID", c.last+"9") }); r.status != http.StatusNotFound {
		t.Errorf("an event that is not there: %d %s", r.status, r.body)
	}
}

// A daemon that stops leaves the turn that has no reader to another one.
func TestTwoDaemonsHandOver(t *testing.T) {
	m := newStepper()
	s := sharing(t, m, replay.New(replay.Text("Done.")))
	c := s[0].connect(`{"message":"Hi","resume":true}`, "")
	c.until(api.EventBudget)
	running, _, err := s[0].daemon.resumable.Find(t.Context(), "local", c.last)
	if err != nil {
		t.Fatal(err)
	}
	c.close()
	testtime.Until(t, "the server notices that its client has gone", func() bool { return !running.HasReader() })
	if err := s[0].daemon.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	again := s[1].connect("", c.last)
	if again.until(api.EventEnd); again.text != "Done." {
		t.Errorf("read %q", again.text)
	}
	if names := s[0].connect("", c.last).inOrder(0); len(names) > 0 { // the client is to go elsewhere
		t.Errorf("the daemon that stops sends %v", names)
	}
}

const calculates = `I calculate. <tool_call>{"id":"call_001","tool_name":"calculator","arguments":{"expression":"6*7"}}</tool_call>`

// fails makes statements on a table fail as if the database was away, until restore. The
// sequence tries counts them.
func fails(t *testing.T, db *sql.DB, event, when string, code ...string) (restore func()) {
	t.Helper()
	run := func(text string) {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	table := event[strings.LastIndexByte(event, ' ')+1:]
	run(`CREATE SEQUENCE tries; CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('tries'); RAISE EXCEPTION 'away' USING ERRCODE = '` + strings.Join(append(code, "57P01")[:1], "") + `'; END $$`)
	run("CREATE TRIGGER away BEFORE " + event + " FOR EACH ROW WHEN (" + when + ") EXECUTE FUNCTION away()")
	return func() { run("DROP TRIGGER away ON " + table) }
}

// A result is shown once a step has it, and not before: another daemon might make the call
// again. The step is tried until the database is back.
func TestTwoDaemonsShowWhatIsStored(t *testing.T) {
	s, db := sharingOne(t, replay.New(replay.Text(calculates), replay.Text("It is 42.")))
	restore := fails(t, db, "INSERT ON run_steps", "TRUE")
	c := s[0].connect(`{"message":"What is 6*7?","resume":true}`, "")
	c.until(api.EventStart)
	testtime.Until(t, "the step is tried again", func() bool {
		tries := 0
		if err := db.QueryRow("SELECT last_value FROM tries").Scan(&tries); err != nil {
			t.Fatal(err)
		}
		return tries >= 3
	})
	shown := ""
	if err := db.QueryRow("SELECT coalesce(string_agg(convert_from(data, 'UTF8'), ''), '') FROM run_events").Scan(&shown); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(shown, api.EventResult) {
		t.Errorf("the client has the result already: %s", shown)
	}
	restore()
	n, _ := strconv.Atoi(c.last[strings.LastIndexByte(c.last, '-')+1:])
	names := c.inOrder(n)
	if got := strings.Join(names, " "); strings.Count(got, api.EventResult) != 1 || strings.Contains(got, api.EventError) || c.text != "I calculate. \n\nIt is 42." {
		t.Errorf("%s: %q", got, c.text)
	}
}

// A turn whose end cannot be stored, because the database is away, goes on when that is back.
func TestTwoDaemonsEndLater(t *testing.T) {
	m := newStepper()
	s, db := sharingOne(t, &inTurn{models: []agent.Model{m, replay.New(replay.Text("It is 42."))}})
	restore := fails(t, db, "UPDATE ON runs", "NEW.state IN ('stored', 'ended') AND OLD.fence = 1")
	defer restore()
	c := s[0].connect(`{"message":"What is 6*7?","resume":true}`, "")
	c.until(api.EventStart) // its client knows it
	m.step <- "It is 41."
	close(m.step)
	names := c.inOrder(1)
	if c.text != "It is 42." || slices.Contains(names, api.EventError) {
		t.Errorf("%v: %q", names, c.text)
	}
}

// leave stores a turn of a daemon that is gone, with its steps and events.
func (s *server) leave(id, ask string, resumed bool, events []string, steps ...string) {
	s.Helper()
	ctx, db := s.Context(), s.daemon.store
	r := store.Run{Turn: id, Scope: archive.Scope{Principal: "local", Conversation: id}, Fence: 1, Ask: []byte(ask), Resumed: resumed}
	body := []byte(`{"role":"user","text":"What is 6*7?","turn":1}`)
	err := db.BeginRun(ctx, store.Conversation{ID: id, Principal: "local"}, []store.Message{{Turn: 1, Role: "user", Content: "What is 6*7?", Body: body}}, 0, &r, s.daemon.leases.ID())
	ctx = db.Fenced(ctx, id, 1)
	for i, e := range events {
		if err == nil {
			err = db.AddEvents(ctx, id, store.Events{First: i + 1, Last: i + 1, Data: []byte("id: " + id + "-" + strconv.Itoa(i+1) + "\n" + e + "\n\n")}, false)
		}
	}
	for i, step := range steps {
		if err == nil {
			err = db.Step(ctx, id, i+1, []byte(step))
		}
	}
	if err == nil {
		err = db.LeaveRun(ctx, id)
	}
	if err != nil {
		s.Fatal(err)
	}
}

const (
	started = "event: chat.start\ndata: {}"
	called  = `{"from":1,"added":[{"role":"assistant","text":"","turn":1,"calls":[{"id":"call_001","tool":"calculator","args":{"expression":"6*7"},"turn":1}]}],"rest":{"mode":"prompt"}}`
	given   = `{"from":2,"added":[{"role":"results","turn":1,"results":[{"call_id":"call_001","tool":"calculator","text":"42"}]}],"rest":{"mode":"prompt","stats":{"Calls":1}},"results":[{"id":"call_001","tool":"calculator","ok":true}]}`
)

// What a daemon that is gone had stored of a turn remains where no other can go on with it.
func TestTwoDaemonsKeepSteps(t *testing.T) {
	s := sharing(t, replay.New())[0]
	s.daemon.leases.TakeOver(false)
	s.leave("refused", `{"message":"What is 6*7?","profile":"gone","resume":true}`, true, []string{started}, called, given)
	s.leave("alone", `{"message":"What is 6*7?"}`, false, nil, called)
	s.daemon.leases.TakeOver(true)
	c := s.connect("", "refused-1")
	if names := c.inOrder(1); strings.Join(names, " ") != api.EventError+" "+api.EventEnd {
		t.Errorf("%v", names)
	}
	for id, want := range map[string]string{"refused": "42", "alone": "before there was a result"} {
		var got string
		if !testtime.Comes(func() bool {
			got = s.get("/api/conversations/" + id).body
			return strings.Contains(got, want)
		}) {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// A command, which takes over nothing, asks on in a conversation whose daemon is dead.
func TestTwoDaemonsAskOn(t *testing.T) {
	s := sharing(t, replay.New(replay.Text("49.")))[0]
	s.daemon.leases.TakeOver(false)
	s.leave("alone", `{"message":"What is 6*7?","resume":true}`, true, []string{started}, called)
	end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"And 7*7?","conversation_id":"alone"}`).body), api.EventEnd)
	if got := s.get("/api/conversations/alone").body; end.Answer != "49." || !strings.Contains(got, "before there was a result") {
		t.Errorf("%+v %s", end, got)
	}
}

// A client gets each result once, however many events it has.
func TestTwoDaemonsShowResultsOnce(t *testing.T) {
	list, db := sharingOne(t, replay.New(replay.Text("It is 42."), replay.Text("It is 42.")))
	s := list[0]
	s.daemon.leases.TakeOver(false)
	events := slices.Repeat([]string{"event: chat.text\ndata: {}"}, 300)
	events[0] = started
	s.leave("stored", `{"message":"What is 6*7?","resume":true}`, true, events[:1], called, given)
	if _, err := db.Exec(`UPDATE runs SET state = 'stored', outcome = '{"end":{"answer":"It is 42.","results":[{"id":"call_001","tool":"calculator","ok":true}]}}'`); err != nil {
		t.Fatal(err)
	}
	s.leave("unseen", `{"message":"What is 6*7?","resume":true}`, true, events, called, given)
	events = append(events, "event: "+api.EventCall+"\ndata: {\"id\":\"call_001\"}", "event: "+api.EventResult+"\ndata: {\"id\":\"call_001\"}")
	s.leave("seen", `{"message":"What is 6*7?","resume":true}`, true, events, called, given)
	s.daemon.leases.TakeOver(true)
	for id, want := range map[string]string{
		"unseen-300": api.EventMissed + " " + api.EventCall + " " + api.EventResult + " ",
		"stored-1":   api.EventMissed + " " + api.EventCall + " " + api.EventResult + " " + api.EventEnd,
		"seen-302":   api.EventMissed + " ",
	} {
		c := s.connect("", id)
		_, n, _ := strings.Cut(id, "-")
		last, _ := strconv.Atoi(n)
		if names := strings.Join(c.inOrder(last), " "); !strings.HasPrefix(names, want) || strings.Count(names, api.EventResult) != strings.Count(want, api.EventResult) || c.text != "It is 42." {
			t.Errorf("%s: %s: %q", id, names, c.text)
		}
	}
}

// A call with effects begins when its client has an event: one that has none asks again if the
// turn is lost, and the call would be made twice.
func TestTwoDaemonsFlushBeforeACall(t *testing.T) {
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	path, work := filepath.Join(t.TempDir(), "archive.db"), t.TempDir()
	db, err := sql.Open("pgx", pgtest.URL(t, path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s := serverWith(t, replay.New(replay.Call("write_note", `{"path":"a.txt","text":"A"}`), replay.Text("Done.")), func(c *host.Config) {
		c.Folders = []plugin.Folder{{Path: pen(t), Trust: plugin.TrustGranted}}
		c.Grants = map[string]plugin.Grant{"pen": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: work, Mode: "rw"}}}}
		c.Approvals = approval.Policy{Default: approval.Allow}
		c.Archive.Path = path
	})
	if _, err := db.Exec(`CREATE FUNCTION unseen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NOT EXISTS (SELECT FROM run_events WHERE turn_id = NEW.turn_id) THEN RAISE EXCEPTION 'its client has no event'; END IF;
		RETURN NEW; END $$; CREATE TRIGGER unseen BEFORE INSERT ON run_calls FOR EACH ROW EXECUTE FUNCTION unseen()`); err != nil {
		t.Fatal(err)
	}
	end := last[api.ChatEnd](t, events(s.post("/api/chat", `{"message":"Note A.","resume":true}`).body), api.EventEnd)
	if end.Answer != "Done." || !there(t, filepath.Join(work, "a.txt")) {
		t.Errorf("%+v", end)
	}
}

// takenAway waits for a turn and gives it to another daemon.
func takenAway(t *testing.T, db *sql.DB) {
	t.Helper()
	testtime.Until(t, "the turn is stored", func() bool {
		done, err := db.Exec("UPDATE runs SET owner = 'gone', fence = 2")
		if err != nil {
			t.Fatal(err)
		}
		n, err := done.RowsAffected()
		return err == nil && n > 0
	})
}

// A client whose turn is over before its first event is to ask again.
func TestTwoDaemonsAskAgain(t *testing.T) {
	m := newStepper()
	s, db := sharingOne(t, m)
	fails(t, db, "INSERT ON run_events", "TRUE")
	answered := make(chan answer, 1)
	go func() { answered <- s[0].post("/api/chat", `{"message":"Hi","resume":true}`) }()
	takenAway(t, db)
	if r := <-answered; r.status != http.StatusServiceUnavailable || r.code(t) != api.CodeDraining {
		t.Errorf("%d %s", r.status, r.body)
	}
	<-m.ended
}

// askAgain asks again as the client of a question that was refused, and holds it to be in its
// conversation once.
func (s *server) askAgain(conversation, resume string, refused answer) {
	s.Helper()
	if refused.status != http.StatusServiceUnavailable {
		s.Errorf("%s: not refused: %d %s", conversation, refused.status, refused.body)
	}
	testtime.Until(s, "the question is taken back", func() bool {
		r := s.post("/api/chat", `{"message":"What is 6*7?","conversation_id":"`+conversation+`","resume":`+resume+`}`)
		return r.status != http.StatusConflict
	})
	if got := decoded[api.ShownConversation](s.T, s.get("/api/conversations/"+conversation)).Messages; len(got) != 2 || got[1].Text != "It is 42." {
		s.Errorf("%s: %+v", conversation, got)
	}
}

// A question that is refused as its daemon has lost it before its first event is taken back:
// its client asks again.
func TestTwoDaemonsTakeBack(t *testing.T) {
	m := newStepper()
	list, db := sharingOne(t, &inTurn{models: []agent.Model{m, replay.New(replay.Text("It is 42."))}})
	s := list[0]
	restore := fails(t, db, "INSERT ON run_events", "TRUE")
	refused := make(chan answer, 1)
	go func() {
		refused <- s.post("/api/chat", `{"message":"What is 6*7?","conversation_id":"lost","resume":true}`)
	}()
	takenAway(t, db)
	r := <-refused
	<-m.ended
	restore()
	if list := s.get("/api/conversations").body; strings.Contains(list, "lost") {
		t.Errorf("its conversation remains: %s", list)
	}
	s.askAgain("lost", "true", r)
}

// A question whose commit had no answer is refused, and taken back if it is stored.
func TestTwoDaemonsCommitWithoutAnswer(t *testing.T) {
	direct := pgtest.URL(t)
	if direct == "" {
		t.Skip("PostgreSQL only")
	}
	db, err := sql.Open("pgx", direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var cut atomic.Bool // the connection that has committed a turn, in place of the answer to that
	url := pgtest.Between(t, direct, func(to io.Writer, piece []byte, answer bool) error {
		if answer && cut.Load() && bytes.HasSuffix(piece, []byte("INSERT 0 1\x00Z\x00\x00\x00\x05I")) {
			runs := 0
			if err := db.QueryRow("SELECT count(*) FROM runs").Scan(&runs); err != nil {
				t.Error(err)
			}
			if runs > 0 && cut.CompareAndSwap(true, false) {
				return io.EOF
			}
		}
		_, err := to.Write(piece)
		return err
	})
	s := serverWith(t, replay.New(replay.Text("It is 42."), replay.Text("It is 42.")), func(h *host.Config) { h.Archive.URL = url })
	for _, resume := range []string{"true", "false"} {
		if _, err := db.Exec("DELETE FROM runs"); err != nil {
			t.Fatal(err)
		}
		cut.Store(true)
		r := s.post("/api/chat", `{"message":"What is 6*7?","conversation_id":"cut-`+resume+`","resume":`+resume+`}`)
		s.askAgain("cut-"+resume, resume, r)
	}
}

// A server without room refuses a question whose events it could not keep.
func TestTwoDaemonsWithoutRoom(t *testing.T) {
	s, db := sharingOne(t, replay.New(replay.Text("It is 42.")))
	fails(t, db, "INSERT ON runs", "TRUE", "53100")
	if r := s[0].post("/api/chat", `{"message":"What is 6*7?","resume":true}`); r.status != http.StatusInsufficientStorage || !strings.Contains(r.body, "the database cannot be written") {
		t.Errorf("%d %s", r.status, r.body)
	}
}
