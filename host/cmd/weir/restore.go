package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// maxHead bounds backup.json, in bytes.
const maxHead = 1 << 16

func (c *cli) restoreCmd() *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Put a backup into the data folder, while no daemon runs", Args: argCount(1, 1, "one file"),
		Long: "Put what `weir backup` wrote into the data folder. No daemon may run there. A folder that holds something\n" +
			"is left alone unless --replace is given; then what was there is moved into a folder beside it, named\n" +
			aside + "…, and nothing is deleted. A backup of a newer weir is refused.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.restore(cmd.Context(), args[0], replace) },
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "put it in the place of what is there, which is moved aside")
	return cmd
}

func (c *cli) restore(ctx context.Context, file string, replace bool) (err error) {
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	lock, err := lockData(ctx, p)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // the file stays, as app.close says
	there, err := present(p.Data)
	if err != nil {
		return err
	}
	if len(there) > 0 && !replace {
		return usagef("--replace moves it aside; --data DIR names another folder", "the data folder %s holds something already: %s", p.Data, term.OneLine(join(there), 100))
	}
	_, done := c.Progress(c.say("reading ", "正在读取 ") + file)
	defer done()
	temp, err := os.MkdirTemp(p.Data, ".restore-")
	if err != nil {
		return config.StorageProblem(config.Elsewhere, "the data folder %s cannot be written: %s", p.Data, config.Reason(err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	info, names, err := readBackup(ctx, file, temp)
	if err != nil {
		return err
	}
	if h, err := archive.Examine(ctx, filepath.Join(temp, archiveName)); err == nil {
		info.Results = h.Results
	} else if !errors.Is(err, fs.ErrNotExist) {
		return usagef("the data folder is as it was", "the backup's archive cannot be used: %s", strings.ReplaceAll(err.Error(), temp+string(filepath.Separator), ""))
	}
	old, err := exchange(p.Data, temp, there, names)
	if err != nil {
		return err
	}
	done()
	if c.JSON {
		c.Print(map[string]any{"data": p.Data, "results": info.Results, "created": info.Created, "weir": info.Weir, "before": old})
		return nil
	}
	c.outf("%s: %d archived results, as of %s\n", p.Data, info.Results, info.Created.Local().Format(time.DateTime))
	if old != "" {
		c.errf("weir: what was there lies in %s\n", old)
	}
	return nil
}

// present lists the entries of a data folder that a restore would replace.
func present(data string) ([]string, error) {
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, config.StorageProblem("check its permissions", "the data folder %s cannot be read: %s", data, config.Reason(err))
	}
	var out []string
	for _, e := range entries {
		if name := e.Name(); !left(name) || strings.HasPrefix(name, archiveName) {
			out = append(out, name)
		}
	}
	return out, nil
}

// readBackup unpacks a backup into dir and returns what it says of itself and
// the names of its entries at the top.
func readBackup(ctx context.Context, file, dir string) (info backupInfo, names []string, err error) {
	damaged := func(why any) error {
		return usagef("take another copy; the data folder is as it was", "%s is no backup of weir, or it is damaged: %v", file, why)
	}
	f, err := os.Open(file)
	if err != nil {
		return info, nil, usagef("check the path", "%s cannot be read: %s", file, config.Reason(err))
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
			_, err = io.Copy(io.Discard, gz) // which checks the sum at the end
			if err != nil {
				return info, nil, damaged(err)
			}
			return info, names, nil
		case err != nil:
			return info, nil, damaged(err)
		case ctx.Err() != nil:
			return info, nil, ctx.Err()
		case first:
			if h.Name != backupHead || json.NewDecoder(io.LimitReader(tr, maxHead)).Decode(&info) != nil || info.Format < 1 {
				return info, nil, damaged("it does not begin with " + backupHead)
			}
			if info.Format > backupVersion {
				return info, nil, usagef("update weir; the data folder is as it was", "%s was written by a newer weir (%s)", file, info.Weir)
			}
			continue
		}
		name := filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
		top, _, _ := strings.Cut(name, string(filepath.Separator))
		if !filepath.IsLocal(name) || left(top) && name != archiveName || h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg {
			return info, nil, damaged(fmt.Sprintf("an entry named %q does not belong there", term.OneLine(h.Name, 80)))
		}
		if err := unpack(tr, h, filepath.Join(dir, name)); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return info, nil, damaged(err)
			}
			return info, nil, config.StorageProblem(config.Elsewhere, "the data folder cannot be written: %s", config.Reason(err))
		}
		if !slices.Contains(names, top) {
			names = append(names, top)
		}
	}
}

// unpack makes one file or folder, for the owner alone.
func unpack(tr *tar.Reader, h *tar.Header, path string) error {
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

// exchange moves what is there aside and what was unpacked into its place. When
// that fails half-way, it is taken back. It returns the folder of what was
// there; "": nothing was.
func exchange(data, temp string, there, names []string) (old string, err error) {
	var back []func() error
	move := func(from, to string) error {
		if err := os.Rename(from, to); err != nil {
			return err
		}
		back = append(back, func() error { return os.Rename(to, from) })
		return nil
	}
	defer func() {
		if err != nil {
			for _, f := range slices.Backward(back) {
				err = errors.Join(err, f())
			}
		}
	}()
	if len(there) > 0 {
		folder, err := os.MkdirTemp(data, aside+time.Now().UTC().Format("20060102-150405-"))
		if err != nil {
			return "", err
		}
		back = append(back, func() error { return os.Remove(folder) })
		old = folder
	}
	for _, name := range there {
		if err := move(filepath.Join(data, name), filepath.Join(old, name)); err != nil {
			return "", err
		}
	}
	for _, name := range names {
		if err := move(filepath.Join(temp, name), filepath.Join(data, name)); err != nil {
			return "", err
		}
	}
	return old, nil
}
