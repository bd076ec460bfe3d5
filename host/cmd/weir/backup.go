package main

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
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/term"
)

// A backup is a gzipped tar: backup.json first, then the files of the data
// folder by their names in it, the archive as a snapshot of one moment.
const (
	backupVersion = 1
	backupHead    = "backup.json"
	archiveName   = "archive.db"
)

// aside is how a restore names the folder for what was there before.
const aside = "before-restore-"

// A backupInfo is what backup.json says.
type backupInfo struct {
	Format  int       `json:"format"`
	Weir    string    `json:"weir"`
	Created time.Time `json:"created"`
	Results int       `json:"results"` // of the archive; 0 too where there is none
}

// left are the entries of a data folder that no backup holds: they are of one
// process, or made again by themselves.
func left(name string) bool {
	return name == "lock" || name == "daemon.json" || name == "cache" || name == backupHead ||
		strings.HasPrefix(name, archiveName) || strings.HasPrefix(name, aside) || strings.HasPrefix(name, ".restore-")
}

func (c *cli) backupCmd() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write the data folder into one file, also while a daemon runs", Args: argCount(1, 1, "one file"),
		Long: "Write everything of the data folder into FILE: conversations, archived results, what was approved, and the token.\n" +
			"The archive is copied as it is at one moment, also while a daemon writes to it. tools.toml and .env lie\n" +
			"elsewhere and are not in it. Keep FILE as private as the data folder; it is made for your eyes alone (0600).",
		RunE: func(cmd *cobra.Command, args []string) error { return c.backup(cmd.Context(), args[0], force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	return cmd
}

func (c *cli) backup(ctx context.Context, file string, force bool) (err error) {
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	if _, err := os.Stat(p.Data); err != nil {
		return usagef("give the folder with --data", "there is no data folder %s", p.Data)
	}
	if _, err := os.Lstat(file); err == nil && !force {
		return usagef("choose another name, or replace it with --force", "%s is there already", file)
	}
	temp, err := os.MkdirTemp(filepath.Dir(file), ".weir-backup-")
	if err != nil {
		return config.StorageProblem("choose a folder that can be written", "%s cannot be written: %s", file, config.Reason(err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	info := backupInfo{Format: backupVersion, Weir: version(), Created: time.Now().UTC().Truncate(time.Second)}
	snapshot := filepath.Join(temp, archiveName)
	tell, done := c.Progress(c.say("copying the archive", "正在复制存档"))
	defer done()
	switch err := archive.Snapshot(ctx, p.Archive, snapshot); {
	case errors.Is(err, fs.ErrNotExist):
		snapshot = ""
	case err != nil:
		return config.OpenProblem(p, err)
	default:
		h, err := archive.Examine(ctx, snapshot)
		if err != nil {
			return err
		}
		info.Results = h.Results
	}
	tell(c.say("writing "+file, "正在写入 "+file))
	part := filepath.Join(temp, "backup")
	skipped, err := writeBackup(ctx, part, p.Data, snapshot, info)
	if err != nil {
		return config.StorageProblem("free some space, or choose another folder", "%s cannot be written: %s", file, config.Reason(err))
	}
	if err := os.Rename(part, file); err != nil {
		return config.StorageProblem("choose another name", "%s cannot be written: %s", file, config.Reason(err))
	}
	done()
	return c.tellBackup(file, info, skipped)
}

func (c *cli) tellBackup(file string, info backupInfo, skipped []string) error {
	st, err := os.Stat(file)
	if err != nil {
		return err
	}
	if skipped == nil {
		skipped = []string{}
	}
	if c.JSON {
		c.Print(map[string]any{"file": file, "bytes": st.Size(), "results": info.Results, "created": info.Created, "skipped": skipped})
		return nil
	}
	c.outf("%s: %d archived results, %s bytes\n", file, info.Results, term.Grouped(int(st.Size())))
	for _, name := range skipped {
		c.errf("weir: %s is no file and no folder, and is not in it\n", name)
	}
	c.errf("weir: it holds conversations and the token; keep it to yourself\n")
	return nil
}

// writeBackup makes the file and returns the names that cannot be kept in one.
func writeBackup(ctx context.Context, file, data, snapshot string, info backupInfo) (skipped []string, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	gz, err := gzip.NewWriterLevel(f, gzip.BestSpeed) // most of it is compressed already
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(gz)
	head, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := tw.WriteHeader(&tar.Header{Name: backupHead, Mode: 0o600, Size: int64(len(head)), ModTime: info.Created}); err != nil {
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
		case errors.Is(err, fs.ErrNotExist): // it went away meanwhile
			return nil
		case err != nil || relErr != nil || ctx.Err() != nil:
			return errors.Join(err, relErr, ctx.Err())
		case name == ".":
			return nil
		case !strings.Contains(name, string(filepath.Separator)) && left(name):
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

// addFile adds as much of a file as it had when it was opened.
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
