package sharedlock

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/sqlite"
)

const (
	// maxPiece is the size of a row, in bytes. The other daemons write nothing while one is
	// sent, and PostgreSQL cuts off who is silent for two seconds in a transaction.
	maxPiece      = 512 << 10
	maxFiles      = 256 << 20   // of all files of a version together, in bytes
	filesPatience = time.Minute // with the files of one version
	fetchAtOnce   = time.Second // before Follow goes on with it
)

// AddCopy stores the files of a version, as lockfile.Store.AddCopy does, also for the other
// daemons.
func (l *Lock) AddCopy(digest string, files map[string][]byte, source string) (string, error) {
	l.copying.Lock()
	all := files
	if l.db != nil {
		all, _ = l.Store.Files(digest) // there may be none
		maps.Copy(all, files)
	}
	path, err := l.Store.AddCopy(digest, all, source)
	l.copying.Unlock()
	if err == nil && l.db != nil && !l.reads {
		err = l.upload(digest, files)
	}
	if err != nil {
		return "", err
	}
	return path, nil
}

// upload stores the files of a version in the database. Others of the same version stay: the
// same module has other names on other machines. Two daemons may store the same at the same time.
func (l *Lock) upload(digest string, files map[string][]byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), filesPatience)
	defer cancel()
	has := map[string]map[int]string{} // the digests of pieces, by name
	if err := l.db.Each(ctx, "SELECT name, piece, encode(sha256(data), 'hex') FROM plugin_files WHERE digest = ?", []any{digest}, func(row sqlite.Row) error {
		var name, sum string
		var piece int
		err := row.Scan(&name, &piece, &sum)
		if has[name] == nil {
			has[name] = map[int]string{}
		}
		has[name][piece] = sum
		return err
	}); err != nil {
		return failed(err)
	}
	for name, text := range files {
		last := max(0, len(text)-1) / maxPiece
		for piece := range last + 1 {
			data := text[piece*maxPiece : min(len(text), (piece+1)*maxPiece)]
			if sum := sha256.Sum256(data); has[name][piece] == hex.EncodeToString(sum[:]) && (piece < last || len(has[name]) <= last+1) {
				continue
			}
			if err := l.db.Transact(ctx, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO plugin_files (digest, name, piece, data) VALUES (?, ?, ?, ?)
					ON CONFLICT (digest, name, piece) DO UPDATE SET data = excluded.data`, digest, name, piece, append([]byte{}, data...))
				if err == nil && piece == last { // what was there may have been changed
					_, err = tx.ExecContext(ctx, "DELETE FROM plugin_files WHERE digest = ? AND name = ? AND piece > ?", digest, name, piece)
				}
				return err
			}); err != nil {
				return failed(err)
			}
		}
	}
	return nil
}

// uploadAll stores the local copies of all versions: the first daemon gives the others what it
// has.
func (l *Lock) uploadAll(lock *lockfile.Lock) error {
	for _, e := range lock.Plugins {
		for _, v := range e.History {
			if v.Copy == "" {
				continue
			}
			files, err := l.Store.Files(v.Digest)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = l.upload(v.Digest, files)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Fetch makes the local copy of a version from the database. The files may be other ones
// than those that were approved. While Follow runs, it goes on with what is slow.
func (l *Lock) Fetch(ctx context.Context, v *lockfile.Version) error {
	if l.db == nil {
		return errNoFiles
	}
	l.mu.Lock()
	patience := filesPatience
	if l.follows {
		patience = fetchAtOnce
	}
	slow := l.slow[v.Digest]
	l.mu.Unlock()
	if slow {
		return errSlow
	}
	return l.fetch(ctx, v.Digest, patience)
}

var (
	errNoFiles = errors.New("the database has no files of this version")
	errSlow    = errors.New("the files are on their way")
)

func (l *Lock) fetch(ctx context.Context, digest string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	files, err := l.files(ctx, l.db, digest)
	l.mu.Lock()
	if err == nil || err == errNoFiles {
		delete(l.slow, digest)
	} else {
		l.slow[digest] = true
	}
	l.mu.Unlock()
	if err == nil {
		l.copying.Lock()
		defer l.copying.Unlock()
		_, err = l.Store.AddCopy(digest, files, "")
	}
	return err
}

// RemoveUnused deletes the local copies that neither lock nor an earlier weir.lock, which is kept
// beside the file, names.
func (l *Lock) RemoveUnused(lock *lockfile.Lock) {
	locks := []*lockfile.Lock{lock}
	kept, _ := filepath.Glob(l.File + Aside + "*") // the pattern is valid
	for _, file := range kept {
		if old, err := (lockfile.Store{File: file}).Load(); err == nil {
			locks = append(locks, old)
		}
	}
	l.copying.Lock()
	defer l.copying.Unlock()
	l.Store.RemoveUnused(locks...)
}

// fetchSlow fetches what took too long, and calls changed when it is there.
func (l *Lock) fetchSlow(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		l.mu.Lock()
		slow := maps.Clone(l.slow)
		l.mu.Unlock()
		for digest := range slow {
			if l.fetch(ctx, digest, filesPatience) == nil {
				changed()
			}
		}
	}
}

// files returns the files of a version in a database.
func (l *Lock) files(ctx context.Context, db *sqlite.DB, digest string) (map[string][]byte, error) {
	files, room := map[string][]byte{}, maxFiles
	err := db.Each(ctx, "SELECT name, data FROM plugin_files WHERE digest = ? ORDER BY name, piece", []any{digest}, func(row sqlite.Row) error {
		var name string
		var data []byte
		err := row.Scan(&name, &data)
		if room -= len(data); err == nil && room < 0 {
			err = errNoFiles
		}
		files[name] = append(files[name], data...)
		return err
	})
	if err == nil && len(files) == 0 || errors.Is(err, errNoFiles) {
		return nil, errNoFiles
	}
	return files, err
}

// removeUnused deletes the files of versions that no lock names.
func removeUnused(ctx context.Context, tx *sql.Tx, lock *lockfile.Lock) error {
	named := map[string]bool{}
	for _, e := range lock.Plugins {
		for _, v := range e.History {
			named[v.Digest] = named[v.Digest] || v.Copy != ""
		}
	}
	rows, err := tx.QueryContext(ctx, "SELECT DISTINCT digest FROM plugin_files")
	if err != nil {
		return err
	}
	defer rows.Close()
	var unused []string
	for rows.Next() {
		var digest string
		if err := rows.Scan(&digest); err != nil {
			return err
		}
		if !named[digest] {
			unused = append(unused, digest)
		}
	}
	err = rows.Err()
	for _, digest := range unused {
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM plugin_files WHERE digest = ?", digest)
		}
	}
	return err
}
