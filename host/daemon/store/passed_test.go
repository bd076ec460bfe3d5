package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/archive"
)

// A history is the request of a client with a loop of its own.
type history struct {
	setting  string
	messages []PassedMessage
	texts    []string
}

// say adds messages, "role: text" each.
func (c history) say(messages ...string) history {
	c.messages, c.texts = slices.Clone(c.messages), slices.Clone(c.texts)
	for _, m := range messages {
		role, text, _ := strings.Cut(m, ": ")
		m = strings.ReplaceAll(m, "\x00", "0")
		chain := ""
		if n := len(c.messages); n > 0 {
			chain = c.messages[n-1].Chain
		}
		c.messages, c.texts = append(c.messages, PassedMessage{Digest: m, Chain: chain + "/" + m, Role: role, Turn: 1}), append(c.texts, text)
	}
	return c
}

func (c history) under(setting string) history {
	c.setting = setting
	return c
}

// passed stores a request, with an answer unless it is empty.
func (s *fixture) passed(t testing.TB, principal string, c history, answer string) Branch {
	t.Helper()
	p := Passed{Principal: principal, ID: uuid.NewString(), Title: "A title", Client: "opencode", Label: "ses_1", Model: "m", Setting: c.setting, Messages: c.messages,
		System: &PassedText{Digest: "system " + c.setting, Content: "You are " + c.setting},
		Text: func(i int) PassedText {
			return PassedText{Content: c.texts[i], Body: json.RawMessage(`{"native":true}`)}
		},
		Usage: &TurnUsage{Turn: 1, Model: "m", Prompt: 10},
		Trace: func(id string) *Trace { return &Trace{Turn: 1, Body: []byte(`{"conversation_id":"` + id + `"}`)} }}
	if answer != "" {
		with := c.say("assistant: " + answer)
		a := with.messages[len(with.messages)-1]
		a.Model = "m"
		p.Answer, p.AnswerText = &a, PassedText{Content: answer, Thinking: "hm", Body: json.RawMessage(`{}`)}
	}
	b, err := s.KeepPassed(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (s *fixture) count(t testing.TB, from string) (n int) {
	t.Helper()
	if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+from).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// list returns the ids of the conversations that a list has.
func (s *fixture) list(t testing.TB, principal string) (ids []string) {
	t.Helper()
	list, _, err := s.Page(t.Context(), principal, PageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

// A session is one conversation, from its second request on; what another system prompt or other
// tools ask beside it is in no list, whatever messages of the session it has. Each message is
// stored once.
func TestBranches(t *testing.T) {
	s := openTest(t)
	main := history{setting: "agent"}.say("user: one")
	first := s.passed(t, "ann", main, "1")
	s.passed(t, "ann", history{setting: "title"}.say("user: Write a title", "user: one"), "The title")
	if !first.Hidden || len(s.list(t, "ann")) != 0 {
		t.Fatalf("a single request is in the list: %+v", first)
	}
	for turn := 1; turn <= 20; turn++ {
		main = main.say("assistant: "+fmt.Sprint(turn), fmt.Sprintf("user: question %d", turn))
		again := s.passed(t, "ann", main, fmt.Sprint(turn+1))
		if again.ID != first.ID || again.Hidden {
			t.Fatalf("turn %d: %+v, want %s", turn, again, first.ID)
		}
		s.passed(t, "ann", main.under("memory").say("assistant: "+fmt.Sprint(turn+1)), "nothing to remember") // goes on in the next turn
		extract := main.under("extract").say("user: What is worth remembering?")
		s.passed(t, "ann", extract, "I look")
		s.passed(t, "ann", extract.say("assistant: I look", "tool: found"), "done")
	}
	s.passed(t, "ann", main.under("compact").say("user: Summarize"), "A summary")
	if got := s.list(t, "ann"); !slices.Equal(got, []string{first.ID}) {
		t.Errorf("listed: %v, want %s alone", got, first.ID)
	}
	// 21 questions, 21 answers, and what the others said.
	if n := s.count(t, "passed_texts WHERE content NOT LIKE 'You are%'"); n != 42+2+1+4+2 {
		t.Errorf("%d texts are stored", n)
	}
	ms, err := s.Messages(t.Context(), Scope{Principal: "ann", Conversation: first.ID})
	if err != nil || len(ms) != 42 || ms[0].Content != "one" || ms[41].Content != "21" || ms[41].Thinking != "hm" || !strings.Contains(string(ms[41].Body), `"text":"21"`) {
		t.Errorf("%d messages, %v: %+v", len(ms), err, ms)
	}
	sums, err := s.Totals(t.Context(), Scope{Principal: "ann", Conversation: first.ID})
	if err != nil || !sums.Passed || sums.Client != "opencode" || sums.Label != "ses_1" || sums.Messages != 42 || sums.Prompt != 210 {
		t.Errorf("%+v, %v", sums, err)
	}
	found, err := s.Search(t.Context(), "ann", "question 20", SearchOptions{})
	if err != nil || len(found.Hits) != 1 || found.Hits[0].Conversation.ID != first.ID || found.Hits[0].Snippet != "question 20" {
		t.Errorf("%+v, %v", found, err)
	}
	if traces, err := s.Traces(t.Context(), Scope{Principal: "ann", Conversation: first.ID}, -1); err != nil || len(traces) != 21 {
		t.Errorf("%d traces, %v", len(traces), err)
	}
}

// What forks under the same setting, and what a person goes on with under another one, are
// conversations of their own.
func TestForksOfAPerson(t *testing.T) {
	s := openTest(t)
	main := history{setting: "plan"}.say("user: one")
	a := s.passed(t, "ann", main, "1")
	s.passed(t, "ann", main.say("assistant: 1", "user: two"), "2")
	s.passed(t, "ann", main.under("memory").say("assistant: 1"), "nothing")
	edited := main.say("assistant: 1", "user: not two")
	b := s.passed(t, "ann", edited, "3")
	s.passed(t, "ann", edited.say("assistant: 3", "tool: result"), "4")
	build := main.under("build").say("assistant: 1", "user: two", "assistant: 2", "user: build it")
	c := s.passed(t, "ann", build, "5")
	build = build.say("assistant: 5", "tool: built")
	if again := s.passed(t, "ann", build, "6"); again.ID != c.ID || !again.Hidden {
		t.Errorf("%+v", again)
	}
	s.passed(t, "ann", build.say("assistant: 6", "user: and test it"), "7")
	got := s.list(t, "ann")
	slices.Sort(got)
	want := []string{a.ID, b.ID, c.ID}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("listed: %v, want %v", got, want)
	}
}

// A request that is sent again, with or without an answer to the first, is the same one, and the
// last answer counts. An answer that the client sends back otherwise counts as it sends it.
func TestTheSameRequestAgain(t *testing.T) {
	s := openTest(t)
	main := history{setting: "agent"}.say("user: one")
	a := s.passed(t, "ann", main, "")
	for _, answer := range []string{"half", "whole", "another"} {
		if b := s.passed(t, "ann", main, answer); b.ID != a.ID || !b.Hidden {
			t.Errorf("%+v", b)
		}
	}
	s.passed(t, "ann", main.say("assistant: cut by the client", "user: two"), "2")
	ms, err := s.Messages(t.Context(), Scope{Principal: "ann", Conversation: a.ID})
	var got []string
	for _, m := range ms {
		got = append(got, m.Content)
	}
	if want := []string{"one", "cut by the client", "two", "2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if n := s.count(t, "passed_texts"); n != 5 { // and the system prompt
		t.Errorf("%d texts are stored", n)
	}
}

// Users have nothing in common, and what is deleted is not in the file any more.
func TestPassedIsDeleted(t *testing.T) {
	for name, forget := range map[string]func(s *fixture, c *clock, id string) error{
		"deleted": func(s *fixture, _ *clock, id string) error {
			_, err := s.DeleteConversation(t.Context(), Scope{Principal: "ann", Conversation: id})
			return err
		},
		"purged": func(s *fixture, _ *clock, _ string) error { _, err := s.Purge(t.Context(), "ann"); return err },
		"pruned by age": func(s *fixture, c *clock, _ string) error {
			c.forward(73 * time.Hour)
			s.passed(t, "bob", history{setting: "agent"}.say("user: SECRET-1"), "SECRET-2")
			return s.archive.Maintain(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			s := openTest(t, func(cfg *archive.Config) { cfg.Now, cfg.MaxAge = c.now, 72*time.Hour })
			theirs := history{setting: "agent"}.say("user: SECRET-1")
			bob := s.passed(t, "bob", theirs, "SECRET-2")
			main := history{setting: "agent"}.say("user: SECRET-1")
			s.passed(t, "ann", history{setting: "title"}.say("user: A title for SECRET-1"), "SECRET title")
			s.passed(t, "ann", main, "SECRET-2")
			main = main.say("assistant: SECRET-2", "user: ann's needle")
			a := s.passed(t, "ann", main, "SECRET-3")
			if _, err := s.AddNotes(t.Context(), Scope{Principal: "ann", Conversation: a.ID}, "fold", map[string]string{"d": "ann's needle"}); err != nil {
				t.Fatal(err)
			}
			if err := forget(s, c, a.ID); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"passed_texts", "passed_branches", "passed_notes", "conversations"} {
				if n := s.count(t, table+" WHERE principal = 'ann'"); n != 0 {
					t.Errorf("%d rows of %s are left", n, table)
				}
			}
			if in := onDisk(t, s, "ann's needle"); len(in) > 0 {
				t.Errorf("the text is in %v", in)
			}
			if ms, err := s.Messages(t.Context(), Scope{Principal: "bob", Conversation: bob.ID}); err != nil || len(ms) != 2 || ms[1].Content != "SECRET-2" {
				t.Errorf("%+v, %v", ms, err)
			}
		})
	}
}

// What no list has goes after a day, and what is too much the longest unused first.
func TestPassedIsPruned(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now, cfg.MaxBytesPerPrincipal = c.now, 5000 })
	main := history{setting: "agent"}.say("user: one")
	s.passed(t, "ann", main, "1")
	a := s.passed(t, "ann", main.say("assistant: 1", "user: two"), "2")
	s.passed(t, "ann", history{setting: "title"}.say("user: A title"), "title")
	c.forward(25 * time.Hour)
	if err := s.PrunePassed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.count(t, "conversations"); n != 1 {
		t.Errorf("%d conversations are left", n)
	}
	large := history{setting: "agent"}.say("user: " + strings.Repeat("x", 4920))
	s.passed(t, "ann", large, "1")
	b := s.passed(t, "ann", large.say("assistant: 1", "user: y"), "2")
	if err := s.PrunePassed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.list(t, "ann"); !slices.Equal(got, []string{b.ID}) {
		t.Errorf("left: %v, want %s without %s", got, b.ID, a.ID)
	}
}

// The first note of a digest stays, for each principal and kind.
func TestNotes(t *testing.T) {
	s := openTest(t)
	if got, err := s.AddNotes(t.Context(), mine, "fold", map[string]string{"a": "1", "b": "2"}); err != nil || fmt.Sprint(got) != "map[a:1 b:2]" {
		t.Fatalf("%v, %v", got, err)
	}
	if got, err := s.AddNotes(t.Context(), mine, "fold", map[string]string{"b": "other", "c": "3"}); err != nil || fmt.Sprint(got) != "map[b:2 c:3]" {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range []struct{ principal, kind, want string }{{"ann", "fold", "map[a:1 c:3]"}, {"ann", "hidden", "map[]"}, {"bob", "fold", "map[]"}} {
		if got, err := s.Notes(context.Background(), c.principal, c.kind, []string{"a", "c", "d"}); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}
