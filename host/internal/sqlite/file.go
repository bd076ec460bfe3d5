package sqlite

import (
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

	"github.com/weirhost/weir/host/internal/msg"
)

const (
	// applicationID marks the file as weir's in its header: "weir" in ASCII.
	applicationID = 0x77656972
	magic         = "SQLite format 3\x00"
)

// prepareFile creates the folder and the file with private modes before SQLite
// opens it, because SQLite gives its log the mode of the file. It reports whether
// the file is empty.
func (db *DB) prepareFile(path string) (empty bool, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, msg.Errorf("the archive's folder cannot be made: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return true, errors.Join(f.Close(), db.syncDir(dir))
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, msg.Errorf("the archive cannot be made: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, msg.Errorf("the archive cannot be opened: %w", err)
	}
	if !info.Mode().IsRegular() {
		return false, msg.Errorf("%s is not a file", path)
	}
	if empty, err = checkHeader(path); err != nil {
		return false, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
			db.log.Warn("other users may read the archive", "path", path, "mode", info.Mode().Perm())
		}
	}
	return empty, nil
}

// onReadOnlyDisk reports whether a file is on a disk that is mounted read-only.
// SQLite cannot create its log there, and opens the file as immutable.
func onReadOnlyDisk(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, syscall.EROFS)
}

// syncDir makes the name of a new file durable. Some file systems cannot sync a
// folder; the file itself is synced in any case.
func (db *DB) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		db.log.Debug("the archive's folder cannot be synced", "dir", dir, "error", err)
	}
	return nil
}

// checkHeader refuses a file of another program before SQLite opens it, because
// setting the journal mode would write to it. It reports whether the file is empty,
// which is a new database.
func checkHeader(path string) (empty bool, err error) {
	const idOffset = 68 // of the application id in the header
	f, err := os.Open(path)
	if err != nil {
		return false, msg.Errorf("the archive cannot be opened: %w", err)
	}
	defer f.Close()
	head := make([]byte, idOffset+4)
	n, err := io.ReadFull(f, head)
	if n == 0 && errors.Is(err, io.EOF) {
		return true, nil
	}
	if err != nil || string(head[:len(magic)]) != magic || binary.BigEndian.Uint32(head[idOffset:]) != applicationID {
		return false, msg.Errorf("%s: %w", path, ErrForeign)
	}
	return false, nil
}

// A mode is how a file is opened.
type mode struct {
	writer bool
	empty  bool // the file has no content yet
	Faults
}

// dataSource returns the data source name with which the driver opens path. The
// driver runs _auto_vacuum first, which only works before the first page exists, and
// then the pragmas in alphabetical order.
func dataSource(path string, m mode) string {
	pragmas := []string{"busy_timeout(5000)"}
	if m.writer {
		if m.empty {
			// The mark is part of the first page, so that an unmarked file never exists.
			pragmas = append(pragmas, "application_id("+strconv.Itoa(applicationID)+")")
		}
		pragmas = append(pragmas, "journal_mode(WAL)", "synchronous(FULL)", "secure_delete(ON)", "journal_size_limit(67108864)")
	} else {
		pragmas = append(pragmas, "query_only(ON)")
	}
	// temp_store keeps content out of temporary files.
	pragmas = append(pragmas, "temp_store(MEMORY)", "foreign_keys(ON)", "cache_size(-8000)")
	if m.MaxPages > 0 && m.writer {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", m.MaxPages))
	}
	q := url.Values{"_pragma": pragmas}
	if m.writer {
		q.Set("_txlock", "immediate")
		if m.empty {
			q.Set("_auto_vacuum", "INCREMENTAL")
		}
	}
	if m.ReadOnly || m.ReadOnlyDisk {
		q.Set("mode", "ro")
	}
	if m.ReadOnlyDisk {
		q.Set("immutable", "1")
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path // a drive letter
	}
	return u.String()
}
