package archive

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// marked lists the ids of the conversations that bear a mark.
func marked(t *testing.T, s *Store, principal, mark string) string {
	t.Helper()
	list, err := s.Marked(t.Context(), principal, mark)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return strings.Join(ids, " ")
}

func TestMarks(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now = c.now })
	second, theirs := Scope{Principal: "ann", Conversation: "c2"}, Scope{Principal: "bob", Conversation: "c3"}
	for _, sc := range []Scope{mine, second, theirs} {
		ensure(t, s, sc)
		if err := s.Mark(t.Context(), sc, []string{"same", "same", "", "of " + sc.Conversation}); err != nil {
			t.Fatal(err)
		}
		c.forward(time.Minute)
	}
	for _, row := range []struct{ principal, mark, want, why string }{
		{"ann", "same", "c2 c1", "the one used last comes first, and nobody else's comes"},
		{"ann", "of c1", "c1", "one of several marks is enough"},
		{"bob", "same", "c3", "each principal has their own"},
		{"bob", "of c1", "", "another's mark finds nothing"},
		{"ann", "", "", "no mark finds nothing"},
		{"", "same", "", "nobody finds nothing"},
	} {
		if got := marked(t, s, row.principal, row.mark); got != row.want {
			t.Errorf("%s: found %q, want %q", row.why, got, row.want)
		}
	}
	if err := s.Append(t.Context(), mine, []Message{{Role: "user"}}); err != nil {
		t.Fatal(err)
	}
	if got := marked(t, s, "ann", "same"); got != "c1 c2" {
		t.Errorf("after c1 was used: %q", got)
	}
	if err := s.Mark(t.Context(), mine, []string{"new"}); err != nil {
		t.Fatal(err)
	}
	if a, b := marked(t, s, "ann", "same"), marked(t, s, "ann", "new"); a != "c2" || b != "c1" {
		t.Errorf("new marks replace the old: %q, %q", a, b)
	}
	for _, sc := range strangers[1:] {
		if err := s.Mark(t.Context(), sc, []string{"new"}); err != ErrNotFound {
			t.Errorf("marking %+v: %v", sc, err)
		}
	}
}

func TestMarksGoWithTheirConversation(t *testing.T) {
	s := openTest(t)
	ensure(t, s, mine)
	if err := s.Mark(t.Context(), mine, []string{"mark-needle"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteConversation(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if got := marked(t, s, "ann", "mark-needle"); got != "" {
		t.Errorf("still marked: %q", got)
	}
	if in := onDisk(t, s, "mark-needle"); in != nil {
		t.Errorf("the mark is left in the files %q", in)
	}
}

// Delete leaves nothing on the disk, whatever form the text has there.
func TestDelete(t *testing.T) {
	for name, prepare := range map[string]func(*Store, Entry) error{
		"as it came": func(*Store, Entry) error { return nil },
		"loaded":     func(s *Store, e Entry) error { _, err := s.Read(t.Context(), mine, e.UUID, Part{}); return err },
		"compressed": func(s *Store, _ Entry) error { return s.Compact(t.Context()) },
	} {
		s := openTest(t)
		ensure(t, s, mine)
		stays := put(t, s, strings.Repeat("stays ", 3000))
		e := putEntry(t, s, Entry{Scope: mine, Tool: "run", Input: json.RawMessage(`{"q":"input-needle"}`), Full: "summary-needle " + strings.Repeat("text-needle ", 3000)})
		if err := prepare(s, e); err != nil {
			t.Fatal(err)
		}
		for _, sc := range strangers {
			if err := s.Delete(t.Context(), sc, e.UUID); err != ErrNotFound {
				t.Errorf("%s: %+v deletes it: %v", name, sc, err)
			}
		}
		if err := s.Delete(t.Context(), mine, e.UUID); err != nil {
			t.Fatal(err)
		}
		for _, needle := range []string{"text-needle", "summary-needle", "input-needle", e.UUID} {
			if in := onDisk(t, s, needle); in != nil {
				t.Errorf("%s: %q is left in the files %q", name, needle, in)
			}
		}
		if err := s.Delete(t.Context(), mine, e.UUID); err != ErrNotFound {
			t.Errorf("%s: deleted twice: %v", name, err)
		}
		if got, err := s.Get(t.Context(), mine, stays.UUID); err != nil || got.Full != strings.Repeat("stays ", 3000) {
			t.Errorf("%s: the other is %d characters: %v", name, got.Chars, err)
		}
	}
}

func TestSearchEverywhere(t *testing.T) {
	s := openTest(t)
	for _, sc := range []Scope{mine, {Principal: "ann", Conversation: "c2"}, {Principal: "bob", Conversation: "c1"}} {
		putEntry(t, s, Entry{Scope: sc, Tool: "run", Full: "a needle of " + sc.Principal})
	}
	r, err := s.Search(t.Context(), Scope{Principal: "ann"}, "needle", SearchOptions{Everywhere: true})
	if err != nil || len(r.Hits) != 2 || r.Hits[0].Entry.Scope.Principal != "ann" || r.Hits[1].Entry.Scope.Principal != "ann" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := s.Search(t.Context(), mine, "needle", SearchOptions{}); err != nil || len(r.Hits) != 1 {
		t.Errorf("in one conversation: %+v, %v", r, err)
	}
}
