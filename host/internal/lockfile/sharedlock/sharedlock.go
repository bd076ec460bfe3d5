// Package sharedlock has weir.lock and the approved files where several daemons share a
// database: there, one row has what weir.lock has, with a version, and others have the
// files of approved versions. The local file and the local copies follow them. Without
// such a database, a Lock is the local file alone.
//
// What is read here is not trusted: who serves the files of a version must compare them
// with its digest.
package sharedlock

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/tool"
)

// ErrChanged is the error of a Save of a lock that another daemon has changed since Load.
var ErrChanged = errors.New("the plugins were changed elsewhere at the same moment")

const (
	kind      = "plugins"        // of the notices; see sqlite.DB.Wake
	lookEvery = time.Second      // for changes whose notice was missed
	patience  = 10 * time.Second // with the database
)

//go:embed migrations/*.sql
var migrations embed.FS

// A Lock loads and saves weir.lock. It is safe for concurrent use.
type Lock struct {
	lockfile.Store            // the local file and copies
	db             *sqlite.DB // nil: there is no other
	log            hclog.Logger

	mu      sync.Mutex // guards what follows
	version int64      // of body; -1: it is unknown, and the next look reads it
	body    string     // the row as it was read last
}

// Open returns the lock of a file, whose copies are in the folder copies; empty: beside the
// file. It is that of the database if others share it. Without a file it returns nil.
func Open(ctx context.Context, db *sqlite.DB, file, copies string, log hclog.Logger) (*Lock, error) {
	if file == "" {
		return nil, nil
	}
	l := &Lock{Store: lockfile.Store{File: file, Copies: cmp.Or(copies, filepath.Join(filepath.Dir(file), "approved"))}, log: log, version: -1}
	if !db.Shared() {
		return l, nil
	}
	l.db = db
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return l, db.Migrate(ctx, sqlite.Schema{Name: kind, Files: files})
}

// Shared reports whether other daemons have the same lock. A plugin then may lie in another
// folder on each machine, or in none.
func (l *Lock) Shared() bool { return l.db != nil }

// Load returns the lock. While the database is away it returns the last one. The error is a
// *lockfile.Error.
func (l *Lock) Load() (*lockfile.Lock, error) {
	if l.db == nil {
		return l.Store.Load()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	var version int64
	var body string
	err := l.db.QueryRowContext(ctx, "SELECT version, CASE WHEN version = ? THEN '' ELSE body END FROM plugin_lock", l.version).Scan(&version, &body)
	switch {
	case errors.Is(err, sql.ErrNoRows): // the first daemon gives the others what it has
		l.version = 0
		return l.Store.Load()
	case err != nil && l.body == "":
		return nil, failed(err)
	case err != nil:
		l.log.Warn("the plugins stay as they are until the database is back", "error", err)
		version = l.version
	case version != l.version:
		lock, err := l.Decode([]byte(body))
		if err != nil {
			return nil, err
		}
		l.follow(lock, version, body)
	}
	lock, err := l.Decode([]byte(l.body))
	if err == nil {
		lock.Revision = version
	}
	return lock, err
}

// follow keeps what is in the row. l.mu is held.
func (l *Lock) follow(lock *lockfile.Lock, version int64, body string) {
	l.version, l.body = version, body
	if err := l.Store.Save(lock); err != nil {
		l.log.Warn("the local weir.lock is not the one in force, which is in the database", "error", err)
	}
}

func failed(err error) error {
	return &lockfile.Error{
		Msg: tool.Textf("what is approved is in the database, which cannot be used: %s", err.Error()),
		Fix: tool.Textf("check that the database answers, and try again"),
	}
}

// Save replaces the lock for all daemons, if it is still the one that Load returned, and
// removes the files of versions without a Copy. The error is ErrChanged or a *lockfile.Error.
func (l *Lock) Save(lock *lockfile.Lock) error {
	if l.db == nil {
		return l.Store.Save(lock)
	}
	body, err := lock.Encode()
	if err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.db.Transact(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO plugin_lock (id, version, body) VALUES (1, ?1 + 1, ?2)
			ON CONFLICT (id) DO UPDATE SET version = excluded.version, body = excluded.body WHERE plugin_lock.version = ?1`, lock.Revision, string(body))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, error(ErrChanged))
		}
		if err := removeUnused(ctx, tx, lock); err != nil {
			return err
		}
		return l.db.Notify(ctx, tx, kind, "")
	})
	if errors.Is(err, ErrChanged) {
		return ErrChanged
	}
	if err != nil {
		return failed(err)
	}
	lock.Revision++
	l.follow(lock, lock.Revision, string(body))
	return nil
}

// Follow calls changed whenever another daemon has changed the lock, until ctx ends.
func (l *Lock) Follow(ctx context.Context, changed func()) {
	if l == nil || l.db == nil {
		return
	}
	wake := make(chan struct{}, 1)
	defer l.db.Wake(kind, func(string) {
		select {
		case wake <- struct{}{}:
		default:
		}
	})()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-time.After(lookEvery):
		}
		var version int64
		err := l.db.QueryRowContext(ctx, "SELECT version FROM plugin_lock").Scan(&version)
		l.mu.Lock()
		same := version == l.version
		l.mu.Unlock()
		if err == nil && !same {
			changed()
		}
	}
}
