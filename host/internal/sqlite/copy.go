package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
)

// ErrNotEmpty is the error of a database that has something already.
var ErrNotEmpty = msg.Errorf("the database has rows already; name an empty one")

// derived are the tables that triggers fill, or that belong to one database.
func derived(table string) bool {
	return table == "result_sizes" || strings.HasSuffix(table, "_version") || strings.HasPrefix(table, "sqlite_")
}

// Copy copies all rows of one DB into another one, which must have the same tables, empty:
// one of both is a file. It copies what is there at one moment, in one transaction.
func Copy(ctx context.Context, from, to *DB) error {
	const doing = "copying the database"
	file, options := from, (*sql.TxOptions)(nil)
	if from.kind == inPostgres {
		file, options = to, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	var tables []string // those that others refer to come first
	if err := file.Each(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid", nil, func(row Row) error {
		var name string
		err := row.Scan(&name)
		if !derived(name) {
			tables = append(tables, name)
		}
		return err
	}); err != nil {
		return Wrap(ctx, doing, err)
	}
	source, err := from.read.BeginTx(ctx, options)
	if err != nil {
		return Wrap(ctx, doing, err)
	}
	defer source.Rollback()
	return Wrap(ctx, doing, to.Transact(ctx, func(tx *sql.Tx) error {
		for _, table := range tables {
			if err := copyTable(ctx, file, source, tx, table, to.kind); err != nil {
				return err
			}
		}
		return nil
	}))
}

// copyTable copies the rows of one table, and compares their numbers.
func copyTable(ctx context.Context, file *DB, from, to *sql.Tx, table string, kind kind) error {
	var columns []string
	if err := file.Each(ctx, "SELECT name FROM pragma_table_info(?)", []any{table}, func(row Row) error {
		var name string
		err := row.Scan(&name)
		columns = append(columns, name)
		return err
	}); err != nil {
		return err
	}
	var n, has, greatest int64
	count := "SELECT count(*) FROM " + table
	if err := to.QueryRowContext(ctx, count).Scan(&has); err != nil || has > 0 {
		if err == nil {
			err = ErrNotEmpty
		}
		return err
	}
	list := strings.Join(columns, ", ")
	order := ""
	if table == "tool_result_archive" { // the newest of identical results is the last
		order = " ORDER BY rowid"
	}
	rows, err := from.QueryContext(ctx, "SELECT "+list+" FROM "+table+order)
	if err != nil {
		return err
	}
	defer rows.Close()
	insert, err := to.PrepareContext(ctx, "INSERT INTO "+table+" ("+list+") VALUES (?"+strings.Repeat(", ?", len(columns)-1)+")")
	if err != nil {
		return err
	}
	defer insert.Close()
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	id, full, encoding := slices.Index(columns, "id"), slices.Index(columns, "result_full"), slices.Index(columns, "encoding")
	for ; rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return err
		}
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
		if _, err := insert.ExecContext(ctx, values...); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if kind == inPostgres && greatest > 0 {
		if _, err := to.ExecContext(ctx, "SELECT setval(pg_get_serial_sequence(?, 'id'), ?)", table, greatest); err != nil {
			return err
		}
	}
	if err := to.QueryRowContext(ctx, count).Scan(&has); err != nil {
		return err
	}
	if has != n {
		return msg.Errorf("%s has %d rows, and %d were copied", table, n, has)
	}
	return nil
}
