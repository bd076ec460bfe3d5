package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/weirhost/weir/host/internal/postgres"
)

// A Statement is a prepared statement of the writing connection. It runs within a
// Batch.
type Statement struct {
	index int
	stmt  *sql.Stmt
}

// Prepare prepares a statement of the writer. Close closes it. Prepare is safe for
// concurrent use.
func (db *DB) Prepare(ctx context.Context, text string) (*Statement, error) {
	stmt, err := db.write.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	s := &Statement{len(db.prepared), stmt}
	db.prepared = append(db.prepared, stmt)
	return s, nil
}

// PrepareRead prepares a statement of the readers. Close closes it. PrepareRead is
// safe for concurrent use.
func (db *DB) PrepareRead(ctx context.Context, text string) (*sql.Stmt, error) {
	stmt, err := db.read.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.prepared = append(db.prepared, stmt)
	return stmt, nil
}

// PrepareAll prepares statements of the writer by their texts. It stops at the first
// error.
func (db *DB) PrepareAll(ctx context.Context, texts map[**Statement]string) (err error) {
	for s, text := range texts {
		if *s, err = db.Prepare(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// Inserts insert rows, some with each statement: most of the time of an insert is the same
// for one row and for a few.
type Inserts struct {
	columns int
	rows    []*Statement // of one row, of two, and so on
}

// PrepareInserts prepares statements that insert up to four rows, of a number of columns.
func (db *DB) PrepareInserts(ctx context.Context, into string, columns int) (in Inserts, err error) {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	in = Inserts{columns: columns, rows: make([]*Statement, 4)}
	for i := range in.rows {
		if in.rows[i], err = db.Prepare(ctx, "INSERT INTO "+into+" VALUES "+row+strings.Repeat(", "+row, i)); err != nil {
			return in, err
		}
	}
	return in, nil
}

// A Batch is one transaction, which several writes may share. It must not be used
// concurrently, and not after the function that received it returned.
type Batch struct {
	db *DB
	tx *sql.Tx // nil in a file
	// stmts are the statements of the transaction, by Statement.index.
	stmts []*sql.Stmt
}

// begin begins the transaction. That of a file is not a *sql.Tx, which has a goroutine and
// prepares its begin and its end each time: a quarter of what a turn's writes cost.
func (b *Batch) begin() (err error) {
	if b.db.kind == inFile {
		return b.Run(b.db.file.begin)
	}
	b.tx, err = b.db.write.BeginTx(postgres.Deferred(context.Background()), nil)
	return err
}

// end commits the transaction, or rolls it back.
func (b *Batch) end(commit bool) error {
	switch {
	case b.tx == nil && commit:
		return b.Run(b.db.file.commit)
	case b.tx == nil:
		return b.Run(b.db.file.rollback)
	case commit:
		return b.tx.Commit()
	}
	return b.tx.Rollback()
}

func (b *Batch) stmt(s *Statement) *sql.Stmt {
	if b.tx == nil {
		return s.stmt
	}
	for len(b.stmts) <= s.index {
		b.stmts = append(b.stmts, nil)
	}
	if b.stmts[s.index] == nil {
		b.stmts[s.index] = b.tx.Stmt(s.stmt)
	}
	return b.stmts[s.index]
}

// Exec runs a statement and returns the number of rows it changed.
func (b *Batch) Exec(s *Statement, args ...any) (rows int64, err error) {
	res, err := b.stmt(s).Exec(args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Run runs a statement. What its arguments point to must stay until the batch ends, and an
// error may come from a later call: PostgreSQL gets several statements at once.
func (b *Batch) Run(s *Statement, args ...any) error {
	_, err := b.stmt(s).Exec(args...)
	return err
}

// Insert inserts the rows whose values are args, as Run.
func (b *Batch) Insert(in Inserts, args ...any) error {
	for len(args) > 0 {
		n := min(len(args)/in.columns, len(in.rows))
		if err := b.Run(in.rows[n-1], args[:n*in.columns]...); err != nil {
			return err
		}
		args = args[n*in.columns:]
	}
	return nil
}

// ExecOne runs a statement that must change a row. If it changed none, ExecOne
// returns Unchanged(missing).
func (b *Batch) ExecOne(s *Statement, missing error, args ...any) error {
	rows, err := b.Exec(s, args...)
	if err == nil && rows == 0 {
		err = Unchanged(missing)
	}
	return err
}

// Query runs a statement that returns rows.
func (b *Batch) Query(s *Statement, args ...any) (*sql.Rows, error) { return b.stmt(s).Query(args...) }

// Int runs a statement that returns one whole number.
func (b *Batch) Int(s *Statement, args ...any) (n int, err error) {
	err = b.stmt(s).QueryRow(args...).Scan(&n)
	return n, err
}
