package store

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/script/journal"
)

func ensure(t testing.TB, s *fixture, sc Scope) {
	t.Helper()
	if _, err := s.EnsureConversation(t.Context(), Conversation{ID: sc.Conversation, Principal: sc.Principal}); err != nil {
		t.Fatal(err)
	}
}

func TestEnsureConversation(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now = c.now })
	want := Conversation{ID: "c1", Principal: "ann", Title: "问题", Profile: "default", Created: c.at, Updated: c.at}
	first, err := s.EnsureConversation(t.Context(), Conversation{ID: "c1", Principal: "ann", Title: "问题", Profile: "default"})
	if err != nil || first != want {
		t.Errorf("got %+v, error %v", first, err)
	}
	c.forward(time.Hour)
	again, err := s.EnsureConversation(t.Context(), Conversation{ID: "c1", Principal: "ann", Title: "another"})
	if err != nil || again != want {
		t.Errorf("again: %+v, error %v", again, err)
	}
	made, err := s.EnsureConversation(t.Context(), Conversation{Principal: "ann"})
	if err != nil || uuid.Validate(made.ID) != nil {
		t.Errorf("made %+v, error %v", made, err)
	}
	if got, err := s.EnsureConversation(t.Context(), Conversation{ID: "c1", Principal: "bob"}); err != ErrNotFound || got != (Conversation{}) {
		t.Errorf("another's id: %+v, error %v", got, err)
	}
	if _, err := s.EnsureConversation(t.Context(), Conversation{ID: "c3"}); err == nil {
		t.Error("nobody's conversation was made")
	}
}

func TestConversations(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now = c.now })
	for _, id := range []string{"a", "b", "c"} {
		ensure(t, s, Scope{Principal: "ann", Conversation: id})
		c.forward(time.Minute)
	}
	ensure(t, s, Scope{Principal: "bob", Conversation: "d"})
	c.forward(time.Minute)
	if err := s.Append(t.Context(), Scope{Principal: "ann", Conversation: "a"}, []Message{{Role: "user", Content: "hi"}, {Role: "assistant"}}); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]string{0: "a c b", -1: "a c b", 2: "a c"} {
		list, err := s.Conversations(t.Context(), "ann", limit)
		var ids []string
		for _, conv := range list {
			ids = append(ids, conv.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != want {
			t.Errorf("limit %d lists %s, error %v; want %s", limit, got, err, want)
		}
		if list[0].Messages != 2 || !list[0].Updated.Equal(c.at) {
			t.Errorf("the newest: %+v", list[0])
		}
	}
	if list, err := s.Conversations(t.Context(), "eve", 0); err != nil || len(list) != 0 {
		t.Errorf("a newcomer has %v, error %v", list, err)
	}
}

func TestConversationStrangers(t *testing.T) {
	s := openTest(t)
	ensure(t, s, mine)
	if err := s.Append(t.Context(), mine, []Message{{Role: "user", Content: "secret"}}); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, sc := range strangers {
		for name, call := range map[string]func() error{
			"Conversation":       func() error { _, err := s.Conversation(ctx, sc); return err },
			"Messages":           func() error { _, err := s.Messages(ctx, sc); return err },
			"Append":             func() error { return s.Append(ctx, sc, []Message{{Role: "user"}}) },
			"Replace":            func() error { return s.Replace(ctx, sc, 1, nil) },
			"Rename":             func() error { return s.Rename(ctx, sc, "x") },
			"Export":             func() error { return s.Export(ctx, sc, t.Output()) },
			"DeleteConversation": func() error { _, err := s.DeleteConversation(ctx, sc); return err },
		} {
			if err := call(); err != ErrNotFound {
				t.Errorf("%s as %v answers %v", name, sc, err)
			}
		}
	}
	if msgs, err := s.Messages(ctx, mine); err != nil || len(msgs) != 1 || msgs[0].Content != "secret" {
		t.Errorf("afterwards: %v, error %v", msgs, err)
	}
}

func TestRename(t *testing.T) {
	s := openTest(t)
	ensure(t, s, mine)
	if err := s.Rename(t.Context(), mine, "新的标题"); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Conversation(t.Context(), mine); err != nil || c.Title != "新的标题" {
		t.Errorf("%+v, error %v", c, err)
	}
}

func TestAppendAssigns(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now = c.now })
	ensure(t, s, mine)
	earlier := c.at.Add(-time.Hour)
	first := []Message{
		{Turn: 1, Role: "user", Content: "权限怎么配置？", Created: earlier},
		{Turn: 1, Role: "assistant", Content: "like this", Thinking: "hm", Model: "m", Body: json.RawMessage(`{"role":"assistant"}`), Seq: 99},
	}
	if err := s.Append(t.Context(), mine, first); err != nil {
		t.Fatal(err)
	}
	if first[0].Seq != 1 || first[1].Seq != 2 || !first[0].Created.Equal(earlier) || !first[1].Created.Equal(c.at) {
		t.Errorf("assigned %+v", first)
	}
	second := []Message{{Turn: 2, Role: "user"}}
	if err := s.Append(t.Context(), mine, second); err != nil {
		t.Fatal(err)
	}
	got, err := s.Messages(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(first, second...), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := s.Append(t.Context(), mine, nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

func TestReplaceRefusesHoles(t *testing.T) {
	s := openTest(t)
	ensure(t, s, mine)
	if err := s.Append(t.Context(), mine, []Message{{Role: "user"}, {Role: "assistant"}}); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{-1, 4} { // 0 appends
		if err := s.Replace(t.Context(), mine, from, []Message{{Role: "note"}}); err == nil {
			t.Errorf("from %d: taken", from)
		}
	}
	if msgs, err := s.Messages(t.Context(), mine); err != nil || len(msgs) != 2 {
		t.Errorf("%d messages are left, error %v", len(msgs), err)
	}
}

// Append and Replace do what a slice does.
func TestMessagesAreASlice(t *testing.T) {
	quickly(t, 40)
	s := openTest(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		sc := Scope{Principal: "ann", Conversation: strings.Repeat("c", n)}
		ensure(t, s, sc)
		var want []string
		draw := func(rt *rapid.T) (msgs []Message, texts []string) {
			for range rapid.IntRange(0, 3).Draw(rt, "count") {
				text := rapid.String().Draw(rt, "text")
				msgs, texts = append(msgs, Message{Role: "user", Content: text}), append(texts, text)
			}
			return msgs, texts
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				msgs, texts := draw(rt)
				if err := s.Append(t.Context(), sc, msgs); err != nil {
					rt.Fatal(err)
				}
				want = append(want, texts...)
			},
			"replace": func(rt *rapid.T) {
				from := rapid.IntRange(1, len(want)+1).Draw(rt, "from")
				msgs, texts := draw(rt)
				if err := s.Replace(t.Context(), sc, from, msgs); err != nil {
					rt.Fatal(err)
				}
				want = append(want[:from-1:from-1], texts...)
			},
			"": func(rt *rapid.T) {
				got, err := s.Messages(t.Context(), sc)
				if err != nil || len(got) != len(want) {
					rt.Fatalf("%d messages, want %d; error %v", len(got), len(want), err)
				}
				for i, m := range got {
					if m.Seq != i+1 || m.Content != want[i] {
						rt.Fatalf("message %d is %+v, want %q", i+1, m, want[i])
					}
				}
			},
		})
	})
}

func TestDeleteConversation(t *testing.T) {
	s := openTest(t)
	other := Scope{Principal: "ann", Conversation: "c2"}
	scripts, err := journal.Open(t.Context(), s.db, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range []Scope{mine, other} {
		ensure(t, s, sc)
		if err := scripts.Add(t.Context(), journal.Script{ID: sc.Conversation, Principal: sc.Principal, Conversation: sc.Conversation, Script: json.RawMessage(`"script-needle ` + sc.Conversation + `"`)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), sc, []Message{{Role: "user", Content: "message-needle " + sc.Conversation, Body: json.RawMessage(`{"body-needle":1}`)}}); err != nil {
			t.Fatal(err)
		}
		putEntry(t, s, archive.Entry{Scope: sc, Tool: "run", Input: json.RawMessage(`{"x":"input-needle ` + sc.Conversation + `"}`), Full: strings.Repeat("text-needle "+sc.Conversation+" ", 2000)})
		if err := s.LogCalls(t.Context(), []Call{{Scope: sc, Tool: "use-needle-" + sc.Conversation}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.DeleteConversation(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	for _, needle := range []string{"message-needle c1", "input-needle c1", "text-needle c1", "use-needle-c1", "script-needle c1"} {
		if in := onDisk(t, s, needle); in != nil {
			t.Errorf("%q is left in the files %q", needle, in)
		}
	}
	if _, _, err := scripts.Get(t.Context(), other.Principal, other.Conversation); err != nil {
		t.Errorf("the script of another conversation: %v", err)
	}
	if _, err := s.DeleteConversation(t.Context(), mine); err != ErrNotFound {
		t.Errorf("deleting twice: %v", err)
	}
	if _, err := s.Messages(t.Context(), mine); err != ErrNotFound {
		t.Errorf("its messages: %v", err)
	}
	msgs, err := s.Messages(t.Context(), other)
	uses, err2 := s.Calls(t.Context(), other, time.Time{})
	list, err3 := s.archive.List(t.Context(), other, archive.Filter{})
	if len(msgs) != 1 || len(uses) != 1 || len(list) != 1 || err != nil || err2 != nil || err3 != nil {
		t.Errorf("of the other are left %d messages, %d uses, %d archives (%v, %v, %v)", len(msgs), len(uses), len(list), err, err2, err3)
	}
}
