package sqlite

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

func TestOpenSettings(t *testing.T) {
	f := openTest(t, Faults{})
	for _, row := range []struct {
		pool   *sql.DB
		pragma string
		want   string
	}{
		{f.write, "journal_mode", "wal"},
		{f.write, "synchronous", "2"},   // FULL: an acknowledged commit survives a power cut
		{f.write, "auto_vacuum", "2"},   // INCREMENTAL: files shrink
		{f.write, "secure_delete", "1"}, // deleted texts are overwritten
		{f.write, "foreign_keys", "1"},
		{f.write, "busy_timeout", "5000"},
		{f.write, "temp_store", "2"}, // MEMORY: no text in temporary files
		{f.write, "application_id", strconv.Itoa(applicationID)},
		{f.read, "query_only", "1"}, // a reader cannot write by mistake
		{f.read, "foreign_keys", "1"},
	} {
		var got string
		if err := row.pool.QueryRow("PRAGMA " + row.pragma).Scan(&got); err != nil || got != row.want {
			t.Errorf("%s = %q, error %v; want %q", row.pragma, got, err, row.want)
		}
	}
	// Before 3.52 a log reset could corrupt the file.
	var version string
	if err := f.read.QueryRow("SELECT sqlite_version()").Scan(&version); err != nil || version < "3.52" {
		t.Errorf("SQLite %s, error %v", version, err)
	}
}

// unreleased creates a file as versions before the first release did.
func unreleased(t *testing.T) (path string) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", "unreleased.sql"))
	if err != nil {
		t.Fatal(err)
	}
	tables, _, _ := strings.Cut(string(script), "-- +goose Down")
	path = filepath.Join(t.TempDir(), "archive.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, stmt := range []string{
		"PRAGMA application_id = " + strconv.Itoa(applicationID), "PRAGMA journal_mode = WAL", tables,
		"CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1), (1, 1)",
		"INSERT INTO tool_result_archive (uuid, principal, conversation_id, tool_name, created_at, result_sha256, result_length, result_lines, result_bytes, stored_bytes, result_full) VALUES ('u', 'ann', 'c1', 'run', 1, '', 4, 1, 4, 4, 'text')",
	} {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// A file of a version before the first release is refused with a sentence that says
// what to do, and is not changed.
func TestUnreleasedFilesAreRefused(t *testing.T) {
	path := unreleased(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, openErr := Open(t.Context(), Options{Path: path}, notes())
	_, examineErr := Examine(t.Context(), path, []Schema{notes()}, nil)
	for name, err := range map[string]error{"Open": openErr, "Examine": examineErr} {
		if !errors.Is(err, ErrUnreleased) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "move the file away") {
			t.Errorf("%s: %v", name, err)
		}
		if zh := msg.In(tool.Zh, msg.Of(err)); !strings.Contains(zh, "移走") || strings.Contains(zh, "unreleased") {
			t.Errorf("%s in Chinese: %s", name, zh)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed: %v", err)
	}
}

// Two owners have tables in one file, each with its own version.
func TestSchemasAreIndependent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	other := Schema{"other", fstest.MapFS{
		"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x);\n")},
		"00002_b.sql": {Data: []byte("-- +goose Up\nCREATE TABLE b (x);\n")},
	}}
	f := openAt(t, Options{Path: path})
	for range 2 { // the second time there is nothing to do
		if err := f.Migrate(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Commit(t.Context(), 0, f.add("kept")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		s    Schema
		want int64
	}{{notes(), 1}, {other, 2}} {
		if v, err := row.s.version(t.Context(), f, inFile); err != nil || v != row.want {
			t.Errorf("%s has version %d, error %v", row.s.Name, v, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := openAt(t, Options{Path: path}).all(t); len(got) != 1 || got[0] != "kept" {
		t.Errorf("%q", got)
	}
	older := Schema{"other", fstest.MapFS{"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x);\n")}}}
	if err := openAt(t, Options{Path: path}).Migrate(t.Context(), older); !errors.Is(err, ErrNewer) {
		t.Errorf("tables of a newer version: %v", err)
	}
}
