package daemon

import (
	"context"
	"iter"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// sharing returns daemons that share a database, each with its model.
func sharing(t *testing.T, models ...agent.Model) []*server {
	t.Helper()
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	path, list := filepath.Join(t.TempDir(), "archive.db"), make([]*server, len(models))
	for i, m := range models {
		list[i] = serverWith(t, m, func(c *host.Config) { c.Archive.Path, c.Archive.Shared = path, true })
		list[i].daemon.leases.TakeOver(true)
	}
	return list
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
	began := time.Now()
	s[0].daemon.leases.Freeze()
	other := s[1].connect("", at)
	other.text = c.text
	n, _ := strconv.Atoi(at[strings.LastIndexByte(at, '-')+1:])
	names := other.inOrder(n)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if other.text != "I calculate. It is 42." || names[len(names)-1] != api.EventEnd || names[0] != api.EventMissed {
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
	for running.HasReader() {
		time.Sleep(time.Millisecond)
	}
	if err := s[0].daemon.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	again := s[1].connect("", c.last)
	if again.until(api.EventEnd); again.text != "Done." {
		t.Errorf("read %q", again.text)
	}
}
