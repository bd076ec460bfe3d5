package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/backup"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

func backupCmd(c *cli) *cobra.Command {
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
	update, done := c.Progress("")
	defer done()
	w, err := backup.Write(ctx, c.source(), p, file, version(), force, func(t tool.Text) { update(c.Text(t)) })
	if err != nil {
		return err
	}
	done()
	if c.JSON {
		c.Print(map[string]any{"file": file, "bytes": w.Bytes, "results": w.Info.Results, "created": w.Info.Created, "skipped": append([]string{}, w.Skipped...)})
		return nil
	}
	c.outf("%s: %d archived results, %s bytes\n", file, w.Info.Results, term.Grouped(int(w.Bytes)))
	for _, name := range w.Skipped {
		c.errf("weir: %s is no file and no folder, and is not in it\n", name)
	}
	c.errf("weir: it holds conversations and the token; keep it to yourself\n")
	return nil
}

func restoreCmd(c *cli) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Put a backup into the data folder, while no daemon runs", Args: argCount(1, 1, "one file"),
		Long: c.helpf("Put what `weir backup` wrote into the data folder. No daemon may run there. A folder that holds something\n"+
			"is left alone unless --replace is given; then what was there is moved into a folder beside it, named\n"+
			"%s…, and nothing is deleted. A backup of a newer weir is refused.", backup.AsidePrefix),
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
	lock, err := app.Lock(ctx, p)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // the file stays: another process may lock it already
	_, done := c.Progress(c.Sprintf("reading %s", file))
	defer done()
	info, before, err := backup.Restore(ctx, c.source(), p, file, replace)
	if err != nil {
		return err
	}
	done()
	if c.JSON {
		c.Print(map[string]any{"data": p.Data, "results": info.Results, "created": info.Created, "weir": info.Weir, "before": before})
		return nil
	}
	c.outf("%s: %d archived results, as of %s\n", p.Data, info.Results, info.Created.Local().Format(time.DateTime))
	if before != "" {
		c.errf("weir: what was there lies in %s\n", before)
	}
	return nil
}
