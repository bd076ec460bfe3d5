package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// The errors of opening a store, and of using one that was closed.
var (
	ErrForeign = errors.New("the file is not a weir archive; name another path")
	ErrNewer   = errors.New("a newer weir wrote this archive; update weir or name another path")
	ErrDamaged = errors.New("the archive is damaged; move it away or restore a copy")
	ErrClosed  = errors.New("the archive is closed")
)

// wrap says what was being done and turns SQLite's codes into this package's
// errors. The context's own error wins: an interrupted statement fails with
// whatever it happened to be doing.
func wrap(ctx context.Context, doing string, err error) error {
	if err == nil || errors.Is(err, ErrNotFound) {
		return err
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return fmt.Errorf("%s: %w", doing, ctxErr)
	}
	if errors.Is(err, sql.ErrConnDone) || err.Error() == "sql: database is closed" || err.Error() == "sql: statement is closed" {
		return fmt.Errorf("%s: %w", doing, ErrClosed)
	}
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", doing, err)
	}
	switch se.Code() & 0xff { // the high bits only refine
	case lib.SQLITE_FULL:
		return fmt.Errorf("%s: %w: the disk is full", doing, ErrFull)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM:
		return fmt.Errorf("%s: %w: the file is read-only", doing, ErrFull)
	case lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN:
		return fmt.Errorf("%s: %w: the disk fails (%v)", doing, ErrFull, err)
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("%s: %w", doing, ErrForeign)
	case lib.SQLITE_CORRUPT:
		return fmt.Errorf("%s: %w", doing, ErrDamaged)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%s: another process holds the archive: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
