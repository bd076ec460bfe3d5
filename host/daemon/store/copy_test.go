package store

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// Everything is the same after it was copied from PostgreSQL to a file and back, and can
// be written to.
func TestCopy(t *testing.T) {
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	s := openTest(t)
	long := strings.Repeat("a line of a text\n", 500)
	for _, e := range []archive.Entry{
		{Full: ""}, {Full: "nul \x00 \ufdd0 end"}, {Full: long}, {Full: long + "!", Later: true},
		{Full: "parts", Parts: []tool.Blob{{MIME: "image/png", Data: []byte{0, 1, 255}}}, Raw: []byte("raw\xff")},
	} {
		e.Scope, e.Tool = mine, "run"
		putEntry(t, s, e)
	}
	if err := s.archive.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, s, "not compressed")
	if err := s.Begin(t.Context(), Conversation{ID: mine.Conversation, Principal: mine.Principal, Title: "标题 \xff"}, []Message{{Role: "user", Content: "a\x00b"}}); err != nil {
		t.Fatal(err)
	}
	cost := 0.1
	if err := s.Finish(t.Context(), mine, Turn{Messages: []Message{{Role: "assistant", Content: "c"}}, Calls: []Call{{Scope: mine, Tool: "run", Code: "ok"}},
		Usage: &TurnUsage{Turn: 1, Prompt: 3, Cost: &cost, Currency: "CNY"}, Fingerprints: []string{"f"}, Trace: &Trace{Body: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddUsage(t.Context(), []Increment{{Principal: "ann", DayUsage: DayUsage{Day: "2026-01-02", Requests: 2, Costs: []Cost{{0.5, "CNY"}}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(t.Context(), "INSERT INTO turn_steps (conversation_id, seq, body) VALUES (?, 1, '{}')", mine.Conversation); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(t.Context(), "INSERT INTO turn_pieces (conversation_id, seq, body) VALUES (?, 1, '{}')", mine.Conversation); err != nil {
		t.Fatal(err)
	}
	passed := history{setting: "agent"}.say("user: one\x00")
	s.passed(t, "ann", passed, "1")
	s.passed(t, "ann", passed.say("assistant: 1", "user: two"), "2")
	if _, err := s.AddNotes(t.Context(), mine, "fold", map[string]string{"a": "1"}); err != nil {
		t.Fatal(err)
	}
	text := func(s *fixture) string {
		var b bytes.Buffer
		if err := s.Export(t.Context(), mine, &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := text(s)
	for _, cfg := range []archive.Config{{Path: filepath.Join(t.TempDir(), "archive.db")}, {URL: pgtest.URL(t)}} {
		to, err := sqlite.Open(t.Context(), sqlite.Options{Path: cfg.Path, URL: cfg.URL}, archive.Schema(), Schema(), journal.Schema())
		if err != nil {
			t.Fatal(err)
		}
		copied, err := sqlite.Copy(t.Context(), s.db, to)
		if err != nil {
			t.Fatal(err)
		}
		if both, err := sqlite.Compare(t.Context(), to, s.db); err != nil || !slices.Equal(both[0], both[1]) || !slices.Equal(both[0], copied) {
			t.Errorf("compared: %v, %v", both, err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		next := reopen(t, cfg)
		for _, code := range []string{"other", "ok"} {
			if _, err := next.db.ExecContext(t.Context(), "UPDATE tool_calls SET code = ?", code); err != nil {
				t.Fatal(err)
			}
			if both, err := sqlite.Compare(t.Context(), next.db, s.db); err != nil || slices.Equal(both[0], both[1]) != (code == "ok") {
				t.Errorf("compared with code %s: %v, %v", code, both, err)
			}
		}
		if got := text(next); got != want {
			t.Errorf("copied:\n%s\nwant:\n%s", got, want)
		}
		if _, again, err := next.archive.PutOnce(t.Context(), archive.Entry{Scope: mine, Tool: "run", Full: "not compressed"}); err != nil || !again {
			t.Errorf("put again: %v, %v", again, err)
		}
		if left, err := next.Unended(t.Context()); err != nil || !next.Shared() && (len(left) != 1 || len(left[0].Steps) != 1) {
			t.Errorf("%v, %v", left, err)
		}
		if found, err := next.FindByFingerprint(t.Context(), "ann", "f"); err != nil || len(found) != 1 {
			t.Errorf("%v, %v", found, err)
		}
		if _, err := sqlite.Copy(t.Context(), s.db, next.db); !errors.Is(err, sqlite.ErrNotEmpty) {
			t.Errorf("a database with rows was copied into: %v", err)
		}
		s = next
	}
	if err := s.LogCalls(t.Context(), []Call{{Scope: mine, Tool: "run"}}); err != nil {
		t.Errorf("a call after those that were copied: %v", err)
	}
	put(t, s, "one more")
}

// A query that is not read to its end does not fetch the rest, and the next one works.
func TestRowsLeft(t *testing.T) {
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	var sent atomic.Int64 // by the server, in bytes
	s := reopen(t, archive.Config{URL: pgtest.Between(t, pgtest.URL(t), func(to io.Writer, piece []byte, answer bool) error {
		if answer {
			sent.Add(int64(len(piece)))
		}
		_, err := to.Write(piece)
		return err
	})})
	for range 3 {
		n := 0
		err := s.db.Each(t.Context(), "SELECT repeat('x', 1000000) FROM generate_series(1, 100000)", nil, func(row sqlite.Row) error {
			n++
			return errEnough
		})
		if !errors.Is(err, errEnough) || n != 1 {
			t.Fatalf("%d rows, %v", n, err)
		}
	}
	if n := sent.Load(); n > 1<<30 { // of 300 GB
		t.Errorf("the server sent %d bytes", n)
	}
	put(t, s, "after it")
}
