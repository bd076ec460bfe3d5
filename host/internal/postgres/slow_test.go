package postgres_test

import (
	"database/sql"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// slowly returns the URL of a database over a link that takes a megabyte in three seconds.
func slowly(t *testing.T, address string) string {
	return pgtest.Between(t, address, func(to io.Writer, piece []byte, answer bool) error {
		if !answer {
			// The link takes this long, whatever the machine does.
			time.Sleep(time.Duration(len(piece)) * 3 * time.Microsecond)
		}
		_, err := to.Write(piece)
		return err
	})
}

// A large text takes longer than a process may be silent in a transaction.
func TestLargeTextOverASlowLink(t *testing.T) {
	address := pgtest.StartFor(t)
	db, err := sqlite.Open(t.Context(), sqlite.Options{URL: slowly(t, address)},
		sqlite.Schema{Name: "notes", Files: fstest.MapFS{"00001_notes.sql": {Data: []byte("-- +goose Up\nCREATE TABLE notes (text TEXT NOT NULL);\n")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var insert *sqlite.Statement
	if err := db.PrepareAll(t.Context(), map[**sqlite.Statement]string{&insert: "INSERT INTO notes VALUES (?)"}); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 1<<20)
	for name, write := range map[string]func() error{
		"commit": func() error {
			return db.Commit(t.Context(), 0, func(b *sqlite.Batch) error {
				if _, err := b.Exec(insert, "small"); err != nil { // a round trip
					return err
				}
				return b.Run(insert, large)
			})
		},
		"transact": func() error {
			return db.Transact(t.Context(), func(tx *sql.Tx) error {
				_, err := tx.ExecContext(t.Context(), "INSERT INTO notes VALUES (?)", large)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := write(); err != nil {
				t.Error(err)
			}
		})
	}
}
