package archive

import (
	"encoding/json"
	"strings"
	"testing"
)

// Delete leaves nothing on the disk, whatever form the text has there.
func TestDelete(t *testing.T) {
	for name, prepare := range map[string]func(*SQLite, Entry) error{
		"as it came": func(*SQLite, Entry) error { return nil },
		"loaded":     func(s *SQLite, e Entry) error { _, err := s.Read(t.Context(), mine, e.UUID, Part{}); return err },
		"compressed": func(s *SQLite, _ Entry) error { return s.Compact(t.Context()) },
	} {
		s := openTest(t)
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
