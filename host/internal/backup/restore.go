package backup

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// maxHead bounds backup.json, in bytes.
const maxHead = 1 << 16

// Restore puts a backup into the data folder, whose lock the caller must hold. It
// refuses a folder with content unless replace is set; it then moves that content
// into a new folder beside it and returns that folder as before. Nothing is deleted. The
// archive goes into the database that the configuration of source names, which must be
// empty, or, if it names none, into the folder.
func Restore(ctx context.Context, source config.Source, p config.Paths, file string, replace bool) (info Info, before string, err error) {
	database, err := databaseOf(source, p)
	if err != nil {
		return info, "", err
	}
	old, err := content(p.Data)
	if err != nil {
		return info, "", err
	}
	if len(old) > 0 && !replace {
		return info, "", msg.Usagef("--replace moves it aside; --data DIR names another folder", "the data folder %s holds something already: %s", p.Data, term.OneLine(strings.Join(old, ", "), 100))
	}
	temp, err := os.MkdirTemp(p.Data, config.RestorePrefix)
	if err != nil {
		return info, "", msg.Problemf(msg.Storage, config.Elsewhere, "the data folder %s cannot be written: %s", p.Data, msg.Reason(err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	info, names, err := unpack(ctx, file, temp)
	if err != nil {
		return info, "", err
	}
	if h, err := archive.Examine(ctx, filepath.Join(temp, archiveName)); err == nil {
		info.Results = h.Results
	} else if !errors.Is(err, fs.ErrNotExist) {
		return info, "", msg.Usagef("the data folder is as it was", "the backup's archive cannot be used: %s", strings.ReplaceAll(err.Error(), temp+string(filepath.Separator), ""))
	}
	if err := endScripts(ctx, filepath.Join(temp, archiveName)); err != nil {
		return info, "", msg.Problemf(msg.Storage, "the data folder is as it was", "the scripts of the backup cannot be ended: %s", strings.ReplaceAll(err.Error(), temp+string(filepath.Separator), ""))
	}
	last := func() error { return nil }
	if database != "" && slices.Contains(names, archiveName) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == archiveName })
		last = func() error {
			_, err := Copy(ctx, sqlite.Options{Path: filepath.Join(temp, archiveName)}, sqlite.Options{URL: database}, false, nil)
			if err == nil {
				return nil
			}
			hint := "the data folder is as it was"
			if errors.Is(err, sqlite.ErrNotEmpty) {
				hint = "the data folder is as it was; give an empty database"
			}
			return msg.Problemf(msg.Storage, hint, "the backup's results cannot be put into the database: %s", err)
		}
	}
	before, err = exchange(p.Data, temp, old, names, last)
	return info, before, err
}

// endScripts sees to it that no script of a backup goes on: it would do again what it did
// after the backup was made.
func endScripts(ctx context.Context, file string) (err error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: file})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return journal.MarkRestored(ctx, db)
}

// content lists the entries of a data folder that a restore would replace.
func content(data string) ([]string, error) {
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, msg.Problemf(msg.Storage, "check its permissions", "the data folder %s cannot be read: %s", data, msg.Reason(err))
	}
	var out []string
	for _, e := range entries {
		if name := e.Name(); !excluded(name) || strings.HasPrefix(name, archiveName) {
			out = append(out, name)
		}
	}
	return out, nil
}

// unpack unpacks a backup into dir. It returns its Info and the names of its
// top-level entries.
func unpack(ctx context.Context, file, dir string) (info Info, names []string, err error) {
	damaged := func(why any) error {
		if err, ok := why.(error); ok {
			why = fault(err)
		}
		return msg.Usagef("take another copy; the data folder is as it was", "%s is no backup of weir, or it is damaged: %v", file, why)
	}
	f, err := os.Open(file)
	if err != nil {
		return info, nil, msg.Usagef("check the path", "%s cannot be read: %s", file, msg.Reason(err))
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return info, nil, damaged(err)
	}
	tr := tar.NewReader(gz)
	for first := true; ; first = false {
		h, err := tr.Next()
		switch {
		case err == io.EOF && !first:
			_, err = io.Copy(io.Discard, gz) // this verifies the checksum at the end
			if err != nil {
				return info, nil, damaged(err)
			}
			return info, names, nil
		case err != nil:
			return info, nil, damaged(err)
		case ctx.Err() != nil:
			return info, nil, ctx.Err()
		case first:
			if h.Name != headName || json.NewDecoder(io.LimitReader(tr, maxHead)).Decode(&info) != nil || info.Format < 1 {
				return info, nil, damaged(tool.Textf("it does not begin with %s", headName))
			}
			if info.Format > format {
				return info, nil, msg.Usagef("update weir; the data folder is as it was", "%s was written by a newer weir (%s)", file, info.Weir)
			}
			continue
		}
		name := filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
		top, _, _ := strings.Cut(name, string(filepath.Separator))
		if !filepath.IsLocal(name) || excluded(top) && name != archiveName || h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg {
			return info, nil, damaged(tool.Textf("an entry named %q does not belong there", term.OneLine(h.Name, 80)))
		}
		if err := unpackEntry(tr, h, filepath.Join(dir, name)); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return info, nil, damaged(err)
			}
			return info, nil, msg.Problemf(msg.Storage, config.Elsewhere, "the data folder cannot be written: %s", msg.Reason(err))
		}
		if !slices.Contains(names, top) {
			names = append(names, top)
		}
	}
}

// fault returns what is wrong with a backup, without the words of the packages that read it.
func fault(err error) any {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return tool.Textf("it is cut short")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, tar.ErrHeader):
		return tool.Textf("it has another form")
	case errors.Is(err, gzip.ErrChecksum):
		return tool.Textf("its checksum does not fit")
	}
	if at, ok := errors.AsType[flate.CorruptInputError](err); ok {
		return tool.Textf("it cannot be unpacked from byte %d on", int64(at))
	}
	return msg.Reason(err)
}

// unpackEntry makes one file or folder that only its owner can read.
func unpackEntry(tr *tar.Reader, h *tar.Header, path string) error {
	if h.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode)&0o700|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, tr)
	return errors.Join(err, f.Sync(), f.Close())
}

// exchange moves the old entries aside and the unpacked names into their place, and does
// what is last, which cannot be undone. If a step fails, it undoes the steps before. It
// returns the folder of the old entries, "" without any.
func exchange(data, temp string, old, names []string, last func() error) (before string, err error) {
	var undo []func() error
	move := func(from, to string) error {
		if err := os.Rename(from, to); err != nil {
			return err
		}
		undo = append(undo, func() error { return os.Rename(to, from) })
		return nil
	}
	defer func() {
		if err != nil {
			for _, f := range slices.Backward(undo) {
				err = errors.Join(err, f())
			}
		}
	}()
	if len(old) > 0 {
		folder, err := os.MkdirTemp(data, AsidePrefix+time.Now().UTC().Format("20060102-150405-"))
		if err != nil {
			return "", err
		}
		undo = append(undo, func() error { return os.Remove(folder) })
		before = folder
	}
	for _, name := range old {
		if err := move(filepath.Join(data, name), filepath.Join(before, name)); err != nil {
			return "", err
		}
	}
	for _, name := range names {
		if err := move(filepath.Join(temp, name), filepath.Join(data, name)); err != nil {
			return "", err
		}
	}
	if err := last(); err != nil {
		return "", err
	}
	return before, nil
}
