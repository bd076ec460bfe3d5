package archive

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/klauspost/compress/zstd"
)

// What a store keeps and shows when the operator says nothing. Open takes
// them for nothing by itself: a zero Config keeps everything.
const (
	DefaultMaxAge       = 30 * 24 * time.Hour
	DefaultMaxBytes     = 2 << 30
	DefaultSummaryChars = 200
)

// Config says where a store lies, how long it keeps what, and who sees it.
type Config struct {
	// Path is the database file. It is created with mode 0600, its folder with
	// 0700; an existing folder keeps its mode. Empty is an error.
	Path string
	// MaxAge is how long a text is kept. 0 or negative: for ever.
	MaxAge time.Duration
	// MaxBytes bounds the texts of everyone together, and MaxBytesPerPrincipal
	// those of each principal, in bytes as they lie on disk, compressed or not.
	// 0 or negative: no bound.
	MaxBytes, MaxBytesPerPrincipal int64
	// MaxCount bounds the number of texts of everyone together, and
	// MaxCountPerPrincipal that of each principal. 0 or negative: no bound.
	MaxCount, MaxCountPerPrincipal int
	// UserScope lets every conversation of a principal read the archives of all
	// of that principal's conversations. False: each sees its own alone.
	UserScope bool
	// SummaryChars is the length of the summary that Put writes into an Entry
	// that has none, in characters. 0: DefaultSummaryChars; negative: no summary.
	SummaryChars int
	// Logger is told what maintenance does. Nil: nobody is.
	Logger hclog.Logger
	// Now tells the time. Nil: time.Now.
	Now func() time.Time
}

// A Store is an open archive. Its methods may be called concurrently; writes at
// the same time are synced to disk together, reads run beside them.
type Store struct {
	rules atomic.Pointer[Config]
	log   hclog.Logger
	now   func() time.Time
	write *sql.DB // one connection
	read  *sql.DB // several, query_only
	dec   *zstd.Decoder
	spare spare

	line  line
	stmts [statements]*sql.Stmt // of the writer
	get   *sql.Stmt
	said  *sql.Stmt // a conversation's messages

	// owed says that the log could not be emptied after a deletion.
	owed    atomic.Bool
	closing sync.Once
	closed  error
}

// hooks change how the file is opened, for the tests of what can go wrong.
type hooks struct {
	maxPages int  // the file may not grow over so many pages; 0: it may
	readOnly bool // the file refuses every write
	fresh    bool // the file is empty; openFile finds out itself
	frozen   bool // the disk refuses every write; openFile finds out itself
}

// Open opens the archive in cfg.Path, creates it when it is missing, checks
// it and brings its tables up to date. A file that is damaged, that is not an
// archive, or that a newer weir wrote is refused and left as it is. A
// file that may only be read can be opened: every write then answers ErrFull.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	return open(ctx, cfg, hooks{})
}

func open(ctx context.Context, cfg Config, h hooks) (s *Store, err error) {
	s = &Store{log: cfg.Logger, now: cfg.Now}
	s.Rule(cfg)
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	if s.now == nil {
		s.now = time.Now
	}
	defer func() {
		if err != nil {
			s.Close()
			s = nil
		}
	}()
	if err := s.openFile(ctx, h); err != nil {
		return s, err
	}
	// It only reads what an earlier weir compressed.
	if s.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxText)); err != nil {
		return s, err
	}
	for stmt, text := range map[**sql.Stmt]string{&s.get: getSQL, &s.said: messagesSQL} {
		if *stmt, err = s.read.PrepareContext(ctx, text); err != nil {
			return s, wrap(ctx, "opening the archive", err)
		}
	}
	return s, wrap(ctx, "opening the archive", s.prepare(ctx))
}

// Rule has the store keep, show and summarise as cfg says from now on. Its Path,
// Logger and Now stay those of Open. What is too old or too much by now goes
// with the next Prune.
func (s *Store) Rule(cfg Config) {
	if before := s.rules.Load(); before != nil {
		cfg.Path, cfg.Logger, cfg.Now = before.Path, before.Logger, before.Now
	}
	switch {
	case cfg.SummaryChars == 0:
		cfg.SummaryChars = DefaultSummaryChars
	case cfg.SummaryChars < 0:
		cfg.SummaryChars = -1
	}
	s.rules.Store(&cfg)
}

// cfg is what is in force.
func (s *Store) cfg() *Config { return s.rules.Load() }

// Close ends the store. Calls still running fail; calls made later answer
// ErrClosed. Closing twice is allowed.
func (s *Store) Close() error {
	s.closing.Do(func() {
		var errs []error
		for _, stmt := range append(s.stmts[:], s.get, s.said) {
			if stmt != nil {
				errs = append(errs, stmt.Close())
			}
		}
		// The writer closes last: the last connection takes the log file away.
		for _, db := range []*sql.DB{s.read, s.write} {
			if db != nil {
				errs = append(errs, db.Close())
			}
		}
		if s.dec != nil {
			s.dec.Close()
		}
		s.closed = errors.Join(errs...)
	})
	return s.closed
}
