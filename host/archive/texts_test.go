package archive

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// texts returns the number of texts on the disk.
func texts(t *testing.T, s *SQLite) (n int) {
	t.Helper()
	if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM result_texts").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A principal's results with the same text share it; another principal has an own copy,
// so that the size does not show what others have.
func TestTextsAreStoredOnce(t *testing.T) {
	s := openTest(t)
	full := strings.Repeat("the same line\n", 5000)
	var ids []string
	for i := range 20 {
		ids = append(ids, putEntry(t, s, Entry{Scope: mine, Tool: "run", Input: fmt.Appendf(nil, `{"n":%d}`, i), Full: full}).UUID)
	}
	putEntry(t, s, Entry{Scope: strangers[0], Tool: "run", Full: full})
	if n := texts(t, s); n != 1 {
		t.Errorf("%d texts, want 1", n)
	}
	other := putEntry(t, s, Entry{Scope: strangers[1], Tool: "run", Full: full})
	if n := texts(t, s); n != 2 {
		t.Errorf("%d texts of two principals, want 2", n)
	}
	for _, principal := range []string{"ann", "bob"} {
		if bytes, _, err := s.Usage(t.Context(), principal); err != nil || bytes != int64(len(full)) {
			t.Errorf("%s uses %d bytes, want %d: %v", principal, bytes, len(full), err)
		}
	}
	st, err := s.Stats(t.Context())
	if err != nil || st.Archives != 22 || st.TextBytes != 22*int64(len(full)) || st.StoredBytes != 2*int64(len(full)) {
		t.Errorf("%+v, %v", st, err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if got, err := s.Get(t.Context(), mine, id); err != nil || got.Full != full {
			t.Errorf("%s: %d bytes, %v", id, len(got.Full), err)
		}
	}
	// A text that is put again after it was compressed is the compressed one.
	again := putEntry(t, s, Entry{Scope: mine, Tool: "run", Full: full})
	if got, err := s.Get(t.Context(), mine, again.UUID); err != nil || got.Full != full || texts(t, s) != 2 {
		t.Errorf("%d bytes, %d texts, %v", len(got.Full), texts(t, s), err)
	}
	if size, err := deleteConversation(t, s, mine); err != nil || size != (Size{21, 0}) || texts(t, s) != 2 {
		t.Errorf("another conversation has the text, and deleting frees %+v: %v", size, err)
	}
	if size, err := deleteConversation(t, s, strangers[0]); err != nil || size.Results != 1 || size.Bytes == 0 || texts(t, s) != 1 {
		t.Errorf("deleting the last one frees %+v: %v", size, err)
	}
	if got, err := s.Get(t.Context(), strangers[1], other.UUID); err != nil || got.Full != full {
		t.Errorf("bob's: %d bytes, %v", len(got.Full), err)
	}
}

// A shared text is on the disk until the last entry with it was deleted or pruned, and
// not longer.
func TestTheLastEntryTakesTheText(t *testing.T) {
	for name, remove := range map[string]func(*SQLite, *clock, Entry) error{
		"deleted":  func(s *SQLite, _ *clock, e Entry) error { return s.Delete(t.Context(), e.Scope, e.UUID) },
		"dropped":  func(s *SQLite, _ *clock, e Entry) error { return s.Drop(t.Context(), e.Scope, e.UUID) },
		"with all": func(s *SQLite, _ *clock, e Entry) error { _, err := deleteConversation(t, s, e.Scope); return err },
		"pruned": func(s *SQLite, c *clock, e Entry) error {
			c.at = e.Created.Add(time.Hour + time.Minute)
			_, err := s.Prune(t.Context(), false)
			return err
		},
	} {
		c := newClock()
		s := openTest(t, func(cfg *Config) { cfg.Now, cfg.MaxAge = c.now, time.Hour })
		full := strings.Repeat("shared-needle ", 5000)
		first := put(t, s, full)
		c.forward(30 * time.Minute)
		last := putEntry(t, s, Entry{Scope: strangers[0], Tool: "other", Full: full})
		if err := remove(s, c, first); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), first.Scope, first.UUID); err == nil {
			t.Errorf("%s: the first is still there", name)
		}
		if got, err := s.Get(t.Context(), last.Scope, last.UUID); err != nil || got.Full != full {
			t.Errorf("%s: the other lost its text: %v", name, err)
		}
		if err := remove(s, c, last); err != nil {
			t.Fatal(err)
		}
		if err := s.db.TruncateLog(t.Context()); err != nil {
			t.Fatal(err)
		}
		if in := onDisk(t, s, "shared-needle"); in != nil || texts(t, s) != 0 {
			t.Errorf("%s: left in the files %q, %d texts", name, in, texts(t, s))
		}
	}
}

// A bound in bytes counts a text once; an old entry with the text of a newer one costs
// nothing and stays.
func TestPruneCountsTextsOnce(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now, cfg.MaxBytesPerPrincipal = c.now, 2500 })
	full := strings.Repeat("x", 1000)
	var list []Entry
	for _, text := range []string{full, "y" + full, full, full} {
		list = append(list, put(t, s, text))
		c.forward(time.Minute)
	}
	for _, dry := range []bool{true, false} {
		if r, err := s.Prune(t.Context(), dry); err != nil || len(r.Pruned) != 0 || r.Kept != 4 || r.KeptBytes != 2001 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	s.Configure(Config{MaxBytesPerPrincipal: 1500})
	r, err := s.Prune(t.Context(), false)
	if err != nil || len(r.Pruned) != 1 || r.Pruned[0].UUID != list[1].UUID || r.Bytes != 1001 || r.Kept != 3 || r.KeptBytes != 1000 {
		t.Errorf("%+v, %v", r, err)
	}
	s.Configure(Config{MaxBytesPerPrincipal: 500})
	if r, err = s.Prune(t.Context(), false); err != nil || len(r.Pruned) != 3 || r.Bytes != 1000 || texts(t, s) != 0 {
		t.Errorf("%+v, %d texts, %v", r, texts(t, s), err)
	}
}

// A file of a version before the tables were squashed is refused and not changed.
func TestOldTablesAreRefused(t *testing.T) {
	pgtest.SQLite(t)
	s := openTest(t)
	if err := s.db.Transact(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), "UPDATE archive_version SET version_id = 3 WHERE version_id > 3")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	cfg := *s.cfg()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if old, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "unreleased version of weir") {
		t.Errorf("opened: %v, %v", old, err)
	}
	if _, err := Examine(t.Context(), cfg.Path); err == nil || !strings.Contains(err.Error(), "move the file away") {
		t.Errorf("examined: %v", err)
	}
}

// An entry that is described later reads the same as one that was described at once,
// whoever reads it first.
func TestDescribedLater(t *testing.T) {
	full := strings.Repeat("a line of the text\n", 300) + "see https://example.com/a\n"
	for name, read := range map[string]func(*SQLite, Entry) (Entry, error){
		"get":  func(s *SQLite, e Entry) (Entry, error) { return s.Get(t.Context(), mine, e.UUID) },
		"find": func(s *SQLite, e Entry) (Entry, error) { return s.Find(t.Context(), "ann", e.UUID) },
		"list": func(s *SQLite, _ Entry) (Entry, error) {
			list, err := s.List(t.Context(), mine, Filter{})
			return list[0], err
		},
		"a query for the summary": func(s *SQLite, e Entry) (Entry, error) {
			list, err := s.List(t.Context(), mine, Filter{Query: "A LINE OF"})
			if len(list) == 0 {
				return Entry{}, err
			}
			return list[0], err
		},
		"search": func(s *SQLite, e Entry) (Entry, error) {
			r, err := s.Search(t.Context(), mine, "line", SearchOptions{})
			return r.Hits[0].Entry, err
		},
		"put again": func(s *SQLite, e Entry) (Entry, error) {
			got, _, err := s.PutOnce(t.Context(), Entry{Scope: mine, Tool: "run", Full: full})
			return got, err
		},
	} {
		s := openTest(t)
		want := putEntry(t, openTest(t), Entry{Scope: mine, Tool: "run", Full: full})
		e, again, err := s.PutOnce(t.Context(), Entry{Scope: mine, Tool: "run", Full: full, Later: true})
		if err != nil || again || e.Summary != "" || e.Sources != nil || want.Summary == "" || len(want.Sources) != 1 {
			t.Fatalf("%+v, %t, %v", e, again, err)
		}
		if bytes, _, err := s.Usage(t.Context(), "ann"); err != nil || bytes > int64(len(full)/5) {
			t.Errorf("%s: %d bytes of %d are stored: %v", name, bytes, len(full), err)
		}
		if page, err := s.Read(t.Context(), mine, e.UUID, Part{}); name == "get" && (err != nil || page.Text != full) {
			t.Errorf("%d characters, %v", page.Chars, err)
		}
		for range 2 { // the second time it is stored
			got, err := read(s, e)
			if err != nil || got.UUID != e.UUID || got.Later || got.Summary != want.Summary || fmt.Sprint(got.Sources) != fmt.Sprint(want.Sources) {
				t.Errorf("%s: %+v, %v; want %q, %v", name, got, err, want.Summary, want.Sources)
			}
		}
		var left int
		if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM tool_result_archive WHERE result_summary IS NULL OR sources IS NULL").Scan(&left); err != nil || left != 0 {
			t.Errorf("%s: %d rows are not described: %v", name, left, err)
		}
		if err := s.Delete(t.Context(), mine, e.UUID); err != nil {
			t.Fatal(err)
		}
	}
}
