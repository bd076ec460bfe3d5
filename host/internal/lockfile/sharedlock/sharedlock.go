// Package sharedlock has weir.lock and the approved files where several daemons share a
// database: there, one row has what weir.lock has, with a version, and others have the
// files of approved versions, which the local copies follow; the local file has no effect.
// Without such a database, a Lock is the local file alone.
//
// What is read here is not trusted: who serves the files of a version must compare them
// with its digest.
package sharedlock

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/signal"
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
	reads          bool       // db is the Lock's own, and never changed
	log            hclog.Logger

	copying sync.Mutex // guards the folder of copies

	mu      sync.Mutex      // guards what follows
	version string          // of body; empty: there is none
	unread  bool            // body cannot be decoded
	body    string          // the row as it was read last
	aside   bool            // the local file was set aside, or there was none
	stays   bool            // the local file could not be renamed, and does not count
	follows bool            // Follow runs
	slow    map[string]bool // digests whose files Follow fetches
}

// Schema returns the tables of what daemons share. A file has them in backups alone.
func Schema() sqlite.Schema { return sqlite.Embedded(kind, migrations) }

// Open returns the lock of a file, whose copies are in the folder copies; empty: beside the
// file. In PostgreSQL it is that of the database. Without a file it returns nil.
func Open(ctx context.Context, db *sqlite.DB, file, copies string, log hclog.Logger) (*Lock, error) {
	if file == "" {
		return nil, nil
	}
	l := &Lock{Store: lockfile.Store{File: file, Copies: cmp.Or(copies, filepath.Join(filepath.Dir(file), "approved"))}, log: log, slow: map[string]bool{}}
	if !db.InPostgres() {
		return l, l.adopt(ctx, db)
	}
	l.db = db
	return l, db.Migrate(ctx, Schema())
}

// adopt makes the local file and copies from the row of a file that is a copy of a shared
// database, and deletes the row.
func (l *Lock) adopt(ctx context.Context, db *sqlite.DB) error {
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'plugin_lock'").Scan(&tables); err != nil || tables == 0 {
		return err
	}
	var body string
	if err := db.QueryRowContext(ctx, "SELECT body FROM plugin_lock").Scan(&body); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	lock, err := l.Decode([]byte(body))
	if err != nil {
		return err
	}
	for _, e := range lock.Plugins {
		for _, v := range e.History {
			if files, err := l.files(ctx, db, v.Digest); err == nil {
				_, err = l.Store.AddCopy(v.Digest, files, "")
				if err != nil {
					return err
				}
			} else if err != errNoFiles {
				return err
			}
		}
	}
	l.setAside()
	_ = os.Remove(l.File + Stays) // what is saved may be the same, and counts
	if err := l.Store.Save(lock); err != nil {
		return err
	}
	return db.Transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM plugin_lock")
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM plugin_files")
		}
		return err
	})
}

// Aside is added to the name of the local file when a database has what is in force.
const Aside = ".before-database"

// Stays is the end of the name of a copy of a local file that could not be renamed, as where it
// alone is mounted. While both are the same, the file has no effect, whatever becomes of the row.
const Stays = Aside + "-copy"

var rename = os.Rename // a test replaces it

// setAside keeps the local file under another name, and warns of it. l.mu is held.
func (l *Lock) setAside() {
	if l.aside {
		return
	}
	l.aside = true
	if _, err := os.Lstat(l.File); errors.Is(err, fs.ErrNotExist) || l.superseded() {
		return
	}
	to := l.File + Aside
	if _, err := os.Lstat(to); err == nil { // an earlier one stays as well
		to += time.Now().UTC().Format("-20060102-150405")
	}
	if err := rename(l.File, to); err != nil {
		l.stays = true
		text, err2 := os.ReadFile(l.File)
		if err2 == nil {
			err2 = os.WriteFile(l.File+Stays, text, 0o600)
		}
		l.log.Warn("what is approved is that of the database; the earlier weir.lock has no effect, and cannot be renamed: move it away", "file", l.File, "error", err, "copy", err2)
		return
	}
	l.log.Warn("what is approved is that of the database; the earlier weir.lock has no effect, and is kept", "file", to)
}

// superseded reports whether the local file had no effect before, and could not be renamed. l.mu is
// held.
func (l *Lock) superseded() bool {
	if l.stays {
		return true
	}
	kept, err := os.ReadFile(l.File + Stays)
	if err != nil {
		return false
	}
	text, err := os.ReadFile(l.File)
	if l.stays = err == nil && bytes.Equal(text, kept); l.stays {
		l.log.Warn("an earlier weir.lock has no effect any more, and cannot be renamed: move it away, or delete its copy for it to count", "file", l.File, "copy", l.File+Stays)
	}
	return l.stays
}

// Read returns the lock of a PostgreSQL database for a process that changes nothing in it: what
// it saves is in a local file alone, which no one else may use.
func Read(ctx context.Context, url, file, copies string, log hclog.Logger) (l *Lock, err error) {
	l = &Lock{Store: lockfile.Store{File: file, Copies: copies}, reads: true, log: log, slow: map[string]bool{}}
	l.db, err = sqlite.Open(ctx, sqlite.Options{URL: url, ReadOnly: true}, Schema())
	return l, err
}

// Close ends what Read began.
func (l *Lock) Close() error {
	if l == nil || !l.reads || l.db == nil {
		return nil
	}
	return l.db.Close()
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
	var version, body string
	err := l.db.QueryRowContext(ctx, "SELECT version, CASE WHEN version = ? THEN '' ELSE body END FROM plugin_lock", l.version).Scan(&version, &body)
	switch {
	case errors.Is(err, sql.ErrNoRows): // the first daemon gives the others what it has
		if l.version, l.body = "", ""; l.superseded() {
			return &lockfile.Lock{Plugins: map[string]*lockfile.Entry{}}, nil
		}
		return l.Store.Load()
	case err != nil && l.body == "":
		return nil, failed(err)
	case err != nil:
		l.log.Warn("the plugins stay as they are until the database is back", "error", err)
	}
	changed := err == nil && version != l.version
	if changed {
		l.follow(version, body)
	}
	lock, err := l.Decode([]byte(l.body))
	if l.unread = err != nil; err == nil {
		lock.Revision = l.version
		if changed {
			l.RemoveUnused(lock)
		}
	}
	return lock, err
}

// follow keeps what is in the row. l.mu is held.
func (l *Lock) follow(version, body string) {
	l.version, l.body = version, body
	l.setAside()
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
	if l.db == nil || l.reads {
		return l.Store.Save(lock)
	}
	body, err := lock.Encode()
	if err != nil {
		return failed(err)
	}
	if lock.Revision == "" {
		if err := l.uploadAll(lock); err != nil {
			return err
		}
	}
	version := rand.Text()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.db.Transact(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO plugin_lock (id, version, body) VALUES (1, ?2, ?3)
			ON CONFLICT (id) DO UPDATE SET version = excluded.version, body = excluded.body WHERE plugin_lock.version = ?1`, lock.Revision, version, string(body))
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
	lock.Revision = version
	l.follow(version, string(body))
	return nil
}

// Follow calls changed whenever the lock is not the one in force, of which served returns the
// Revision, until ctx ends. What was loaded may not have come into force.
func (l *Lock) Follow(ctx context.Context, served func() string, changed func()) {
	if l == nil || l.db == nil || l.reads {
		return
	}
	l.mu.Lock()
	l.follows = true
	l.mu.Unlock()
	var fetching sync.WaitGroup
	fetching.Go(func() { l.fetchSlow(ctx, changed) })
	defer fetching.Wait()
	wake := make(chan struct{}, 1)
	defer l.db.Wake(kind, func(string) { signal.One(wake) })()
	tried := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-time.After(lookEvery):
		}
		var version string
		err := l.db.QueryRowContext(ctx, "SELECT version FROM plugin_lock").Scan(&version)
		current := served()
		l.mu.Lock()
		again, stays := err == nil && (version != l.version || version != current && !l.unread), l.stays
		l.mu.Unlock()
		if !stays && errors.Is(err, sql.ErrNoRows) && time.Since(tried) > patience {
			_, err := os.Stat(l.File) // what the others did not get at the start
			again, tried = err == nil, time.Now()
		}
		if again {
			changed()
		}
	}
}
