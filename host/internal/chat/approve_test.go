package chat

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
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
		var body api.Answer
		_ = json.NewDecoder(r.Body).Decode(&body)
		post := strings.TrimPrefix(r.URL.Path, "/api/approvals/") + " " + body.Answer
		if body.Only != nil {
			post += fmt.Sprint(" ", body.Only)
		}
		b.posts <- post
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

func (b *approverTest) asked(id string, calls ...api.ApprovalCall) {
	data, err := json.Marshal(api.Approval{ID: id, Tool: "write_note", Args: "{}", Why: "why", Calls: calls})
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
	var all string
	if !testtime.Comes(func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		all = b.text.String()
		return strings.Count(all, text) >= n
	}) {
		b.Fatalf("%q did not come %d times:\n%s", text, n, all)
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

const cardQuestion = "[n] none, or the numbers of those to allow: "

// The calls of a script are answered at once, or by their numbers.
func TestApproverOfCards(t *testing.T) {
	b := newApproverTest(t)
	calls := []api.ApprovalCall{{Number: 2, Tool: "a", Args: "{}"}, {Number: 4, Tool: "b", Args: "{}"}, {Number: 12, Tool: "c", Args: "{}"}}
	n := 0
	for _, row := range [][2]string{
		{"y", "once"}, {"a", "always"}, {"n", "deny"}, {"4", "once [4]"}, {"12, 2", "once [2 12]"}, {"2 4", "once [2 4]"}, {"2，4、4", "once [2 4]"}, {"2,4,12", "once"},
	} {
		b.asked("x", calls...)
		n++
		b.shows(cardQuestion, n)
		b.types(row[0] + "\n")
		if got := <-b.posts; got != "x "+row[1] {
			t.Errorf("%q is sent as %q", row[0], got)
		}
	}
	b.asked("x", calls...)
	for i, wrong := range []string{"3", "2-4", "y2", "", ",", "all"} {
		b.shows(cardQuestion, n+i+1)
		b.types(wrong + "\n")
		b.shows("type y, a, n or numbers as 2,12", i+1)
	}
	b.shows(cardQuestion, n+7)
	b.types("no\n")
	if got := <-b.posts; got != "x deny" {
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

// The card of several calls has their numbers, arguments and sources, and the script.
func TestApprovalCardOfCalls(t *testing.T) {
	a := api.Approval{ID: "x", Tool: "write_note", Plugin: "pen", Why: "why", Always: "later ones", Script: "await 1\x1b[2J\n? other", Args: "all of it", Calls: []api.ApprovalCall{
		{Number: 2, Tool: "write_note", Args: "{\n  \"path\": \"1.txt\"\n}", From: map[string]string{"text": "read_note(notes.txt)", "path\n?": "b\r"}}, {Number: 4, Tool: "b\n? c", Args: "{}\n? d"},
	}}
	card := ApprovalCard(&term.Printer{}, a)
	for _, want := range []string{"? 2 calls of a script ask for permission: write_note (plugin pen)\n  why\n", "\n  2: write_note\n  │ {\n  │   \"path\": \"1.txt\"\n", "  │ text ← read_note(notes.txt)\n", "\n  4: b", "\n  the script:\n  │ await 1", "\n  always: later ones"} {
		if !strings.Contains(card, want) {
			t.Errorf("%q is missing in\n%s", want, card)
		}
	}
	for i, line := range strings.Split(card, "\n") {
		if i == 0 != strings.HasPrefix(line, "? ") || i > 0 && !strings.HasPrefix(line, "  ") {
			t.Errorf("line %d: %q", i, line)
		}
	}
	if strings.ContainsAny(card, "\x1b\r") || strings.Contains(card, "all of it") || strings.Contains(card, "left out") {
		t.Errorf("%q", card)
	}
	a.LeftOut = 5
	if card := ApprovalCard(&term.Printer{}, a); !strings.Contains(card, "weir approvals show x") {
		t.Error(card)
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
