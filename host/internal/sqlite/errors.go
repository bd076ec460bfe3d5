package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/postgres"
	"github.com/weirhost/weir/sdk/tool"
)

// The errors of opening a database and of using it.
var (
	// ErrForeign is the error of a file that another program made.
	ErrForeign = msg.Errorf("the file is not a weir archive; name another path")
	// ErrNewer is the error of tables that this program does not know yet.
	ErrNewer = msg.Errorf("a newer weir wrote this archive; update weir or name another path")
	// ErrUnreleased is the error of tables from before the first release.
	ErrUnreleased = msg.Errorf("an unreleased version of weir made this archive, and this version cannot read it; move the file away to begin with an empty archive, or open it with the weir that made it")
	// ErrDamaged is the error of a file whose content is not sound.
	ErrDamaged = msg.Errorf("the archive is damaged; move it away or restore a copy")
	// ErrClosed is the error of a call after Close.
	ErrClosed = msg.Errorf("the archive is closed")
	// ErrFull is the error of a write to a disk that is full, read-only or failing.
	ErrFull = msg.Errorf("the archive cannot be written")
	// ErrFullDatabase is ErrFull of a PostgreSQL database.
	ErrFullDatabase = msg.Errorf("%w: the database is full, or it may not be written", ErrFull)
	// ErrUnreachable is the error of PostgreSQL while there is no connection to it.
	ErrUnreachable = msg.Errorf("the database cannot be reached")
	// ErrFenced is the error of a write whose context is Guarded, and whose turn another
	// daemon has taken over.
	ErrFenced = msg.Errorf("another daemon has taken over")

	errURL = msg.Errorf("[store] url is not valid, or its variable is not set; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")
)

// Wrap returns err with the action that failed, and with one of this package's
// errors for SQLite's codes. doing is a sentence without arguments and a key of the
// translations. If ctx ended, its error replaces err, because an interrupted
// statement fails in an arbitrary way. Wrap returns nil for nil.
func Wrap(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	return wrap(ctx, tool.Text{Format: doing}, err)
}

// wrapPath is Wrap with the path of the file in place of an action.
func wrapPath(ctx context.Context, path string, err error) error {
	if err == nil {
		return nil
	}
	return wrap(ctx, path, err)
}

func wrap(ctx context.Context, doing any, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return msg.Errorf("%v: %w", doing, ctxErr)
	}
	if errors.Is(err, sql.ErrConnDone) || err.Error() == "sql: database is closed" || err.Error() == "sql: statement is closed" {
		return msg.Errorf("%v: %w", doing, ErrClosed)
	}
	if known := classify(err); known != nil {
		return msg.Errorf("%v: %w", doing, known)
	}
	return msg.Errorf("%v: %w", doing, err)
}

// unreachable reports whether an error says that the connection to PostgreSQL failed.
func unreachable(err error) bool {
	f, ok := postgres.FaultOf(err)
	return ok && f == postgres.Unreachable
}

// IsTaken reports whether an error says that a row of PostgreSQL has the values of a unique
// index already.
func IsTaken(err error, index string) bool { return postgres.Taken(err) == index }

// classify returns the error of this package that a code of SQLite or PostgreSQL means,
// nil if there is none.
func classify(err error) error {
	if fault, ok := postgres.FaultOf(err); ok {
		switch fault {
		case postgres.Unreachable:
			return msg.Errorf("%w: %v", ErrUnreachable, err)
		case postgres.Zero:
			return ErrFenced
		case postgres.Full:
			return msg.Errorf("%w: %v", ErrFullDatabase, err)
		}
		return nil
	}
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return nil
	}
	switch se.Code() & 0xff { // the high bits only refine
	case lib.SQLITE_FULL:
		return msg.Errorf("%w: the disk is full", ErrFull)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM:
		return msg.Errorf("%w: the file is read-only", ErrFull)
	case lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN:
		return msg.Errorf("%w: the disk fails (%v)", ErrFull, err)
	case lib.SQLITE_NOTADB:
		return ErrForeign
	case lib.SQLITE_CORRUPT:
		return ErrDamaged
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return msg.Errorf("another process uses the archive: %w", err)
	}
	return nil
}

// unchanged marks the error of a write that changed nothing.
type unchanged struct{ err error }

func (u *unchanged) Error() string { return fmt.Sprint("nothing was changed: ", u.err) }
func (u *unchanged) Unwrap() error { return u.err }

// Unchanged returns the error of a write that changed nothing: the transaction it
// shares with other writes goes on, and Commit returns err, which may be nil.
func Unchanged(err error) error { return &unchanged{err} }
