package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
)

// ErrNotEmpty is the error of a database that has something already.
var ErrNotEmpty = msg.Errorf("the database has rows already; name an empty one")

// derived are the tables that triggers fill, or that belong to one database.
func derived(table string) bool {
	return table == "result_sizes" || table == "mcp_mail" || strings.HasSuffix(table, "_version") || strings.HasPrefix(table, "sqlite_")
}

// A Table is what a table has: how many rows, and a digest of them. Tables with the same
// rows have the same digest, in a file and in PostgreSQL.
type Table struct {
	Name   string `json:"table"`
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"`
}

// Copy copies all rows of one DB into another one, which must have the same tables, empty:
// one of both is a file. It copies what is there at one moment, in one transaction, and
// commits it when both, read again, have the same rows.
func Copy(ctx context.Context, from, to *DB) (copied []Table, err error) {
	const doing = "copying the database"
	file, names, err := tables(ctx, from, to)
	if err != nil {
		return nil, Wrap(ctx, doing, err)
	}
	source, err := from.moment(ctx)
	if err != nil {
		return nil, Wrap(ctx, doing, err)
	}
	defer source.Rollback()
	err = to.Transact(ctx, func(tx *sql.Tx) error {
		if to.kind == inPostgres { // which waits while the file is read
			if _, err := tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
				return err
			}
		}
		for _, name := range names {
			if err := copyTable(ctx, file, source, tx, name, to.kind); err != nil {
				return err
			}
		}
		if copied, err = digests(ctx, file, source, names); err != nil {
			return err
		}
		again, err := digests(ctx, file, tx, names)
		for i, t := range again {
			if t != copied[i] {
				return msg.Errorf("%s has %d rows, and the copy has other ones (%d)", t.Name, copied[i].Rows, t.Rows)
			}
		}
		return err
	})
	if err == nil { // the file alone has all of it
		err = to.TruncateLog(ctx)
	}
	if err == nil && to.LogInUse() {
		err = msg.Errorf("another process uses the copy")
	}
	return copied, Wrap(ctx, doing, err)
}

// Compare returns what the tables of two DBs have, one of which is a file.
func Compare(ctx context.Context, a, b *DB) (in [2][]Table, err error) {
	file, names, err := tables(ctx, a, b)
	for i, db := range []*DB{a, b} {
		var tx *sql.Tx
		if err == nil {
			tx, err = db.moment(ctx)
		}
		if err != nil {
			break
		}
		in[i], err = digests(ctx, file, tx, names)
		_ = tx.Rollback() // nothing was written
	}
	return in, Wrap(ctx, "reading the database", err)
}

// moment begins to read what is there now.
func (db *DB) moment(ctx context.Context) (*sql.Tx, error) {
	if db.kind == inPostgres {
		return db.read.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	}
	return db.read.BeginTx(ctx, nil)
}

// tables returns the one of two DBs that is a file, and the tables to copy: those that
// others refer to come first.
func tables(ctx context.Context, a, b *DB) (file *DB, names []string, err error) {
	if file = a; a.kind == inPostgres {
		file = b
	}
	names, err = List(ctx, file, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid", nil, Text)
	return file, slices.DeleteFunc(names, derived), err
}

// columns returns the columns of a table, and how its rows are put in order.
func columns(ctx context.Context, file *DB, table string) (names []string, order string, err error) {
	if table == "tool_result_archive" { // the newest of identical results is the last
		order = " ORDER BY rowid"
	}
	names, err = List(ctx, file, "SELECT name FROM pragma_table_info(?)", []any{table}, Text)
	return names, order, err
}

// digests reads tables. A digest is the sum of those of the rows, which have any order.
func digests(ctx context.Context, file *DB, tx *sql.Tx, names []string) (out []Table, err error) {
	for _, name := range names {
		columns, order, err := columns(ctx, file, name)
		if err != nil {
			return nil, err
		}
		t, sum := Table{Name: name}, [4]uint64{}
		if err := eachRow(ctx, tx, "SELECT "+strings.Join(columns, ", ")+" FROM "+name+order, len(columns), func(values []any) error {
			if t.Rows++; order != "" {
				values = append(values[:len(values):len(values)], t.Rows)
			}
			h := sha256.New()
			for _, v := range values {
				switch v := v.(type) {
				case string: // SQLite has some texts as such that PostgreSQL has as bytes
					fmt.Fprintf(h, "[]uint8 %d ", len(v))
					_, _ = io.WriteString(h, v)
				case []byte:
					fmt.Fprintf(h, "%T %d ", v, len(v))
					h.Write(v)
				default:
					fmt.Fprintf(h, "%T %v ", v, v)
				}
			}
			row := h.Sum(nil)
			for i := range sum {
				sum[i] += binary.BigEndian.Uint64(row[8*i:])
			}
			return nil
		}); err != nil {
			return nil, err
		}
		t.Digest = fmt.Sprintf("%016x%016x%016x%016x", sum[0], sum[1], sum[2], sum[3])
		out = append(out, t)
	}
	return out, nil
}

// eachRow calls f with the values of each row.
func eachRow(ctx context.Context, tx *sql.Tx, query string, columns int, f func([]any) error) error {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	values, into := make([]any, columns), make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := f(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// copyTable copies the rows of one table, of which the other one must have none.
func copyTable(ctx context.Context, file *DB, from, to *sql.Tx, table string, kind kind) error {
	columns, order, err := columns(ctx, file, table)
	if err != nil {
		return err
	}
	var has, greatest int64
	if err := to.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&has); err != nil || has > 0 {
		if err == nil {
			err = ErrNotEmpty
		}
		return err
	}
	list := strings.Join(columns, ", ")
	insert, err := to.PrepareContext(ctx, "INSERT INTO "+table+" ("+list+") VALUES (?"+strings.Repeat(", ?", len(columns)-1)+")")
	if err != nil {
		return err
	}
	defer insert.Close()
	id, full, encoding := slices.Index(columns, "id"), slices.Index(columns, "result_full"), slices.Index(columns, "encoding")
	err = eachRow(ctx, from, "SELECT "+list+" FROM "+table+order, len(columns), func(values []any) error {
		if id >= 0 {
			number, _ := values[id].(int64)
			greatest = max(greatest, number)
		}
		if full >= 0 { // SQLite has a text that is not compressed as TEXT
			bytes, isBytes := values[full].([]byte)
			text, isText := values[full].(string)
			switch {
			case isText && kind == inPostgres:
				values[full] = append([]byte{}, text...)
			case isBytes && kind == inFile && values[encoding] != int64(1):
				values[full] = string(bytes)
			}
		}
		_, err := insert.ExecContext(ctx, values...)
		return err
	})
	if err == nil && kind == inPostgres && greatest > 0 {
		_, err = to.ExecContext(ctx, "SELECT setval(pg_get_serial_sequence(?, 'id'), ?)", table, greatest)
	}
	return err
}
