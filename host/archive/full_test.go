package archive

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// When the disk is full, Put says so, what was there stays readable, loads are
// answered, and after something was deleted there is room again.
func TestDiskFull(t *testing.T) {
	pgtest.SQLite(t)
	cfg := Config{Path: filepath.Join(t.TempDir(), "archive.db")}
	s, err := open(t.Context(), cfg, sqlite.Faults{MaxPages: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var kept []Entry
	for {
		e, err := s.Put(t.Context(), Entry{Scope: mine, Tool: "run", Full: strings.Repeat(string(rune('a'+len(kept))), 50_000)})
		if err != nil {
			if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "full") {
				t.Fatalf("got %v", err)
			}
			break
		}
		if kept = append(kept, e); len(kept) > 100 {
			t.Fatal("the file grows over its bound")
		}
	}
	if len(kept) < 2 {
		t.Fatalf("only %d fit", len(kept))
	}
	if list, err := s.List(t.Context(), mine, Filter{Limit: -1}); err != nil || len(list) != len(kept) {
		t.Errorf("%d rows for %d acknowledged, error %v", len(list), len(kept), err)
	}
	for _, e := range kept {
		if page, err := s.Read(t.Context(), mine, e.UUID, Part{Offset: 49_990}); err != nil || page.Text != e.Full[49_990:] {
			t.Errorf("reading on a full disk: %q, error %v", page.Text, err)
		}
	}
	if err := s.Drop(t.Context(), mine, kept[0].UUID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), Entry{Scope: mine, Tool: "run", Full: strings.Repeat("z", 40_000)}); err != nil {
		t.Errorf("after a deletion: %v", err)
	}
}

// A file that may not be written opens, reads, and refuses every write as
// ErrFull.
func TestReadOnly(t *testing.T) {
	pgtest.SQLite(t)
	cfg := Config{Path: filepath.Join(t.TempDir(), "archive.db")}
	s := reopen(t, cfg)
	e := put(t, s, fiveLines)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), cfg, sqlite.Faults{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if page, err := s.Read(t.Context(), mine, e.UUID, Part{First: 2, Last: 2}); err != nil || page.Text != "two\n" || page.Entry.Loads != 0 {
		t.Errorf("Read: %+v, error %v", page, err)
	}
	if list, err := s.List(t.Context(), mine, Filter{}); err != nil || len(list) != 1 {
		t.Errorf("List: %d entries, error %v", len(list), err)
	}
	for name, call := range map[string]func() error{
		"Put":     func() error { _, err := s.Put(t.Context(), Entry{Scope: mine, Tool: "run", Full: "x"}); return err },
		"Drop":    func() error { return s.Drop(t.Context(), mine, e.UUID) },
		"Compact": func() error { return s.Compact(t.Context()) },
		"deleting": func() error {
			_, err := deleteConversation(t, s, mine)
			return sqlite.Wrap(t.Context(), "deleting", err)
		},
	} {
		if err := call(); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s answers %v", name, err)
		}
	}
}
