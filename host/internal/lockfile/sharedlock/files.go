package sharedlock

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/sqlite"
)

const (
	maxPiece = 8 << 20   // of a row, in bytes
	maxFiles = 256 << 20 // of all files of a version together, in bytes
)

// AddCopy stores the files of a version, as lockfile.Store.AddCopy does, also for the other
// daemons.
func (l *Lock) AddCopy(digest string, files map[string][]byte, source string) (string, error) {
	path, err := l.Store.AddCopy(digest, files, source)
	if err != nil || l.db == nil {
		return path, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if same, err := l.files(ctx, digest); err == nil && maps.EqualFunc(same, files, bytes.Equal) {
		return path, nil
	}
	packed, err := pack(files)
	if err == nil {
		err = l.db.Transact(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "DELETE FROM plugin_files WHERE digest = ?", digest); err != nil {
				return err
			}
			piece := 0
			for data := range slices.Chunk(packed, maxPiece) {
				if _, err := tx.ExecContext(ctx, "INSERT INTO plugin_files (digest, piece, data) VALUES (?, ?, ?)", digest, piece, data); err != nil {
					return err
				}
				piece++
			}
			return nil
		})
	}
	if err != nil {
		return "", failed(err)
	}
	return path, nil
}

// Fetch makes the local copy of a version from the database. The files may be other ones
// than those that were approved.
func (l *Lock) Fetch(ctx context.Context, v *lockfile.Version) error {
	if l.db == nil {
		return errNoFiles
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	files, err := l.files(ctx, v.Digest)
	if err == nil {
		_, err = l.Store.AddCopy(v.Digest, files, "")
	} else if err != errNoFiles {
		l.mu.Lock()
		l.version = -1 // Follow calls again
		l.mu.Unlock()
	}
	return err
}

var errNoFiles = errors.New("the database has no files of this version")

// files returns the files of a version in the database.
func (l *Lock) files(ctx context.Context, digest string) (map[string][]byte, error) {
	var packed []byte
	err := l.db.Each(ctx, "SELECT data FROM plugin_files WHERE digest = ? ORDER BY piece", []any{digest}, func(row sqlite.Row) error {
		var data []byte
		err := row.Scan(&data)
		if packed = append(packed, data...); err == nil && len(packed) > maxFiles {
			err = errNoFiles
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if files, err := unpack(packed); err == nil {
		return files, nil
	}
	return nil, errNoFiles
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

func pack(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}

// unpack reverts pack. It reads no more than maxFiles bytes, whatever packed says.
func unpack(packed []byte) (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, err
	}
	files, room := map[string][]byte{}, int64(maxFiles)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(r, room+1))
		if room -= int64(len(text)); err != nil || room < 0 {
			return nil, errNoFiles
		}
		files[f.Name] = text
	}
	return files, nil
}
