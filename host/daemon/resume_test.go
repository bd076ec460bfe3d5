package daemon

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/internal/testtime"
)

// stepper is a model that says one piece whenever the test lets it.
type stepper struct {
	step  chan string   // a piece to say; closed: the answer ends
	ended chan struct{} // the turn was stopped
}

func newStepper() *stepper {
	return &stepper{make(chan string), make(chan struct{}, 8)}
}

func (m *stepper) Generate(ctx context.Context, _ agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		for {
			select {
			case text, ok := <-m.step:
				if !ok {
					yield(agent.Delta{Finish: agent.FinishStop}, nil)
					return
				}
				if !yield(agent.Delta{Text: text}, nil) {
					return
				}
			case <-ctx.Done():
				m.ended <- struct{}{}
				yield(agent.Delta{}, ctx.Err())
				return
			}
		}
	}
}

// A connection reads a stream event by event.
type connection struct {
	*server
	body io.Closer
	in   *bufio.Reader
	last string // id of the last event
	text string // the answer as its reader has it
	stop context.CancelFunc
}

// connect opens a stream: with a body a new one, else that of the event last.
func (s *server) connect(body, last string) *connection {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	method := "POST"
	if body == "" {
		method = "GET"
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+"/api/chat", strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		s.Fatalf("%d %s", resp.StatusCode, b)
	}
	return &connection{server: s, body: resp.Body, in: bufio.NewReader(resp.Body), stop: cancel}
}

// next reads one event; false: the stream is over.
func (c *connection) next() (event, bool) {
	c.Helper()
	var e event
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return e, false
		}
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch key {
		case "id":
			c.last = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name == "" {
				continue // a comment
			}
			switch e.name {
			case api.EventText:
				c.text += last[api.TextPiece](c.T, []event{e}, api.EventText).Text
			case api.EventMissed:
				c.text = last[api.Missed](c.T, []event{e}, api.EventMissed).Text
			}
			return e, true
		}
	}
}

// until reads up to an event.
func (c *connection) until(name string) event {
	c.Helper()
	for {
		e, ok := c.next()
		if !ok {
			c.Fatalf("the stream ended before %s", name)
		}
		if e.name == name {
			return e
		}
	}
}

func (c *connection) close() {
	c.stop()
	_ = c.body.Close()
}

// A client that loses the stream goes on where it was, while the turn runs and
// when it is over, by GET and by the same POST.
func TestResume(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	first := s.connect(`{"message":"Hi","resume":true}`, "")
	start := last[api.ChatStart](t, []event{first.until(api.EventStart)}, api.EventStart)
	if !start.Resumable {
		t.Error("the stream does not say that it is resumable")
	}
	m.step <- "one "
	first.until(api.EventText)
	at := first.last
	m.step <- "two "
	first.until(api.EventText)
	first.close()

	m.step <- "three "
	again := s.connect("", at) // which has not read "two " yet, for all we know
	again.text = "one "
	again.until(api.EventText)
	again.until(api.EventText)
	if again.text != "one two three " {
		t.Errorf("read %q", again.text)
	}
	again.close()
	m.step <- "four"
	close(m.step)
	posted := s.connect(`{"message":"Hi","resume":true}`, again.last)
	posted.text = again.text
	end := last[api.ChatEnd](t, []event{posted.until(api.EventEnd)}, api.EventEnd)
	if posted.text != "one two three four" || end.Answer != "one two three four" || end.Reason != agent.ReasonAnswer {
		t.Errorf("read %q, ended by %s with %q", posted.text, end.Reason, end.Answer)
	}
	if _, more := posted.next(); more {
		t.Error("something follows the end")
	}
	late := s.connect("", at)
	late.text = "one "
	if late.until(api.EventEnd); late.text != "one two three four" {
		t.Errorf("after the end: %q", late.text)
	}
	stored := s.get("/api/conversations/" + start.Conversation).body
	if strings.Count(stored, `"role":"user"`) != 1 {
		t.Errorf("the question was asked again: %s", stored)
	}
}

// Without resume a turn ends with its client; with resume it ends if no client comes
// back in time.
func TestATurnEndsWithItsClient(t *testing.T) {
	for _, body := range []string{`{"message":"Hi"}`, `{"message":"Hi","resume":true}`} {
		m := newStepper()
		s := newServer(t, m)
		s.daemon.chat.grace = time.Millisecond
		c := s.connect(body, "")
		m.step <- "one"
		c.until(api.EventText)
		c.close()
		<-m.ended
		if r := s.do("GET", "/api/chat", "", func(q *http.Request) { q.Header.Set("Last-Event-ID", "12") }); r.status != 404 || r.code(t) != "no_stream" {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
}

// The operator can say that no turn outlives its client.
func TestNoGrace(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	s.daemon.chat.grace = -1
	c := s.connect(`{"message":"Hi","resume":true}`, "")
	if start := last[api.ChatStart](t, []event{c.until(api.EventStart)}, api.EventStart); start.Resumable || strings.Contains(c.last, "-") {
		t.Errorf("%+v with the id %s", start, c.last)
	}
	c.close()
	<-m.ended
}

// A client ends its turn: the stream comes to its end without a problem, what was
// said is stored, and the conversation can go on at once. To end it again is no
// mistake.
func TestEndATurn(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	c := s.connect(`{"message":"Hi","resume":true}`, "")
	start := last[api.ChatStart](t, []event{c.until(api.EventStart)}, api.EventStart)
	m.step <- "one"
	c.until(api.EventText)
	end := func() answer {
		return s.do("DELETE", "/api/chat", "", func(q *http.Request) { q.Header.Set("Last-Event-ID", c.last) })
	}
	if a := end(); a.status != 204 || a.body != "" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	<-m.ended
	for {
		e, ok := c.next()
		if !ok {
			t.Fatal("the stream ended before its end")
		}
		if e.name == api.EventError {
			t.Errorf("a problem is told: %s", e.data)
		}
		if e.name == api.EventEnd {
			if got := last[api.ChatEnd](t, []event{e}, api.EventEnd); got.Reason != agent.ReasonCancelled || got.Answer != "one" {
				t.Errorf("ended by %s with %q", got.Reason, got.Answer)
			}
			break
		}
	}
	if a := end(); a.status != 204 {
		t.Errorf("again: %d %s", a.status, a.body)
	}
	close(m.step)
	if a := s.post("/api/chat", `{"message":"Go on","conversation_id":"`+start.Conversation+`"}`); a.status != 200 {
		t.Errorf("the next question: %d %s", a.status, a.body)
	}
}

// Several connections read one turn, as from several tabs. One too many ends the oldest.
func TestSeveralConnectionsRead(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	readers := []*connection{s.connect(`{"message":"Hi","resume":true}`, "")}
	start := last[api.ChatStart](t, []event{readers[0].until(api.EventStart)}, api.EventStart)
	readers[0].until(api.EventBudget)
	for range 3 {
		readers = append(readers, s.connect("", readers[0].last), s.join(start.Conversation))
	}
	m.step <- "for all"
	for i, c := range readers {
		if c.until(api.EventText); c.text != "for all" {
			t.Errorf("connection %d read %q", i, c.text)
		}
	}
	for range 2 { // makes nine
		readers = append(readers, s.join(start.Conversation))
	}
	for {
		if _, ok := readers[0].next(); !ok {
			break
		}
	}
	close(m.step)
	for i, c := range readers[1:] {
		if c.until(api.EventEnd); c.text != "for all" {
			t.Errorf("connection %d read %q", i+1, c.text)
		}
	}
}

// join opens the stream of the answer that runs in a conversation.
func (s *server) join(conversation string) *connection {
	s.Helper()
	resp := s.send("/api/chat?conversation_id=" + conversation)
	if resp.StatusCode != 200 {
		s.Fatalf("status %d", resp.StatusCode)
	}
	return s.streamOf(resp)
}

// streamOf returns the stream of an answer.
func (s *server) streamOf(resp *http.Response) *connection {
	return &connection{server: s, body: resp.Body, in: bufio.NewReader(resp.Body), stop: func() {}}
}

// send requests a path and leaves the answer to be read.
func (s *server) send(path string) *http.Response {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), "GET", s.url+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	return resp
}

// Whoever joins a running answer by its conversation has all of it, goes on after a break
// and can stop it. An answer that has ended, or that ends with its client, cannot be joined.
func TestJoinARunningAnswer(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	first := s.connect(`{"message":"Hi","resume":true}`, "")
	id := last[api.ChatStart](t, []event{first.until(api.EventStart)}, api.EventStart).Conversation
	m.step <- "one "
	first.until(api.EventText)
	first.close()
	second := s.join(id)
	if again := last[api.ChatStart](t, []event{second.until(api.EventStart)}, api.EventStart); again.Conversation != id || !again.Resumable {
		t.Errorf("%+v", again)
	}
	m.step <- "two"
	second.until(api.EventText)
	second.until(api.EventText)
	at := second.last
	second.close()
	third := s.connect("", at)
	if a := s.do("DELETE", "/api/chat", "", func(q *http.Request) { q.Header.Set("Last-Event-ID", at) }); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	end := last[api.ChatEnd](t, []event{third.until(api.EventEnd)}, api.EventEnd)
	if second.text != "one two" || end.Reason != agent.ReasonCancelled || end.Answer != "one two" {
		t.Errorf("read %q, ended by %s with %q", second.text, end.Reason, end.Answer)
	}
	for _, other := range []string{id, "0b9fbdcd-6f1e-4f4f-9d0e-3f2d8f6a7b10", "%00", strings.Repeat("x", 5000)} {
		if a := s.get("/api/chat?conversation_id=" + other); a.status != 404 || a.code(t) != "no_turn" {
			t.Errorf("%.40s: %d %.200s", other, a.status, a.body)
		}
	}
	bound := s.connect(`{"message":"Hi","conversation_id":"`+id+`"}`, "")
	bound.until(api.EventStart)
	if a := s.get("/api/chat?conversation_id=" + id); a.code(t) != "no_turn" {
		t.Errorf("an answer that ends with its client: %d %s", a.status, a.body)
	}
	bound.close()
	<-m.ended
}

// What keeps a turn from beginning is a plain answer, and nothing is left of it.
func TestResumableProblems(t *testing.T) {
	s := newServer(t, replay.New())
	if r := s.post("/api/chat", `{"message":" ","resume":true}`); r.status != 400 || r.code(t) != "empty" {
		t.Errorf("%d %s", r.status, r.body)
	}
	kept := s.daemon.resumable.Len
	testtime.Until(t, "the turn is forgotten", func() bool { return kept() == 0 }) // the answer comes before the turn is forgotten
}

// What cannot be resumed answers so at once, by GET and by POST, and all alike: a
// stream from before a restart, of another user, of no user, and an event in the
// future.
func TestStreamsThatCannotBeResumed(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	c := s.connect(`{"message":"Hi","resume":true}`, "")
	defer c.close()
	c.until(api.EventBudget)
	id := c.last[:strings.LastIndexByte(c.last, '-')]
	again, err := New(Config{Host: s.host, Token: testToken, Models: s.daemon.cfg.Models, Profiles: s.daemon.cfg.Profiles, Users: s.daemon.current.State().Users})
	if err != nil {
		t.Fatal(err)
	}
	restarted := httptest.NewServer(again.Handler())
	defer restarted.Close()
	after := *s
	after.url = restarted.URL
	why, token := "of before a restart", testToken
	if pgtest.InPostgres() { // which has it for its user
		why, token = "of another user, at another daemon", annToken
	}
	for _, row := range []struct {
		why   string
		s     *server
		token string
		last  string
	}{
		{"of another user", s, annToken, c.last},
		{why, &after, token, c.last},
		{"of nobody", s, testToken, "0b9fbdcd-6f1e-4f4f-9d0e-3f2d8f6a7b10-3"},
		{"an event that is still to come", s, testToken, id + "-9999"},
		{"no number", s, testToken, id + "-x"},
		{"no event", s, testToken, id},
		{"a negative number", s, testToken, id + "--3"},
		{"nonsense", s, testToken, "\"><script>"},
	} {
		for method, body := range map[string]string{"GET": "", "DELETE": "", "POST": `{"message":"Hi","resume":true}`} {
			a := row.s.do(method, "/api/chat", body, func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+row.token)
				r.Header.Set("Last-Event-ID", row.last)
			})
			if a.status != 404 || a.code(t) != "no_stream" || !strings.Contains(a.body, "restart") {
				t.Errorf("%s, by %s: %d %s", row.why, method, a.status, a.body)
			}
		}
	}
	close(m.step) // the turn itself went on
	c.until(api.EventEnd)
	if n := s.daemon.resumable.Len(); n != 1 {
		t.Errorf("%d turns began", n)
	}
}

// A daemon that stops does not wait for turns without a reader.
func TestDrainEndsTurnsWithoutAClient(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	c := s.connect(`{"message":"Hi","resume":true}`, "")
	c.until(api.EventBudget)
	running, _, err := s.daemon.resumable.Find(t.Context(), "local", c.last)
	if err != nil {
		t.Fatal(err)
	}
	c.close()
	testtime.Until(t, "the server notices that its client has gone", func() bool { return !running.HasReader() })
	if err := s.daemon.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	<-m.ended
}

// A turn that panics ends for its client, and not the daemon.
func TestAPanicInALiveTurn(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { panic("boom") }))
	c := s.connect(`{"message":"Hi","resume":true}`, "")
	if p := last[api.Problem](t, []event{c.until(api.EventError)}, api.EventError); p.Code != "internal" || strings.Contains(p.Msg.String(), "boom") {
		t.Errorf("%+v", p)
	}
	c.until(api.EventEnd)
	if r := s.get("/healthz"); r.status != 200 {
		t.Errorf("%d", r.status)
	}
}
