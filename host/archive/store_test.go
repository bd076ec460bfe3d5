package archive

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

func TestOpenMakesPrivateFiles(t *testing.T) {
	pgtest.SQLite(t)
	dir := filepath.Join(t.TempDir(), "state", "weir")
	s := reopen(t, Config{Path: filepath.Join(dir, "archive.db")})
	put(t, s, "text") // so that the log exists too
	for name, want := range map[string]os.FileMode{"": 0o700, "archive.db": 0o600, "archive.db-wal": 0o600, "archive.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%q has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

func TestOpenTightensAnOldFile(t *testing.T) {
	pgtest.SQLite(t)
	cfg := Config{Path: filepath.Join(t.TempDir(), "archive.db")}
	if err := os.WriteFile(cfg.Path, nil, 0o644); err != nil { // empty: a new archive
		t.Fatal(err)
	}
	reopen(t, cfg)
	info, err := os.Stat(cfg.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}

func TestOpenKeepsWhatWasThere(t *testing.T) {
	pgtest.SQLite(t)
	// Every one of these characters means something in a data source name.
	cfg := Config{Path: filepath.Join(t.TempDir(), "a b?mode=ro#%41&中文.db")}
	s := reopen(t, cfg)
	e := put(t, s, "kept over a restart")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, cfg)
	got, err := again.Get(t.Context(), mine, e.UUID)
	if err != nil || got.Full != e.Full {
		t.Errorf("got %q, error %v", got.Full, err)
	}
	if _, err := os.Stat(cfg.Path); err != nil {
		t.Error(err)
	}
}

// edit runs statements on a file with a plain connection.
func edit(t *testing.T, path string, stmts ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, stmt := range stmts {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	pgtest.SQLite(t)
	fresh := func(t *testing.T, path string) {
		s := reopen(t, Config{Path: path})
		for range 20 {
			put(t, s, strings.Repeat("a text of some pages ", 1000))
		}
		s.Close()
	}
	for name, row := range map[string]struct {
		make func(t *testing.T, path string)
		want error
	}{
		"a text file":       {func(t *testing.T, path string) { write(t, path, "# notes\nnot a database\n") }, ErrForeign},
		"a short text file": {func(t *testing.T, path string) { write(t, path, "hi") }, ErrForeign},
		"another program's database": {func(t *testing.T, path string) {
			edit(t, path, "CREATE TABLE users (id)")
		}, ErrForeign},
		"another program's database that says so": {func(t *testing.T, path string) {
			edit(t, path, "PRAGMA application_id = 42", "CREATE TABLE users (id)")
		}, ErrForeign},
		"a newer weir's archive": {func(t *testing.T, path string) {
			fresh(t, path)
			edit(t, path, "INSERT INTO archive_version (version_id, is_applied) VALUES (999, 1)")
		}, ErrNewer},
		"a file that lost its end": {func(t *testing.T, path string) {
			fresh(t, path)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()/2); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged},
		"a file with a page of rubbish": {func(t *testing.T, path string) {
			fresh(t, path)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte(strings.Repeat("\xde\xad", 2048)), 2*4096); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "archive.db")
			row.make(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), Config{Path: path})
			if !errors.Is(err, row.want) || !strings.Contains(err.Error(), path) {
				t.Fatalf("got %v, want %v with the path", err, row.want)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Error("the refused file was changed")
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenBadPaths(t *testing.T) {
	pgtest.SQLite(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "x")
	for name, path := range map[string]string{
		"empty":                   "",
		"a folder":                dir,
		"a folder that is a file": filepath.Join(dir, "file", "archive.db"),
	} {
		if s, err := Open(t.Context(), Config{Path: path}); err == nil {
			s.Close()
			t.Errorf("%s: opened", name)
		}
	}
}

func TestClosed(t *testing.T) {
	s := openTest(t)
	e := put(t, s, "text")
	for range 2 { // closing twice is allowed
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Put":     func() error { _, err := s.Put(ctx, Entry{Scope: mine, Tool: "t"}); return err },
		"Get":     func() error { _, err := s.Get(ctx, mine, e.UUID); return err },
		"List":    func() error { _, err := s.List(ctx, mine, Filter{}); return err },
		"Search":  func() error { _, err := s.Search(ctx, mine, "x", SearchOptions{}); return err },
		"Drop":    func() error { return s.Drop(ctx, mine, e.UUID) },
		"Compact": func() error { return s.Compact(ctx) },
		"Prune":   func() error { _, err := s.Prune(ctx, false); return err },
		"Stats":   func() error { _, err := s.Stats(ctx); return err },
	} {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s answers %v, want ErrClosed", name, err)
		}
	}
}

func TestCancelledCallsSayThatTheyWere(t *testing.T) {
	s := openTest(t)
	e := put(t, s, "text")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, Entry{Scope: mine, Tool: "t", Full: "never"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Put answers %v", err)
	}
	if _, err := s.Get(ctx, mine, e.UUID); !errors.Is(err, context.Canceled) {
		t.Errorf("Get answers %v", err)
	}
	if list, err := s.List(t.Context(), mine, Filter{}); err != nil || len(list) != 1 {
		t.Errorf("%d entries, error %v; want the one that was put before", len(list), err)
	}
}

// The statements that run in a conversation must find their rows by an index,
// whatever the planner of a later SQLite prefers.
func TestNoStatementReadsTheWholeTable(t *testing.T) {
	pgtest.SQLite(t)
	s := openTest(t)
	where, _ := s.within(mine, false)
	everywhere, _ := s.within(mine, true)
	const order = " ORDER BY created_at DESC, uuid DESC LIMIT 50"
	for stmt, index := range map[string]string{
		getSQL:       "sqlite_autoindex_tool_result_archive_1",
		identicalSQL: "tool_result_archive_text",
		textIDSQL:    "result_texts_digest",
		"SELECT 1 FROM tool_result_archive WHERE text_id = ?":                              "tool_result_archive_text", // of the triggers
		"SELECT " + entryColumns + " FROM tool_result_archive WHERE " + where + order:      "tool_result_archive_conversation",
		"SELECT " + entryColumns + " FROM tool_result_archive WHERE " + everywhere + order: "tool_result_archive_principal",
	} {
		rows, err := s.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+stmt, make([]any, strings.Count(stmt, "?"))...)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		rows.Close()
		if p := strings.Join(plan, "; "); !strings.Contains(p, index) || strings.Contains(p, "SCAN") || strings.Contains(p, "B-TREE") {
			t.Errorf("%.60s… is planned as %s, want a search of %s", stmt, p, index)
		}
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.MaxAge, cfg.Now = time.Hour, c.now })
	e := put(t, s, strings.Repeat("text ", 1000))
	c.forward(2 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx, time.Millisecond) }()
	for {
		if _, err := s.Get(t.Context(), mine, e.UUID); errors.Is(err, ErrExpired) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run returns %v", err)
	}
}
