package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/msg"
)

// MaxFieldBytes is the size of the largest field that SQLite stores.
const MaxFieldBytes = 1_000_000_000

// readers is the number of reading connections.
const readers = 4

// Options are the settings of Open.
type Options struct {
	// Path is the database file. Open creates it and its folder if they are missing.
	// Empty is an error, unless there is a URL.
	Path string
	// URL is a PostgreSQL database in place of a file; Faults are not for it.
	URL string
	// ReadOnly opens a database of a URL beside the process that writes to it. Its tables
	// must be up to date.
	ReadOnly bool
	// Logger receives warnings; nil discards them.
	Logger hclog.Logger
	// Faults are for tests; the zero value is normal operation.
	Faults Faults
}

// Faults are failures of the disk that tests bring about.
type Faults struct {
	MaxPages     int  // the file cannot grow over this number of pages; 0: no bound
	ReadOnly     bool // every write fails
	ReadOnlyDisk bool // the whole file system is read-only
}

// A DB is an open database file, or an open PostgreSQL database. It is safe for
// concurrent use. One process should have a file open; a second one waits for locks of
// the first for five seconds at most.
type DB struct {
	log   hclog.Logger
	kind  kind
	write *sql.DB // one connection; see occupy
	read  *sql.DB // several connections, query_only
	// beside has one connection to PostgreSQL that waits for no lock of a write.
	beside *sql.DB
	queue  commitQueue
	wakes  wakes

	occupied chan struct{} // holds a value while a transaction or a statement uses write
	// file begins and ends the transactions of a Batch in a file.
	file struct{ begin, commit, rollback *Statement }

	mu       sync.Mutex  // guards prepared
	prepared []*sql.Stmt // closed by Close

	// logInUse reports that the last TruncateLog found a reader in the log.
	logInUse atomic.Bool
	closing  sync.Once
	closed   error // the result of Close
}

// Open opens a database file, checks it and brings the tables of schemas up to date.
// A file that is damaged, foreign, or has unknown versions of these tables is refused
// and not changed. A file that is read-only can be opened: every write then returns
// ErrFull. Reading the whole file takes about half a second for each GiB.
func Open(ctx context.Context, o Options, schemas ...Schema) (db *DB, err error) {
	db = &DB{log: cmp.Or(o.Logger, hclog.NewNullLogger()), occupied: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			_ = db.Close() // the first error matters more
			db = nil
		}
	}()
	if o.URL != "" {
		return db, db.connectPostgres(ctx, o, schemas)
	}
	if o.Path == "" {
		return db, msg.Errorf("the archive needs a path")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return db, err
	}
	m := mode{Faults: o.Faults}
	if m.empty, err = db.prepareFile(path); err != nil {
		return db, err
	}
	if onReadOnlyDisk(path) {
		m.ReadOnlyDisk = true
	}
	if m.ReadOnlyDisk {
		db.log.Warn("the archive is on a read-only disk; nothing can be saved", "path", path)
	}
	if !m.empty {
		if err := check(ctx, path, m.ReadOnlyDisk, schemas); err != nil {
			return db, err
		}
	}
	return db, db.connect(ctx, path, m, schemas)
}

// connect opens both pools and brings the tables up to date.
func (db *DB) connect(ctx context.Context, path string, m mode, schemas []Schema) (err error) {
	w := m
	w.writer = true
	if db.write, err = sql.Open("sqlite", dataSource(path, w)); err != nil {
		return err
	}
	db.write.SetMaxOpenConns(1)
	db.write.SetMaxIdleConns(1)
	for _, s := range schemas {
		if err := db.Migrate(ctx, s); err != nil {
			return err
		}
	}
	if db.read, err = sql.Open("sqlite", dataSource(path, m)); err != nil {
		return err
	}
	db.read.SetMaxOpenConns(readers)
	db.read.SetMaxIdleConns(readers)
	return db.PrepareAll(ctx, map[**Statement]string{&db.file.begin: "BEGIN IMMEDIATE", &db.file.commit: "COMMIT", &db.file.rollback: "ROLLBACK"})
}

// occupy waits until no other write is under way, and returns what ends this one.
func (db *DB) occupy(ctx context.Context) (release func(), err error) {
	select {
	case db.occupied <- struct{}{}:
		return func() { <-db.occupied }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close closes the database. Running calls fail; later calls return ErrClosed. Close
// can be called more than once.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.wakes.close()
		var errs []error
		db.mu.Lock()
		for _, stmt := range db.prepared {
			errs = append(errs, stmt.Close())
		}
		db.mu.Unlock()
		// The writer closes last, because the last connection removes the log file.
		for _, pool := range []*sql.DB{db.read, db.beside, db.write} {
			if pool != nil {
				errs = append(errs, pool.Close())
			}
		}
		db.closed = errors.Join(errs...)
	})
	return db.closed
}
