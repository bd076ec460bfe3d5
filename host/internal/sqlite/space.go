package sqlite

import (
	"context"
	"fmt"
)

// Reclaim returns free pages to the file system and truncates the log, which still
// holds old pages. Deleted content is overwritten in the file (secure_delete), so
// that after a truncation none of it is left in the files. What a file system or an
// SSD keeps of freed blocks is outside of weir's control.
//
// If all is false, free pages stay for later rows while they are less than a quarter
// of the file.
//
// PostgreSQL does it in its own time (autovacuum), and overwrites nothing: deleted content
// may be found in its files, its log and its copies until other content takes the space.
func (db *DB) Reclaim(ctx context.Context, all bool) error {
	if db.kind == inPostgres {
		return nil
	}
	for more := true; more; {
		err := db.alone(ctx, func() (err error) {
			more, err = db.reclaim(ctx, all)
			return err
		})
		if err != nil {
			return Wrap(ctx, "returning free space of the archive", err)
		}
	}
	return db.TruncateLog(ctx)
}

// reclaim returns some free pages to the file system, and reports whether there were any.
func (db *DB) reclaim(ctx context.Context, all bool) (more bool, err error) {
	const step = 2000 // pages
	var free, pages int
	err = db.write.QueryRowContext(ctx, "SELECT (SELECT freelist_count FROM pragma_freelist_count), (SELECT page_count FROM pragma_page_count)").Scan(&free, &pages)
	if err != nil || free == 0 || !all && free*4 < pages {
		return false, err
	}
	// The pragma frees one page for each row that is read from it.
	rows, err := db.write.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", step))
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return true, rows.Err()
}

// TruncateLog copies the log into the file and truncates it. A reader that still
// needs the log prevents that: LogInUse then reports true.
func (db *DB) TruncateLog(ctx context.Context) error {
	if db.kind == inPostgres {
		return nil
	}
	var busy, frames, done int
	err := db.alone(ctx, func() error {
		return db.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done)
	})
	if err != nil {
		return Wrap(ctx, "truncating the archive's log", err)
	}
	db.logInUse.Store(busy != 0)
	if busy != 0 {
		db.log.Warn("the archive's log is in use; deleted texts stay in it until the next maintenance")
	}
	return nil
}

// LogInUse reports whether the last TruncateLog could not truncate the log.
func (db *DB) LogInUse() bool { return db.logInUse.Load() }

// FileBytes returns the size of the database, without its log.
func (db *DB) FileBytes(ctx context.Context) (bytes int64, err error) {
	text := "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)"
	if db.kind == inPostgres {
		text = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
	}
	err = db.read.QueryRowContext(ctx, text).Scan(&bytes)
	return bytes, Wrap(ctx, "reading the archive's size", err)
}
