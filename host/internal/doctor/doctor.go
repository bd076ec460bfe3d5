// Package doctor checks everything that weir needs: the configuration, the folders,
// the archive, the plugins, their isolation, the models, the port, the clock and the
// toolchains that build plugins. Run makes the checks in order; each adds Findings,
// with the way to fix what is wrong.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Checks are what an examination needs to know.
type Checks struct {
	Source  config.Source
	Paths   config.Paths
	Version string
	// Daemon is the daemon that runs with the data folder. Nil: none does.
	Daemon *client.Client
	// At describes that daemon.
	At client.Address
	// Listen opens an address as a daemon would.
	Listen func(addr string) (net.Listener, error)
	// Model connects to a configured model. An error says why it cannot.
	Model func(name string, m config.ModelSettings, secrets config.Lookup) (agent.Model, error)
}

// A Status is the result of one check.
type Status string

// The results of a check. A Note is something that is missing and that weir does
// not need.
const (
	OK   Status = "ok"
	Note Status = "note"
	Warn Status = "warn"
	Fail Status = "fail"
)

// A Finding is one line of an examination.
type Finding struct {
	Area   string    `json:"area"`
	Status Status    `json:"status"`
	What   tool.Text `json:"what"`
	// Fix says what to do. Zero: there is nothing to do.
	Fix tool.Text `json:"fix,omitzero"`
}

// An exam is one run of Run.
type exam struct {
	Checks
	settings config.Settings // in force
	secrets  config.Lookup
	began    time.Time
	findings []Finding
}

// Run makes all checks in order and returns what they found. It changes nothing,
// and does not disturb a running daemon. If ctx ends, the rest is left out.
func Run(ctx context.Context, c Checks) []Finding {
	e := &exam{Checks: c, began: time.Now()}
	for _, check := range []func(context.Context){
		e.configuration, e.daemonRuns, e.port, e.folders, e.archive, e.plugins, e.watching, e.isolation, e.models, e.toolchains, e.clock,
	} {
		if ctx.Err() == nil {
			check(ctx)
		}
	}
	return e.findings
}

// url returns the address of the running daemon.
func (e *exam) url() string { return cmp.Or(e.At.URL, e.Daemon.URL()) }

// add adds a finding. fix is English and the key of its translations; empty: there
// is nothing to do.
func (e *exam) add(area string, s Status, fix, format string, args ...any) {
	e.findings = append(e.findings, Finding{area, s, tool.Textf(format, args...), tool.Text{Format: fix}})
}

// addFix adds a finding with a fix that has arguments.
func (e *exam) addFix(area string, s Status, fix tool.Text, format string, args ...any) {
	e.findings = append(e.findings, Finding{area, s, tool.Textf(format, args...), fix})
}

// checkTimeout bounds one check that waits for another program.
const checkTimeout = 5 * time.Second

// serversTime bounds how long MCP servers may take to start.
const serversTime = 15 * time.Second

// getenv returns an environment variable, "" if it is not set.
func (e *exam) getenv(name string) string {
	if e.Source.Env == nil {
		return ""
	}
	v, _ := e.Source.Env(name)
	return v
}

// hintOf returns the hint of a problem.
func hintOf(err error) tool.Text {
	if p, ok := errors.AsType[*msg.Problem](err); ok {
		return p.Hint
	}
	return tool.Text{}
}

// configuration checks tools.toml and the .env beside it.
func (e *exam) configuration(context.Context) {
	const area = "config"
	l, err := e.Source.Load(e.Paths)
	s, faults := l.Settings, l.Faults
	e.settings, e.secrets = s.WithDefaults(), l.Secrets
	if e.secrets == nil {
		e.secrets = e.Source.Env
	}
	switch {
	case err != nil:
		e.addFix(area, Fail, hintOf(err), "%s", err)
	case len(faults) > 0:
		for _, f := range faults {
			e.addFix(area, Fail, f.Hint, "%s:%d:%d: %s", f.File, f.Line, f.Col, f.Msg)
		}
	case e.Paths.Config == "":
		e.add(area, Note, "copy tools.toml from weir's repository into this folder, or write one", "there is no tools.toml; the defaults hold")
	default:
		e.add(area, OK, "", "%s", e.Paths.Config)
	}
	if e.Paths.Config != "" {
		e.private(area, e.Paths.Config, 0o022, Warn, "others may change %s, and with it what plugins are granted", "chmod go-w")
	}
	if !l.Skipped.IsZero() {
		e.add(area, Warn, "", "%s", l.Skipped)
	}
	for _, w := range s.LiteralKeys() {
		e.addFix(area, Warn, w.Hint, "%s", w.Msg)
	}
	for _, w := range s.Unset() {
		e.addFix(area, Warn, w.Hint, "%s:%d:%d: %s", w.File, w.Line, w.Col, w.Msg)
	}
}

// daemonRuns checks the daemon that uses the data folder.
func (e *exam) daemonRuns(ctx context.Context) {
	if e.Daemon == nil {
		e.add("daemon", OK, "", "none runs with the data folder %s", e.Paths.Data)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var about struct {
		Version string `json:"version"`
	}
	switch err := e.Daemon.Get(ctx, "/api/settings", &about); {
	case err != nil:
		e.add("daemon", Fail, "stop it and start it again", "the daemon at %s does not answer as it should: %s", e.url(), err)
	case about.Version != e.Version:
		e.add("daemon", Warn, "stop it and start the new one", "%s runs weir %s, and this is %s", e.url(), about.Version, e.Version)
	case e.Paths.Config == "" && e.At.Config != "":
		e.addFix("daemon", Warn, tool.Textf("run commands in the folder where the daemon was started, %s", e.At.Workspace),
			"the daemon at %s uses the configuration %q, and there is none for commands here", e.url(), e.At.Config)
	case e.At.Config != e.Paths.Config:
		e.addFix("daemon", Warn, tool.Textf("run commands in the folder where the daemon was started, %s", e.At.Workspace),
			"the daemon at %s uses the configuration %q, and commands here read and change %q", e.url(), e.At.Config, e.Paths.Config)
	default:
		e.add("daemon", OK, "", "runs at %s (weir %s, process %d)", e.url(), e.At.Command, e.At.PID)
	}
}

// plugins checks every plugin, in the running daemon or in a host that is opened for
// this check only and stores nothing.
func (e *exam) plugins(ctx context.Context) {
	const area = "plugins"
	for _, f := range e.settings.Plugins.Folder {
		e.pluginFolder(area, f)
	}
	if aside, err := filepath.Glob(e.Paths.Pins + sharedlock.Aside + "*"); err == nil && len(aside) > 0 {
		e.add(area, Note, "compare it with `weir plugin list`, approve what is missing, and delete it", "an earlier weir.lock has no effect any more: %s", aside[0])
	}
	_, err := os.Stat(e.Paths.Pins)
	if _, err2 := os.Stat(e.Paths.Pins + sharedlock.Stays); err == nil && err2 == nil {
		e.add(area, Warn, "move it away; delete its copy if it shall count in an empty database", "%s has no effect any more, and could not be renamed", e.Paths.Pins)
	}
	list, err := e.pluginList(ctx)
	if err != nil {
		e.add(area, Fail, "", "the plugins cannot be listed: %s", err)
		return
	}
	ready, tools := 0, 0
	for _, p := range list {
		switch p.State {
		case plugin.Ready:
			ready++
			tools += len(p.Tools)
			for _, w := range p.Problems {
				e.add(area, Warn, "", "%s: %s", p.Name, w)
			}
		case plugin.Pending:
			e.addFix(area, Warn, p.Fix, "%s waits: %s", p.Name, p.Why)
		default:
			e.addFix(area, Fail, p.Fix, "%s is %s: %s", p.Name, p.State, p.Why)
		}
	}
	for _, f := range config.UnknownNames(e.settings, list) {
		e.add("config", Warn, "", "%v", f.Text())
	}
	e.add(area, OK, "", "%d of %d ready; tools: %d", ready, len(list), tools)
}

func (e *exam) pluginList(ctx context.Context) ([]plugin.Info, error) {
	var out struct{ Plugins []plugin.Info }
	if e.Daemon != nil {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		err := e.Daemon.Get(ctx, "/api/plugins", &out)
		return out.Plugins, err
	}
	dir, err := os.MkdirTemp("", "weir-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cfg := e.settings.Host(e.Paths, e.secrets, hclog.NewNullLogger(), e.Version)
	cfg.Servers, cfg.Held = e.settings.TrustedServers(e.Source, e.Paths)
	if err := useCopies(&cfg, dir); err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	wait, cancel := context.WithTimeout(ctx, serversTime)
	defer cancel()
	if err := h.WaitServers(wait); err != nil && ctx.Err() != nil { // a server that is late has not answered yet
		return nil, err
	}
	return h.Plugins(), nil
}

// useCopies makes a host work on copies in dir of everything that it would write to. In a
// database it only reads what is approved. Approved plugins are links: a host makes new copies
// beside them, and removes only the links.
func useCopies(cfg *host.Config, dir string) error {
	cfg.LockURL, cfg.Archive.URL, cfg.Archive.Path = cfg.Archive.URL, "", filepath.Join(dir, "archive.db")
	cfg.CacheDir = filepath.Join(dir, "cache")
	approved, quarantine := cfg.Approved, cfg.Sandbox.Workers.Quarantine
	lock := cfg.Lock
	cfg.Lock, cfg.Approved, cfg.Sandbox.Workers.Quarantine = filepath.Join(dir, "weir.lock"), filepath.Join(dir, "approved"), filepath.Join(dir, "quarantine.json")
	for from, to := range map[string]string{lock: cfg.Lock, lock + sharedlock.Stays: cfg.Lock + sharedlock.Stays, quarantine: cfg.Sandbox.Workers.Quarantine} {
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
	entries, _ := os.ReadDir(approved) // an unreadable plugin is missing, as in a host
	for _, entry := range entries {
		if err := os.Symlink(filepath.Join(approved, entry.Name()), filepath.Join(cfg.Approved, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
