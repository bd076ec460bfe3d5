package daemon

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/usage"
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

// Without being asked for, a turn ends with its client; with it, it ends when
// nobody comes back in time.
func TestATurnEndsWithItsClient(t *testing.T) {
	for _, body := range []string{`{"message":"Hi"}`, `{"message":"Hi","resume":true}`} {
		m := newStepper()
		s := newServer(t, m)
		s.daemon.cfg.ResumeGrace = time.Millisecond
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
	s.daemon.cfg.ResumeGrace = -1
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

// Who leaves before the first event knows none to come back to: the turn ends then.
func TestATurnWithoutAnEventEndsWithItsClient(t *testing.T) {
	s := newServer(t, replay.New())
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var once sync.Once
	l := &liveTurn{id: "early", feed: newFeed(1000), grace: time.Hour, cancel: func() { once.Do(func() { close(ended) }) }}
	over := make(chan error)
	go func() {
		over <- s.daemon.send(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/api/chat", nil), l, 0)
	}()
	leave()
	if err := <-over; err != nil {
		t.Error(err)
	}
	<-ended
	l.finish(api.ChatEnd{}, context.Canceled)
}

// Of two connections that read one turn the newer is the client's.
func TestTheNewerConnectionReads(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	old := s.connect(`{"message":"Hi","resume":true}`, "")
	old.until(api.EventBudget)
	newer := s.connect("", old.last)
	for {
		if _, ok := old.next(); !ok {
			break
		}
	}
	m.step <- "for the newer"
	close(m.step)
	if newer.until(api.EventEnd); newer.text != "for the newer" {
		t.Errorf("read %q", newer.text)
	}
}

// What keeps a turn from beginning is a plain answer, and nothing is left of it.
func TestResumableProblems(t *testing.T) {
	s := newServer(t, replay.New())
	if r := s.post("/api/chat", `{"message":" ","resume":true}`); r.status != 400 || r.code(t) != "empty" {
		t.Errorf("%d %s", r.status, r.body)
	}
	kept := func() int {
		s.daemon.lives.mu.Lock()
		defer s.daemon.lives.mu.Unlock()
		return len(s.daemon.lives.byID)
	}
	for end := time.Now().Add(20 * time.Second); kept() > 0; runtime.Gosched() { // the answer comes before the turn is forgotten
		if time.Now().After(end) {
			t.Fatalf("%d turns are kept", kept())
		}
	}
}

// What cannot be resumed answers so at once, by GET and by POST, and all alike: a
// stream of before a restart, of another user, of nobody, and an event that is
// still to come.
func TestStreamsThatCannotBeResumed(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	c := s.connect(`{"message":"Hi","resume":true}`, "")
	defer c.close()
	c.until(api.EventBudget)
	id := c.last[:strings.LastIndexByte(c.last, '-')]
	again, err := New(Config{Host: s.host, Token: testToken, Models: s.daemon.cfg.Models, Profiles: s.daemon.cfg.Profiles})
	if err != nil {
		t.Fatal(err)
	}
	restarted := httptest.NewServer(again.Handler())
	defer restarted.Close()
	after := *s
	after.url = restarted.URL
	for _, row := range []struct {
		why   string
		s     *server
		token string
		last  string
	}{
		{"of another user", s, annToken, c.last},
		{"of before a restart", &after, testToken, c.last},
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
	if len(s.daemon.lives.byID) != 1 {
		t.Errorf("%d turns began", len(s.daemon.lives.byID))
	}
}

// A daemon that stops does not wait for turns that nobody reads.
func TestDrainEndsTurnsWithoutAClient(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	c := s.connect(`{"message":"Hi","resume":true}`, "")
	c.until(api.EventBudget)
	l, ok := s.daemon.lives.find("local", c.last[:strings.LastIndexByte(c.last, '-')])
	if !ok {
		t.Fatal("the turn is not there")
	}
	c.close()
	left := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.reader == nil
	}
	for !left() { // the server notices by itself
		time.Sleep(time.Millisecond)
	}
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

// However a client is cut off, it has every event once, or is told what it
// missed and still has the whole answer.
func TestFeedLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(rapid.IntRange(1, 400).Draw(t, "limit"))
		added, whole := 0, ""
		add := func() {
			added++
			text := fmt.Sprintf("<%d>", added)
			whole += text
			f.add(func(n int) []byte { return []byte(strconv.Itoa(n) + "\n") }, text)
		}
		n, read := 0, ""
		for range rapid.IntRange(1, 8).Draw(t, "connections") {
			for range rapid.IntRange(0, 40).Draw(t, "events") {
				add()
			}
			if n == added {
				continue // it would wait
			}
			raw, last, gap, over, err := f.next(t.Context(), n)
			if err != nil || over || last != added {
				t.Fatalf("up to %d of %d, over %v, error %v", last, added, over, err)
			}
			if gap != nil {
				if gap.events != gap.before-1-n || gap.events < 1 {
					t.Fatalf("gap %+v behind %d", gap, n)
				}
				n, read = gap.before-1, gap.text
			}
			lines := strings.Fields(string(raw))
			if len(lines) == 0 {
				t.Fatal("nothing is there")
			}
			for i, line := range lines { // the connection breaks in the middle, perhaps
				if line != strconv.Itoa(n+1) {
					t.Fatalf("%s behind %d", line, n)
				}
				n, read = n+1, read+fmt.Sprintf("<%s>", line)
				if i > 0 && rapid.Bool().Draw(t, "breaks") {
					break
				}
			}
		}
		f.end()
		raw, last, gap, over, _ := f.next(t.Context(), n)
		if gap != nil {
			read, n = gap.text, gap.before-1
		}
		for range strings.Fields(string(raw)) {
			n++
			read += fmt.Sprintf("<%d>", n)
		}
		if !over || last != added || n != added || read != whole {
			t.Fatalf("read %q of %q, over %v", read, whole, over)
		}
	})
}

// What a feed holds is bounded, whatever is added.
func TestFeedIsBounded(t *testing.T) {
	f := newFeed(1000)
	for range 10_000 {
		f.add(func(n int) []byte { return bytes.Repeat([]byte("x"), n%50+1) }, "")
	}
	if got := f.size(); got > 1000 {
		t.Errorf("%d bytes", got)
	}
	f.add(func(int) []byte { return make([]byte, 5000) }, "")
	if raw, _, _, _, _ := f.next(t.Context(), 10_000); len(raw) != 5000 {
		t.Errorf("the newest is gone: %d bytes", len(raw))
	}
}

// Of turns that are over a bounded number is kept, the newest.
func TestLivesAreBounded(t *testing.T) {
	ls := newLives()
	var ids []string
	for i := range keepOverCount + 10 {
		l := &liveTurn{id: strconv.Itoa(i), principal: strconv.Itoa(i % 8), feed: newFeed(10)}
		ids = append(ids, l.id)
		ls.add(l)
		ls.settle(l)
	}
	var kept []string
	for _, l := range ls.done {
		kept = append(kept, l.id)
	}
	if !slices.Equal(kept, ids[10:]) || len(ls.byID) != keepOverCount {
		t.Errorf("%d are kept, the first is %s", len(ls.byID), kept[0])
	}
	ls = newLives()
	ls.add(&liveTurn{id: "hers", principal: "ann", feed: newFeed(10)})
	ls.settle(ls.byID["hers"])
	for i := range 2 * keepOverCount {
		l := &liveTurn{id: strconv.Itoa(i), principal: "bob", feed: newFeed(10)}
		ls.add(l)
		ls.settle(l)
	}
	if _, ok := ls.find("ann", "hers"); !ok || len(ls.done) != keepOverOf+1 || len(ls.byID) != keepOverOf+1 || ls.done[1].id != strconv.Itoa(2*keepOverCount-keepOverOf) {
		t.Errorf("one user's turns drive out another's: %d are kept", len(ls.byID))
	}
}

// The sign of life of a stream does not come into the middle of an event.
func TestAPingKeepsOutOfEvents(t *testing.T) {
	text := strings.Repeat("0123456789", 400<<10)
	live := &liveTurn{id: "turn", feed: newFeed(feedBytes), over: true}
	live.emit("long", text)
	live.feed.end()
	d := &Daemon{beat: 10 * time.Microsecond}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := d.send(w, r, live, 0); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var events [][]byte
	for e := range bytes.SplitAfterSeq(got, []byte("\n\n")) {
		if string(e) != ": ping\n\n" && len(e) > 0 {
			events = append(events, e)
		}
	}
	if len(events) != 1 || !bytes.Equal(events[0], sse.Frame("turn-1", "long", text)) {
		t.Errorf("%d bytes come as %d events, want one", len(got), len(events))
	}
}
