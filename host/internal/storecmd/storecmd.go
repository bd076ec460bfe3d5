// Package storecmd does what the commands about the data folder and its database do: it
// writes a backup and restores it, and moves what is stored from a file to PostgreSQL.
package storecmd

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/backup"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// Commands print for a person, or as JSON.
type Commands struct {
	*term.Printer
	Source  config.Source
	Version string
}

// Backup writes the data folder into a file.
func (c Commands) Backup(ctx context.Context, file string, force bool) (err error) {
	p, err := c.Source.Paths()
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	update, done := c.Progress("")
	defer done()
	w, err := backup.Write(ctx, c.Source, p, file, c.Version, force, func(t tool.Text) { update(c.Text(t)) })
	if err != nil {
		return err
	}
	done()
	if c.AsJSON(map[string]any{"file": file, "bytes": w.Bytes, "results": w.Info.Results, "created": w.Info.Created, "skipped": append([]string{}, w.Skipped...)}) {
		return nil
	}
	c.Outf("%s: %d archived results, %s bytes\n", file, w.Info.Results, term.Grouped(int(w.Bytes)))
	for _, name := range w.Skipped {
		c.Errf("weir: %s is no file and no folder, and is not in it\n", name)
	}
	c.Errf("weir: it holds conversations and the token; keep it to yourself\n")
	return nil
}

// Restore puts a backup into the data folder.
func (c Commands) Restore(ctx context.Context, file string, replace bool) (err error) {
	p, err := c.Source.Paths()
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
	info, before, err := backup.Restore(ctx, c.Source, p, file, replace)
	if err != nil {
		return err
	}
	done()
	if c.AsJSON(map[string]any{"data": p.Data, "results": info.Results, "created": info.Created, "weir": info.Weir, "before": before}) {
		return nil
	}
	c.Outf("%s: %d archived results, as of %s\n", p.Data, info.Results, info.Created.Local().Format(time.DateTime))
	if before != "" {
		c.Errf("weir: what was there lies in %s\n", before)
	}
	return nil
}

// configured returns the file of the data folder, and the database of the configuration.
func (c Commands) configured() (p config.Paths, file, database sqlite.Options, err error) {
	if p, err = c.Source.Paths(); err != nil {
		return p, file, database, err
	}
	l, err := c.Source.Load(p)
	if err == nil {
		err = l.Err()
	}
	file.Path, database.URL = p.Archive, l.Settings.Store.Database()
	if err == nil && database.URL == "" {
		err = msg.Usagef("set url in [store] of tools.toml", "the configuration names no database")
	}
	return p, file, database, err
}

// Migrate moves what the data folder's file has into the database of the configuration, or
// back. The source stays as it is.
func (c Commands) Migrate(ctx context.Context, back bool) error {
	p, from, to, err := c.configured()
	if err != nil {
		return err
	}
	lock, err := app.Lock(ctx, p) // no daemon writes meanwhile
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // as in Restore
	if back {
		from, to = to, from
	}
	return c.copy(ctx, from, to, false)
}

// Copy copies from one place to another, one of which is a URL, the other a file or folder.
// Scripts that have not ended go on where they are, and end in the copy.
func (c Commands) Copy(ctx context.Context, from, to string) error {
	a, b, err := ends(from, to)
	if err != nil {
		return err
	}
	a.ReadOnly = a.URL != ""
	return c.copy(ctx, a, b, true)
}

func (c Commands) copy(ctx context.Context, from, to sqlite.Options, apart bool) error {
	_, done := c.Progress(c.Sprintf("copying, and reading both again"))
	defer done()
	copied, err := backup.Copy(ctx, from, to, apart, func(ctx context.Context, source, target *sqlite.DB) error {
		return idle(ctx, source, target, apart)
	})
	if err != nil {
		return err
	}
	done()
	c.print(copied, copied)
	return nil
}

// idle refuses a database in which answers are under way: the copy would not have them. While
// a daemon lives, it lets only a copy be made that is apart.
func idle(ctx context.Context, source, target *sqlite.DB, apart bool) error {
	db := source
	if !db.InPostgres() {
		db = target
	}
	var runs, killed, daemons int
	if err := db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM runs WHERE state <> 'ended'), (SELECT count(*) FROM daemons WHERE expires_at > clock_timestamp())").Scan(&runs, &daemons); err != nil {
		return err
	}
	if err := source.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT conversation_id FROM turn_steps UNION SELECT conversation_id FROM turn_pieces) AS killed").Scan(&killed); err != nil {
		return err
	}
	if daemons > 0 && !apart {
		return msg.Problemf(msg.Storage, "stop all of its daemons; one that was killed counts for three seconds", "a daemon uses the database")
	}
	if runs += killed; runs > 0 {
		return msg.Problemf(msg.Storage, "stop the daemons when they have ended; a daemon that starts ends those of one that is gone", "%d answers are under way, and the copy would not have them", runs)
	}
	return nil
}

// Check compares two places, without names those of the configuration.
func (c Commands) Check(ctx context.Context, names ...string) (err error) {
	var a, b sqlite.Options
	if len(names) == 0 {
		_, a, b, err = c.configured()
	} else {
		a, b, err = ends(names...)
	}
	if err != nil {
		return err
	}
	a.ReadOnly, b.ReadOnly = a.URL != "", b.URL != ""
	_, done := c.Progress(c.Sprintf("reading both"))
	defer done()
	in, err := backup.Compare(ctx, a, b)
	if err != nil {
		return err
	}
	done()
	if !c.print(in[0], in[1]) {
		return msg.Problemf(msg.Storage, "the newer one has what was written after it was copied", "the two do not have the same rows")
	}
	return nil
}

// ends returns the two places that arguments name. "${NAME}" is a variable with a URL: other
// users cannot read it in the list of processes.
func ends(names ...string) (a, b sqlite.Options, err error) {
	var out [2]sqlite.Options
	for i, name := range names {
		if strings.HasPrefix(name, "${") {
			name = os.ExpandEnv(name)
		}
		if strings.HasPrefix(name, "postgres://") {
			out[i].URL = name
			continue
		}
		if strings.Contains(name, "://") { // it may have a password, which no sentence repeats
			return a, b, msg.Usagef("write postgres://USER@HOST/DATABASE", "the address of the database does not begin with postgres://")
		}
		if filepath.Ext(name) != ".db" {
			name = filepath.Join(name, "archive.db")
		}
		out[i].Path = name
	}
	if len(names) != 2 || (out[0].URL == "") == (out[1].URL == "") {
		err = msg.Usagef("`weir backup` copies a data folder, pg_dump a database", "one place is a folder or a file, the other one begins with postgres://")
	}
	return out[0], out[1], err
}

// print prints the tables of two stores, and reports whether they are the same.
func (c Commands) print(a, b []sqlite.Table) (same bool) {
	same = slices.Equal(a, b)
	if c.JSON {
		c.Print(map[string]any{"same": same, "first": a, "second": b})
		return same
	}
	c.Table("TABLE\tROWS\tDIGEST\tSAME", func(w io.Writer) {
		for i, t := range a {
			is := c.Sprintf("yes")
			if t != b[i] {
				is = c.Sprintf("no: %d rows", b[i].Rows)
			}
			_, _ = io.WriteString(w, t.Name+"\t"+term.Grouped(int(t.Rows))+"\t"+t.Digest[:16]+"\t"+is+"\n")
		}
	})
	return same
}
