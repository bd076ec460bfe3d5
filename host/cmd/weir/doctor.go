package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

// A standing is what doctor thinks of one thing. A note is something that is
// missing and that nothing needs.
type standing string

const (
	inOrder  standing = "ok"
	noted    standing = "note"
	worrying standing = "warn"
	faulty   standing = "fail"
)

// A finding is one line of doctor.
type finding struct {
	Area   string   `json:"area"`
	Status standing `json:"status"`
	What   string   `json:"what"`
	Fix    string   `json:"fix,omitempty"`
}

// An examination is one run of doctor. It reads, and asks who answers; it
// changes nothing.
type examination struct {
	c        *cli
	paths    paths
	settings Settings // in force
	secrets  lookup
	daemon   *session // nil: none runs
	began    time.Time
	findings []finding
}

func (e *examination) say(area string, s standing, fix, format string, args ...any) {
	e.findings = append(e.findings, finding{area, s, fmt.Sprintf(format, args...), fix})
}

// examineTime bounds one check that waits for others.
const examineTime = 5 * time.Second

func (c *cli) doctorCmd() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check everything weir needs, and say how to mend it", Args: argCount(0, 0, "no arguments"),
		Long: "Check the configuration, the plugin folders, the data, the models, the port, the clock and the tools that\n" +
			"build plugins. Nothing is changed, and a running daemon is not disturbed. Exit code 1: something failed.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := c.findPaths()
			if err != nil {
				return err
			}
			e := &examination{c: c, paths: p, began: time.Now()}
			_, done := c.Progress(c.say("checking", "正在检查"))
			e.run(cmd.Context())
			done()
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			return c.showFindings(e.findings)
		},
	}
}

func (e *examination) run(ctx context.Context) {
	e.daemon = running(ctx, e.paths)
	for _, check := range []func(context.Context){
		e.configuration, e.daemonRuns, e.port, e.folders, e.archive, e.plugins, e.watching, e.isolation, e.models, e.toolchains, e.clock,
	} {
		if ctx.Err() == nil {
			check(ctx)
		}
	}
}

// showFindings prints the lines and counts them.
func (c *cli) showFindings(list []finding) error {
	counts := map[standing]int{}
	for _, f := range list {
		counts[f.Status]++
	}
	if c.JSON {
		c.Print(map[string]any{"ok": counts[faulty] == 0, "counts": counts, "findings": list})
	} else {
		for _, f := range list {
			fmt.Fprintf(c.Out, "%-4s  %s %s\n", f.Status, c.Label(f.Area, 9), c.text(f.What))
			if f.Fix != "" {
				fmt.Fprintf(c.Out, "                → %s\n", c.text(f.Fix))
			}
		}
		c.outf("\n%d ok, %d noted, %d warned of, %d failed\n", counts[inOrder], counts[noted], counts[worrying], counts[faulty])
	}
	if counts[faulty] > 0 {
		return term.ExitError(term.ExitFailed)
	}
	return nil
}

// configuration reads tools.toml and the .env beside it.
func (e *examination) configuration(context.Context) {
	const area = "config"
	l, err := e.c.quietly().load(e.paths)
	s, secrets, faults := l.Settings, l.Secrets, l.Faults
	e.settings, e.secrets = s.WithDefaults(), secrets
	if e.secrets == nil {
		e.secrets = e.c.Lookup
	}
	_, skipped, envErr := config.DotEnv(e.paths.Config)
	switch {
	case err != nil:
		hint := ""
		if ue, ok := err.(*usageError); ok {
			hint = ue.Hint.String()
		}
		e.say(area, faulty, hint, "%s", err)
	case len(faults) > 0:
		for _, f := range faults {
			e.say(area, faulty, f.Hint, "%s:%d:%d: %s", f.File, f.Line, f.Col, f.Msg)
		}
	case e.paths.Config == "":
		e.say(area, noted, "copy tools.toml from weir's repository into this folder, or write one", "there is no tools.toml; the defaults hold")
	default:
		e.say(area, inOrder, "", "%s", e.paths.Config)
	}
	if e.paths.Config != "" {
		e.private(area, e.paths.Config, 0o022, worrying, "others may change %s, and with it what plugins are granted", "chmod go-w")
	}
	if skipped != "" && envErr == nil {
		e.say(area, worrying, "", "%s", skipped)
	}
	for _, w := range config.LiteralKeys(s.Models) {
		e.say(area, worrying, "", "%s", w)
	}
}

// quietly is the same command line with nobody to warn: doctor has lines of its own.
func (c *cli) quietly() *cli {
	out, p := *c, *c.Printer
	p.Err = discard{}
	out.Printer = &p
	return &out
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// daemonRuns says whether a daemon uses the data folder.
func (e *examination) daemonRuns(ctx context.Context) {
	if e.daemon == nil {
		e.say("daemon", inOrder, "", "none runs with the data folder %s", e.paths.Data)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	var about struct {
		Version string `json:"version"`
	}
	switch err := e.daemon.Get(ctx, "/api/settings", &about); {
	case err != nil:
		e.say("daemon", faulty, "stop it and start it again", "the daemon at %s does not answer as it should: %s", e.daemon.URL(), err)
	case about.Version != version():
		e.say("daemon", worrying, "stop it and start the new one", "%s runs weir %s, and this is %s", e.daemon.URL(), about.Version, version())
	default:
		e.say("daemon", inOrder, "", "runs at %s", e.daemon.URL())
	}
}

// plugins says what keeps plugins out: as the running daemon has them, or as a
// host would that is opened for this alone and keeps nothing.
func (e *examination) plugins(ctx context.Context) {
	const area = "plugins"
	for _, f := range e.settings.Plugins.Folder {
		e.pluginFolder(area, f)
	}
	list, err := e.pluginList(ctx)
	if err != nil {
		e.say(area, faulty, "", "the plugins cannot be listed: %s", err)
		return
	}
	ready, tools := 0, 0
	for _, p := range list {
		switch p.State {
		case plugin.Ready:
			ready++
			tools += len(p.Tools)
			for _, w := range p.Problems {
				e.say(area, worrying, "", "%s: %s", p.Name, w)
			}
		case plugin.Pending:
			e.say(area, worrying, p.Fix, "%s waits: %s", p.Name, p.Why)
		default:
			e.say(area, faulty, p.Fix, "%s is %s: %s", p.Name, p.State, p.Why)
		}
	}
	e.say(area, inOrder, "", "%d of %d ready, with %d tools", ready, len(list), tools)
}

func (e *examination) pluginList(ctx context.Context) ([]plugin.Info, error) {
	var out struct{ Plugins []plugin.Info }
	if e.daemon != nil {
		ctx, cancel := context.WithTimeout(ctx, examineTime)
		defer cancel()
		err := e.daemon.Get(ctx, "/api/plugins", &out)
		return out.Plugins, err
	}
	dir, err := os.MkdirTemp("", "weir-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cfg := e.settings.Host(e.paths, e.secrets, nopLogger(), version())
	if err := elsewhereOnly(&cfg, dir); err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.Plugins(), nil
}

// elsewhereOnly has a host work on copies in dir of everything that it would
// write to. Of approved plugins there are links: a host makes new copies beside
// them and removes links alone.
func elsewhereOnly(cfg *host.Config, dir string) error {
	cfg.Archive.Path = filepath.Join(dir, "archive.db")
	cfg.CacheDir = filepath.Join(dir, "cache")
	approved, quarantine := cfg.Approved, cfg.Workers.Quarantine
	lock := cfg.Lock
	cfg.Lock, cfg.Approved, cfg.Workers.Quarantine = filepath.Join(dir, "weir.lock"), filepath.Join(dir, "approved"), filepath.Join(dir, "quarantine.json")
	for from, to := range map[string]string{lock: cfg.Lock, quarantine: cfg.Workers.Quarantine} {
		b, err := os.ReadFile(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Mkdir(cfg.Approved, 0o700); err != nil {
		return err
	}
	entries, _ := os.ReadDir(approved) // what cannot be read is missing, as a host would say
	for _, entry := range entries {
		if err := os.Symlink(filepath.Join(approved, entry.Name()), filepath.Join(cfg.Approved, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
