package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Snapshot writes the archive at path, as it is at one moment, into a new file
// of mode 0600 at to, also while a Store has it open: whoever writes meanwhile
// does not wait. Its errors are those of Examine; a file at to is fs.ErrExist.
func Snapshot(ctx context.Context, path, to string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return err
	}
	if fresh, err := checkHeader(path); err != nil {
		return err
	} else if fresh {
		return fmt.Errorf("%s: %w", path, ErrForeign) // whoever created it was stopped right then
	}
	f, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil { // VACUUM INTO takes an empty file
		return err
	}
	if err := vacuumInto(ctx, path, to); err != nil {
		return errors.Join(err, remove(to))
	}
	return nil
}

func vacuumInto(ctx context.Context, path, to string) error {
	_, logErr := os.Stat(path + "-wal")
	_, sharedErr := os.Stat(path + "-shm")
	still := logErr != nil && sharedErr != nil // nobody has it open, and nothing must be made beside it
	db, err := sql.Open("sqlite", dataSource(path, false, hooks{readOnly: true, frozen: still}))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	// The data source forbids every write, and this one goes elsewhere.
	if _, err := db.ExecContext(ctx, "PRAGMA query_only(OFF)"); err != nil {
		return wrap(ctx, "copying the archive", err)
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return wrap(ctx, "copying the archive", err)
	}
	f, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
