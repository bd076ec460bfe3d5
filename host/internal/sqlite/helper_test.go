package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errMissing = errors.New("no such row")

// notes is a schema of one table with one column.
func notes() Schema {
	return Schema{"notes", fstest.MapFS{"00001_notes.sql": {Data: []byte("-- +goose Up\nCREATE TABLE notes (text TEXT NOT NULL CHECK (text <> 'bad'));\n")}}}
}

// A fixture is a database of notes.
type fixture struct {
	*DB
	insert, drop *Statement
}

func openTest(t testing.TB, faults Faults) *fixture {
	t.Helper()
	return openAt(t, Options{Path: filepath.Join(t.TempDir(), "archive.db"), Faults: faults})
}

func openAt(t testing.TB, o Options) *fixture {
	t.Helper()
	db, err := Open(context.Background(), o, notes())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{DB: db}
	if err := db.PrepareAll(t.Context(), map[**Statement]string{&f.insert: "INSERT INTO notes VALUES (?)", &f.drop: "DELETE FROM notes WHERE text = ?"}); err != nil {
		t.Fatal(err)
	}
	return f
}

// add returns the write of one note.
func (f *fixture) add(text string) func(*Batch) error {
	return func(b *Batch) error {
		_, err := b.Exec(f.insert, text)
		return err
	}
}

// all returns the notes in the order of writing.
func (f *fixture) all(t testing.TB) (list []string) {
	t.Helper()
	if err := f.Each(t.Context(), "SELECT text FROM notes ORDER BY rowid", nil, func(row Row) error {
		var s string
		err := row.Scan(&s)
		list = append(list, s)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}
