package chat

import (
	"encoding/json"
	"github.com/weirhost/weir/sdk/tool"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/term"
)

// An approverTest plays the daemon and the person of an approver.
type approverTest struct {
	*testing.T
	q     *approver
	keys  *io.PipeWriter
	posts chan string // id and answer

	mu   sync.Mutex
	text strings.Builder
}

func newApproverTest(t *testing.T) *approverTest {
	t.Helper()
	b := &approverTest{T: t, posts: make(chan string, 16)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Answer string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		b.posts <- strings.TrimPrefix(r.URL.Path, "/api/approvals/") + " " + body.Answer
		if strings.Contains(r.URL.Path, "late") {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": api.Problem{Code: "settled", Msg: tool.Textf("it cannot be answered any more")}})
		}
	}))
	t.Cleanup(srv.Close)
	r, w := io.Pipe()
	b.keys = w
	t.Cleanup(func() { _ = w.Close() })
	writeLine := func(s string) { b.mu.Lock(); defer b.mu.Unlock(); b.text.WriteString(s + "\n") }
	prompt := func(s string) { b.mu.Lock(); defer b.mu.Unlock(); b.text.WriteString(s) }
	b.q = newApprover(t.Context(), &term.Printer{}, client.New(srv.URL, ""), NewLines(r), writeLine, prompt)
	return b
}

func (b *approverTest) asked(id string) {
	data, err := json.Marshal(api.Approval{ID: id, Tool: "write_note", Args: "{}", Why: "why"})
	if err != nil {
		b.Fatal(err)
	}
	b.q.event("approval.asked", data)
}

func (b *approverTest) answered(id, how string) {
	b.q.event("approval.answered", json.RawMessage(`{"id":"`+id+`","answer":"`+how+`"}`))
}

func (b *approverTest) types(s string) {
	b.Helper()
	if _, err := io.WriteString(b.keys, s); err != nil {
		b.Fatal(err)
	}
}

// shows waits until the terminal shows a text n times.
func (b *approverTest) shows(text string, n int) {
	b.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		all := b.text.String()
		b.mu.Unlock()
		if strings.Count(all, text) >= n {
			return
		}
		if time.Since(began) > time.Minute {
			b.Fatalf("%q did not come %d times:\n%s", text, n, all)
		}
	}
}

const question = "[n] no: "

func TestApproverAsksOneAtATime(t *testing.T) {
	b := newApproverTest(t)
	b.asked("a")
	b.asked("b")
	b.shows(question, 1)
	b.types("what?\n")
	b.shows(question, 2)
	b.types(" YES \n")
	if got := <-b.posts; got != "a once" {
		t.Errorf("%q", got)
	}
	b.shows(question, 3)
	b.types("always\n")
	if got := <-b.posts; got != "b always" {
		t.Errorf("%q", got)
	}
	b.q.close()
}

// A request that is answered elsewhere needs no answer here.
func TestApproverStopsWhenAnsweredElsewhere(t *testing.T) {
	b := newApproverTest(t)
	b.asked("a")
	b.asked("b")
	b.asked("late")
	b.shows(question, 1)
	b.answered("b", "deny") // before it was asked about here
	b.answered("a", "expired")
	b.answered("nobody knows", "once")
	b.shows("no answer is needed any more: expired", 1)
	b.shows(question, 2)
	b.types("n\n")
	if got := <-b.posts; got != "late deny" {
		t.Errorf("%q", got)
	}
	b.shows("it cannot be answered any more", 1)
	b.q.close()
	if len(b.posts) != 0 {
		t.Errorf("also posted %q", <-b.posts)
	}
}

// The end of the input denies, and the end of the question sends nothing.
func TestApproverEnds(t *testing.T) {
	b := newApproverTest(t)
	b.asked("a")
	b.shows(question, 1)
	_ = b.keys.Close()
	if got := <-b.posts; got != "a deny" {
		t.Errorf("%q", got)
	}
	b.q.close()

	b = newApproverTest(t)
	b.asked("a")
	b.asked("b")
	b.shows(question, 1)
	b.q.close()
	if len(b.posts) != 0 {
		t.Errorf("posted %q", <-b.posts)
	}
}

// Nothing that a model wrote looks like a line of weir.
func TestApprovalCardCannotBeImitated(t *testing.T) {
	card := ApprovalCard(&term.Printer{}, api.Approval{ID: "x", Tool: "a\x1b[2J\nallow it? [y]", Plugin: "p", Why: "why\n\u202e", Always: "al\rways",
		Args: "{\n  \"a\": \"b\"\n}\n? other asks for permission", LeftOut: 12345})
	for i, line := range strings.Split(card, "\n") {
		if i == 0 != strings.HasPrefix(line, "? ") || i > 0 && !strings.HasPrefix(line, "  ") {
			t.Errorf("line %d: %q", i, line)
		}
	}
	if strings.ContainsAny(card, "\x1b\u202e\r") || !strings.Contains(card, "12,345 characters are left out") || !strings.Contains(card, "weir approvals show x") {
		t.Errorf("%q", card)
	}
}
