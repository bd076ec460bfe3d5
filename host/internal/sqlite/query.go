package sqlite

import (
	"context"
	"database/sql"
	"math"
	"time"
)

// A Row is one row of a result: *sql.Row or *sql.Rows.
type Row interface{ Scan(dest ...any) error }

// A Querier reads rows: *DB, or *sql.Tx within a transaction.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// QueryContext reads rows on a connection that cannot write.
func (db *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return db.read.QueryContext(ctx, query, args...)
}

// QueryRowContext reads one row on a connection that cannot write.
func (db *DB) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return db.read.QueryRowContext(ctx, query, args...)
}

// ExecContext runs one statement of the writer in a transaction of its own.
func (db *DB) ExecContext(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	if db.kind == inFile {
		err = db.alone(ctx, func() (err error) {
			res, err = db.write.ExecContext(ctx, query, args...)
			return err
		})
		return res, err
	}
	err = db.Transact(ctx, func(tx *sql.Tx) (err error) {
		res, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return res, err
}

// Each runs a query and calls f for each row. It stops at the first error.
func (db *DB) Each(ctx context.Context, query string, args []any, f func(Row) error) error {
	rows, err := db.read.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// List returns what scan reads of each row of a query, and with an error of the rows before.
func List[T any](ctx context.Context, db *DB, query string, args []any, scan func(Row) (T, error)) (list []T, err error) {
	err = db.Each(ctx, query, args, func(row Row) error {
		one, err := scan(row)
		list = append(list, one)
		return err
	})
	return list, err
}

// Text reads a row of one text, for List.
func Text(row Row) (s string, err error) {
	err = row.Scan(&s)
	return s, err
}

// Limit returns the argument of a LIMIT: a negative number of rows means all.
func Limit(n int) int {
	if n < 0 {
		return math.MaxInt64 / 2 // an offset may be added to it
	}
	return n
}

// Truncate rounds a time to the milliseconds in UTC that a column stores. The zero
// time stays zero.
func Truncate(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// Millis returns a time as a column stores it: milliseconds since 1970, NULL for the
// zero time.
func Millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

// Time returns the time of a column that Millis wrote, in UTC.
func Time(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}
