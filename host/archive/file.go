package archive

import (
	"context"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver named "sqlite"
)

const (
	// applicationID marks the file as ours in its header: "weir" in ASCII.
	applicationID = 0x77656972
	// maxText is what SQLite stores in one field at most, in bytes.
	maxText = 1_000_000_000
	readers = 4
	magic   = "SQLite format 3\x00"
)

//go:embed migrations/*.sql
var migrations embed.FS

// openFile leaves s with two pools on a checked file with current tables.
func (s *Store) openFile(ctx context.Context, h hooks) error {
	if s.cfg().Path == "" {
		return errors.New("the archive needs a path")
	}
	path, err := filepath.Abs(s.cfg().Path)
	if err != nil {
		return err
	}
	if h.fresh, err = s.prepareFile(path); err != nil {
		return err
	}
	if h.frozen = h.frozen || frozen(path); h.frozen {
		h.readOnly = true
		s.log.Warn("the archive lies on a disk that is read-only; nothing can be kept", "path", path)
	}
	version := int64(0)
	if !h.fresh {
		if version, err = inspect(ctx, path, h.frozen); err != nil {
			return err
		}
	}
	if s.write, err = sql.Open("sqlite", dataSource(path, true, h)); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	s.write.SetMaxIdleConns(1)
	if err := s.migrate(ctx, path, version); err != nil {
		return err
	}
	if s.read, err = sql.Open("sqlite", dataSource(path, false, h)); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	return nil
}

// prepareFile makes folder and file private before SQLite sees them (SQLite
// gives its log the mode of the file) and reports whether the file is empty.
func (s *Store) prepareFile(path string) (fresh bool, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("making the archive's folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return true, errors.Join(f.Close(), s.syncDir(dir))
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("making the archive: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("opening the archive: %w", err)
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a file", path)
	}
	if fresh, err = checkHeader(path); err != nil {
		return false, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
			s.log.Warn("others may read the archive", "path", path, "mode", info.Mode().Perm())
		}
	}
	return fresh, nil
}

// frozen reports whether a file lies on a disk that nobody can write. SQLite
// cannot make its log there, and is told that nothing will change.
func frozen(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, syscall.EROFS)
}

// syncDir makes a new file's name as durable as its content will be. Some file
// systems cannot sync a folder; the file itself is synced all the same.
func (s *Store) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		s.log.Debug("the archive's folder cannot be synced", "dir", dir, "error", err)
	}
	return nil
}

// checkHeader refuses a file that is something else before SQLite sees it: to
// set the journal mode would write into it. An empty file is a new archive.
func checkHeader(path string) (fresh bool, err error) {
	const idAt = 68 // where a SQLite file keeps its application id
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("opening the archive: %w", err)
	}
	defer f.Close()
	head := make([]byte, idAt+4)
	n, err := io.ReadFull(f, head)
	if n == 0 && errors.Is(err, io.EOF) {
		return true, nil
	}
	if err != nil || string(head[:len(magic)]) != magic || binary.BigEndian.Uint32(head[idAt:]) != applicationID {
		return false, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	return false, nil
}

// dataSource writes the name under which the driver opens path. The driver runs
// _auto_vacuum first, which only works before the first page exists, and then
// the pragmas in alphabetical order.
func dataSource(path string, writer bool, h hooks) string {
	pragmas := []string{"busy_timeout(5000)"}
	if writer {
		if h.fresh {
			// Marking the file writes its first page, so that there never is an
			// unmarked one.
			pragmas = append(pragmas, "application_id("+strconv.Itoa(applicationID)+")")
		}
		pragmas = append(pragmas, "journal_mode(WAL)", "synchronous(FULL)", "secure_delete(ON)", "journal_size_limit(67108864)")
	} else {
		pragmas = append(pragmas, "query_only(ON)")
	}
	// Nothing of a text may come to lie in a temporary file.
	pragmas = append(pragmas, "temp_store(MEMORY)", "foreign_keys(ON)", "cache_size(-8000)")
	if h.maxPages > 0 && writer {
		pragmas = append(pragmas, "max_page_count("+strconv.Itoa(h.maxPages)+")")
	}
	q := url.Values{"_pragma": pragmas}
	if writer {
		q.Set("_txlock", "immediate")
		if h.fresh {
			q.Set("_auto_vacuum", "INCREMENTAL")
		}
	}
	if h.readOnly {
		q.Set("mode", "ro")
	}
	if h.frozen {
		q.Set("immutable", "1")
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path // a drive letter
	}
	return u.String()
}

// inspect reads a file that is not empty without writing to it: whether it is
// whole, and which version its tables have.
func inspect(ctx context.Context, path string, frozen bool) (version int64, err error) {
	db, err := sql.Open("sqlite", dataSource(path, false, hooks{readOnly: true, frozen: frozen}))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return 0, wrap(ctx, path, err)
	}
	if verdict != "ok" {
		return 0, fmt.Errorf("%s: %w: %s", path, ErrDamaged, oneLine(verdict))
	}
	var versioned int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'").Scan(&versioned); err != nil {
		return 0, wrap(ctx, path, err)
	}
	if versioned == 0 { // whoever created it was stopped right then
		return 0, nil
	}
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	return version, wrap(ctx, path, err)
}

// migrate brings the tables up to date from a version, and writes nothing when
// they are.
func (s *Store) migrate(ctx context.Context, path string, version int64) error {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.write, sub, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return wrap(ctx, "bringing "+path+" up to date", err)
	}
	sources := p.ListSources()
	switch target := sources[len(sources)-1].Version; {
	case version > target:
		return fmt.Errorf("%s: %w (its version is %d, this weir knows %d)", path, ErrNewer, version, target)
	case version == target:
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return wrap(ctx, "bringing "+path+" up to date", err)
	}
	return nil
}
