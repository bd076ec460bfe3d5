package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weirhost/weir/host/internal/msg"
)

// Examine reads a database file from one end to the other without changing it, also
// while a DB has it open, and returns the bytes of the file and its log. If the file
// has the tables of the first schema, it calls query, if that is not nil. The errors are
// those of Open; a file that does not exist is fs.ErrNotExist.
func Examine(ctx context.Context, path string, schemas []Schema, query func(Querier) error) (bytes int64, err error) {
	for _, end := range []string{"", "-wal"} {
		st, err := os.Stat(path + end)
		if err != nil && end == "" {
			return 0, err
		}
		if err == nil {
			bytes += st.Size()
		}
	}
	if empty, err := checkHeader(path); err != nil || empty {
		return bytes, err
	}
	unused := notOpen(path)
	if err := check(ctx, path, unused, schemas); err != nil {
		return bytes, err
	}
	db, err := sql.Open("sqlite", dataSource(path, mode{Faults: Faults{ReadOnly: true, ReadOnlyDisk: unused}}))
	if err != nil {
		return bytes, err
	}
	defer db.Close()
	version, err := schemas[0].version(ctx, db, inFile)
	if err == nil && version > 0 && query != nil {
		err = query(db)
	}
	return bytes, wrapPath(ctx, path, err)
}

// notOpen reports whether no process has the file open. Reading a log needs the file
// beside it that writers share. Without either, the file is opened as immutable,
// because SQLite would create them.
func notOpen(path string) bool {
	_, logErr := os.Stat(path + "-wal")
	_, sharedErr := os.Stat(path + "-shm")
	return logErr != nil && sharedErr != nil
}

// Snapshot writes a consistent copy of the database at path to a new file at to, with
// mode 0600. A DB may have the file open; its writers do not wait. A file that is
// not weir's is ErrForeign; an existing file at to is fs.ErrExist.
func Snapshot(ctx context.Context, path, to string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return err
	}
	if empty, err := checkHeader(path); err != nil {
		return err
	} else if empty {
		return msg.Errorf("%s: %w", path, ErrForeign) // the process that created it was killed then
	}
	f, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil { // VACUUM INTO accepts an empty file
		return err
	}
	if err := vacuumInto(ctx, path, to); err != nil {
		return errors.Join(err, removeIfExists(to))
	}
	return nil
}

func vacuumInto(ctx context.Context, path, to string) error {
	const doing = "writing a copy of the archive"
	db, err := sql.Open("sqlite", dataSource(path, mode{Faults: Faults{ReadOnly: true, ReadOnlyDisk: notOpen(path)}}))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	// The data source forbids every write; this one goes to another file.
	if _, err := db.ExecContext(ctx, "PRAGMA query_only(OFF)"); err != nil {
		return Wrap(ctx, doing, err)
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return Wrap(ctx, doing, err)
	}
	f, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func removeIfExists(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
