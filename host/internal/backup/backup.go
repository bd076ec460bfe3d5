// Package backup writes a data folder into one file and restores it. The file is a
// gzipped tar: backup.json first (an Info), then the files of the folder by their
// names in it. The archive is a snapshot of one moment, so a daemon may write to it
// meanwhile. Restore unpacks into a temporary folder inside the data folder, checks
// everything, and then renames: a failure leaves the folder as it was.
package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/installkey"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/internal/toolmeta"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	format      = 1
	headName    = "backup.json"
	archiveName = "archive.db"
)

// AsidePrefix begins the name of the folder into which Restore moves what was in
// the data folder.
const AsidePrefix = config.AsidePrefix

// An Info is what backup.json says.
type Info struct {
	Format  int       `json:"format"`
	Weir    string    `json:"weir"`
	Created time.Time `json:"created"`
	// Results is the number of archived results, 0 without an archive.
	Results int `json:"results"`
}

// A Written is a backup that Write has made.
type Written struct {
	Info  Info
	Bytes int64
	// Skipped are the names that are neither a file nor a folder. They are not in the
	// backup.
	Skipped []string
}

// excluded reports whether an entry of a data folder belongs to one process, or is
// made again when it is missing. No backup has such entries.
func excluded(name string) bool {
	return name == "lock" || name == "lock.daemon" || name == "daemon.json" || name == "cache" || name == headName ||
		strings.HasPrefix(name, archiveName) || strings.HasPrefix(name, AsidePrefix) || strings.HasPrefix(name, config.RestorePrefix)
}

// Write writes the data folder into a file that only its owner can read. It
// replaces an existing file only if force is set, and only when the backup is
// complete. The archive is where the configuration of source has it. version is that of
// weir. progress receives what is in progress.
func Write(ctx context.Context, source config.Source, p config.Paths, file, version string, force bool, progress func(tool.Text)) (w Written, err error) {
	database, err := databaseOf(source, p)
	if err != nil {
		return w, err
	}
	if _, err := os.Stat(p.Data); err != nil {
		return w, msg.Usagef("give the folder with --data", "there is no data folder %s", p.Data)
	}
	if _, err := os.Lstat(file); err == nil && !force {
		return w, msg.Usagef("choose another name, or replace it with --force", "%s exists already", file)
	}
	temp, err := os.MkdirTemp(filepath.Dir(file), ".weir-backup-")
	if err != nil {
		return w, unwritable("choose a folder that can be written", file, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	w.Info = Info{Format: format, Weir: version, Created: time.Now().UTC().Truncate(time.Second)}
	snapshot := filepath.Join(temp, archiveName)
	progress(tool.Textf("copying the archive"))
	switch err := take(ctx, p, database, snapshot); {
	case errors.Is(err, fs.ErrNotExist):
		snapshot = ""
	case err != nil:
		return w, config.OpenProblem(p, err)
	default:
		h, err := archive.Examine(ctx, snapshot)
		if err != nil {
			return w, err
		}
		w.Info.Results = h.Results
	}
	progress(tool.Textf("writing %s", file))
	part := filepath.Join(temp, "backup")
	if w.Skipped, err = writeFile(ctx, part, p.Data, snapshot, w.Info); err != nil {
		return w, unwritable("free some space, or choose another folder", file, err)
	}
	if err := os.Rename(part, file); err != nil {
		return w, unwritable("choose another name", file, err)
	}
	st, err := os.Stat(file)
	if err != nil {
		return w, err
	}
	w.Bytes = st.Size()
	return w, nil
}

// databaseOf returns the URL of the PostgreSQL database that has the archive, empty if it is
// a file. A configuration with faults is one without a URL, unless it may have one: its text
// cannot be read, or speaks of a store.
func databaseOf(source config.Source, p config.Paths) (string, error) {
	l, err := source.Load(p)
	if err == nil {
		err = l.Err()
	}
	if err != nil && l.Settings.Store.URL == nil {
		text, unread := os.ReadFile(p.Config)
		if p.Config == "" || unread == nil && !regexp.MustCompile(`(?m)^\s*\[?\s*["']?store\b`).Match(text) {
			return "", nil
		}
	}
	return l.Settings.Store.Database(), err
}

// take writes a copy of the archive, as it is at one moment, to a new SQLite file.
func take(ctx context.Context, p config.Paths, database, to string) error {
	if database == "" {
		return archive.Snapshot(ctx, p.Archive, to)
	}
	_, err := Copy(ctx, sqlite.Options{URL: database, ReadOnly: true}, sqlite.Options{Path: to}, false, nil)
	return err
}

// Copy copies all tables from a file into an empty database, or from a database into a new
// file, and returns what it compared. If it fails, the database is empty and there is no file.
// check, unless it is nil, may refuse it before. Scripts do not go on in a copy that is apart.
func Copy(ctx context.Context, from, to sqlite.Options, apart bool, check func(ctx context.Context, source, target *sqlite.DB) error) (copied []sqlite.Table, err error) {
	path := to.Path
	if path != "" {
		if err := free(path); err != nil {
			return nil, err
		}
		to.Path = path + ".part"
		remove := func() {
			for _, end := range ends {
				_ = os.Remove(to.Path + end) // it may not be there
			}
		}
		remove()
		defer remove()
	}
	if err := both(ctx, from, to, func(source, target *sqlite.DB) error {
		if check != nil {
			if err := check(ctx, source, target); err != nil {
				return err
			}
		}
		if copied, err = sqlite.Copy(ctx, source, target); err != nil || !apart {
			return err
		}
		return errors.Join(journal.MarkRestored(ctx, target), target.TruncateLog(ctx))
	}); err != nil || path == "" {
		return copied, err
	}
	return copied, name(to.Path, path)
}

// ends are those of the names of the files that SQLite has for a database.
var ends = []string{"", "-wal", "-shm", "-journal"}

// free refuses the path of a new database beside which SQLite would find another one's log,
// and write it into the new one.
func free(path string) error {
	for _, end := range ends {
		if _, err := os.Lstat(path + end); !errors.Is(err, fs.ErrNotExist) {
			return msg.Usagef("move the old archive away, with the files beside it: -wal, -shm and -journal", "%s exists already", path+end)
		}
	}
	return nil
}

// name gives a complete database, which has no log any more, its name, also on the disk.
func name(part, path string) error {
	if st, err := os.Stat(part + "-wal"); err == nil && st.Size() > 0 {
		return msg.Problemf(msg.Storage, "free some space, or choose another folder", "%s cannot be written: %s", path, tool.Textf("its log is not empty"))
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	_ = dir.Sync() // some file systems cannot do so
	return dir.Close()
}

// Compare returns what the tables of a file and of a database have.
func Compare(ctx context.Context, a, b sqlite.Options) (in [2][]sqlite.Table, err error) {
	err = both(ctx, a, b, func(a, b *sqlite.DB) error {
		in, err = sqlite.Compare(ctx, a, b)
		return err
	})
	return in, err
}

// both opens two stores. A file that is to be read must be there.
func both(ctx context.Context, a, b sqlite.Options, do func(a, b *sqlite.DB) error) (err error) {
	if a.Path != "" {
		if _, err := os.Stat(a.Path); err != nil {
			return msg.Usagef("give another folder", "there is no archive %s", a.Path)
		}
	}
	first, err := sqlite.Open(ctx, a, tables()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.Close()) }()
	second, err := sqlite.Open(ctx, b, tables()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.Close()) }()
	return do(first, second)
}

// tables are those of every owner.
func tables() []sqlite.Schema {
	return []sqlite.Schema{archive.Schema(), store.Schema(), journal.Schema(), toolmeta.Schema(), sharedlock.Schema(), installkey.Schema()}
}

func unwritable(hint, file string, err error) error {
	return msg.Problemf(msg.Storage, hint, "%s cannot be written: %s", file, msg.Reason(err))
}

// writeFile writes the backup and returns the names that it cannot hold.
func writeFile(ctx context.Context, file, data, snapshot string, info Info) (skipped []string, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	gz, err := gzip.NewWriterLevel(f, gzip.BestSpeed) // the archive is compressed already
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(gz)
	head, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := tw.WriteHeader(&tar.Header{Name: headName, Mode: 0o600, Size: int64(len(head)), ModTime: info.Created}); err != nil {
		return nil, err
	}
	if _, err := tw.Write(head); err != nil {
		return nil, err
	}
	if snapshot != "" {
		if err := addFile(tw, snapshot, archiveName); err != nil {
			return nil, err
		}
	}
	if skipped, err = addFolder(ctx, tw, data); err != nil {
		return nil, err
	}
	return skipped, errors.Join(tw.Close(), gz.Close(), f.Sync())
}

func addFolder(ctx context.Context, tw *tar.Writer, data string) (skipped []string, err error) {
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(data, path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			return nil
		case err != nil || relErr != nil || ctx.Err() != nil:
			return errors.Join(err, relErr, ctx.Err())
		case name == ".":
			return nil
		case !strings.Contains(name, string(filepath.Separator)) && excluded(name):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: filepath.ToSlash(name) + "/", Mode: 0o700})
		case !d.Type().IsRegular():
			skipped = append(skipped, name)
			return nil
		}
		if err := addFile(tw, path, filepath.ToSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	slices.Sort(skipped)
	return skipped, err
}

// addFile adds a file with the size that it has when it is opened.
func addFile(tw *tar.Writer, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: int64(st.Mode().Perm()), Size: st.Size(), ModTime: st.ModTime()}); err != nil {
		return err
	}
	_, err = io.CopyN(tw, f, st.Size())
	return err
}
