package archive

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"io"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/describe"
	"github.com/weirhost/weir/host/internal/exprcost"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// The retention and the length of summaries that the configuration uses as defaults.
// Open does not: the zero Config keeps everything.
const (
	DefaultMaxAge       = 30 * 24 * time.Hour
	DefaultMaxBytes     = 2 << 30
	DefaultSummaryChars = describe.DefaultChars
)

// Config sets where the archive is, how long it keeps texts, and who reads them.
type Config struct {
	// Path is the database file. It is created with mode 0600, its folder with
	// 0700; an existing folder keeps its mode. Empty is an error, unless there is a URL.
	Path string
	// URL is a PostgreSQL database in place of a file. Other daemons may use it as well.
	URL string
	// MaxAge is how long a text is kept. 0 or negative: without end.
	MaxAge time.Duration
	// MaxBytes bounds the texts of all principals together, and
	// MaxBytesPerPrincipal those of each, in bytes on disk, compressed or not. A text
	// that several results of a principal have counts once. 0 or negative: no bound.
	MaxBytes, MaxBytesPerPrincipal int64
	// MaxCount bounds the number of texts of all principals together, and
	// MaxCountPerPrincipal that of each. 0 or negative: no bound.
	MaxCount, MaxCountPerPrincipal int
	// UserScope lets every conversation of a principal read the entries of all
	// of that principal's conversations. False: each reads its own only.
	UserScope bool
	// SummaryChars is the length, in characters, of the summary that Put writes
	// where the caller gives none. 0: DefaultSummaryChars; negative: no summary.
	SummaryChars int
	// Logger receives messages of maintenance; nil discards them.
	Logger hclog.Logger
	// Now returns the time. Nil: time.Now.
	Now func() time.Time
}

// A Store holds archived results. It is safe for concurrent use.
type Store interface {
	Writer
	Reader
	Finder
	Maintainer
	Counter
	io.Closer
}

// A Writer adds and deletes entries.
type Writer interface {
	// PutOnce commits an entry and returns it completed, unless the same call
	// returned the same text before in the same conversation: then it returns that
	// entry, and again is true.
	PutOnce(ctx context.Context, e Entry) (_ Entry, again bool, err error)
	// Delete deletes an entry and its text for good.
	Delete(ctx context.Context, sc Scope, uuid string) error
}

// A Reader returns entries, or parts of their texts, by uuid. An unknown uuid is
// ErrNotFound, a pruned entry ErrExpired.
type Reader interface {
	// Get returns an entry with its text.
	Get(ctx context.Context, sc Scope, uuid string) (Entry, error)
	// Peek returns a part of a text, for people.
	Peek(ctx context.Context, sc Scope, uuid string, p Part) (Page, error)
	// Read returns a part of a text, for a model, and counts a load.
	Read(ctx context.Context, sc Scope, uuid string, p Part) (Page, error)
}

// A Finder finds entries, without their texts.
type Finder interface {
	// Find returns an entry of any conversation of the principal.
	Find(ctx context.Context, principal, uuid string) (Entry, error)
	// List returns the entries of a scope, newest first.
	List(ctx context.Context, sc Scope, f Filter) ([]Entry, error)
	// Search returns the lines that hold the words of a query.
	Search(ctx context.Context, sc Scope, query string, o SearchOptions) (SearchResult, error)
}

// A Maintainer keeps an archive within its bounds.
type Maintainer interface {
	// Configure changes retention, scope and summaries.
	Configure(cfg Config)
	// Prune removes the texts that retention does not keep.
	Prune(ctx context.Context, dryRun bool) (PruneReport, error)
	// Run prunes and compresses in the background until ctx ends.
	Run(ctx context.Context, every time.Duration) error
}

// A Counter sums up an archive.
type Counter interface {
	// Stats returns the sums over the archives of all principals.
	Stats(ctx context.Context) (Stats, error)
}

//go:embed migrations
var migrations embed.FS

// Schema returns the tables of the archive.
func Schema() sqlite.Schema { return sqlite.Embedded("archive", migrations) }

// SQLite is a Store in one file. It is safe for concurrent use.
type SQLite struct {
	db      *sqlite.DB
	config  atomic.Pointer[Config]
	log     hclog.Logger
	now     func() time.Time
	buffers bufferPool
	greps   exprcost.Queue
	also    func(context.Context) error // of Maintain; nil: nothing

	insertRow, insertText, textID, identicalTo, renew, setDescription, drop, countLoad *sqlite.Statement
	get, findIdentical                                                                 *sql.Stmt
}

var _ Store = (*SQLite)(nil)

// Open opens the archive at cfg.Path, creates it if it is missing, checks it and
// brings its tables up to date. A file that is damaged, foreign, or of another
// version that this one cannot read is refused and not changed. A read-only file can
// be opened: every write then returns ErrFull.
func Open(ctx context.Context, cfg Config) (*SQLite, error) {
	return open(ctx, cfg, sqlite.Faults{})
}

func open(ctx context.Context, cfg Config, faults sqlite.Faults) (s *SQLite, err error) {
	s = &SQLite{log: cfg.Logger, now: cfg.Now}
	s.Configure(cfg)
	s.log = cmp.Or(s.log, hclog.NewNullLogger())
	if s.now == nil {
		s.now = time.Now
	}
	if s.db, err = sqlite.Open(ctx, sqlite.Options{Path: cfg.Path, URL: cfg.URL, Logger: s.log, Faults: faults}, Schema()); err != nil {
		return nil, err
	}
	err = s.db.PrepareAll(ctx, map[**sqlite.Statement]string{
		&s.insertRow: insertSQL, &s.insertText: insertTextSQL, &s.textID: textIDSQL, &s.identicalTo: identicalSQL,
		&s.renew: renewSQL, &s.setDescription: describedSQL, &s.drop: dropSQL, &s.countLoad: countLoadSQL,
	})
	if err == nil {
		s.get, err = s.db.PrepareRead(ctx, getSQL)
	}
	if err == nil {
		s.findIdentical, err = s.db.PrepareRead(ctx, identicalSQL)
	}
	if err != nil {
		_ = s.Close() // the first error matters more
		return nil, sqlite.Wrap(ctx, "opening the archive", err)
	}
	return s, nil
}

// Configure sets retention, scope and summaries. Path, Logger and Now stay those of
// Open. The next Prune removes what the new retention does not keep.
func (s *SQLite) Configure(cfg Config) {
	if before := s.config.Load(); before != nil {
		cfg.Path, cfg.URL, cfg.Logger, cfg.Now = before.Path, before.URL, before.Logger, before.Now
	}
	switch {
	case cfg.SummaryChars == 0:
		cfg.SummaryChars = DefaultSummaryChars
	case cfg.SummaryChars < 0:
		cfg.SummaryChars = -1
	}
	s.config.Store(&cfg)
}

// cfg returns the current configuration.
func (s *SQLite) cfg() *Config { return s.config.Load() }

// Close closes the archive and its file. Running calls fail; later calls return
// ErrClosed. Close can be called more than once.
func (s *SQLite) Close() error { return s.db.Close() }
