package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/daemon/web"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
)

// An app is everything open: the host, the models and the daemon over them.
type app struct {
	paths    paths
	settings Settings // of the start, without secrets
	secrets  *variables
	models   map[string]daemon.Model
	native   *nativeCache
	token    string
	log      hclog.Logger
	tracing  *tracing
	host     *host.Host
	daemon   *daemon.Daemon
	lock     *flock.Flock
	warnings []string // what a person should know and what keeps nothing from running

	reloading sync.Mutex // held by a reload, for what follows, models and tracing
	inForce   Settings
	rewatch   chan struct{} // the plugin folders are to be watched in another way
}

// open reads the configuration and opens the data folder under its lock.
func (c *cli) open(ctx context.Context) (_ *app, err error) {
	c.chinese() // before anybody else asks for it at the same time
	p, err := c.findPaths()
	if err != nil {
		return nil, err
	}
	given, secrets, err := c.settings(p)
	if err != nil {
		return nil, err
	}
	s := given.WithDefaults()
	a := &app{paths: p, settings: s.Redacted(), inForce: s, log: c.logger(s.Log), secrets: new(variables), rewatch: make(chan struct{}, 1)}
	a.secrets.set(secrets)
	if a.token, err = p.EnsureToken(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if a.lock, err = lockData(ctx, p); err != nil {
		return nil, err
	}
	if a.tracing, err = openTracing(s.Telemetry, secrets, a.log); err != nil {
		return nil, err
	}
	a.models = c.models(s, secrets, a.log, nil)
	a.probeModels(s, a.models)
	cfg := s.Host(p, a.secrets.find, a.log, version())
	if c.stays {
		cfg.Ahead = aheadAfter
	}
	if !c.serving { // whose log says so
		cfg.Asking = func(plugin string) {
			c.errf("weir: asking %s which tools it has; this takes seconds, once\n", plugin)
		}
	}
	var held []string
	cfg.Servers, held = s.TrustedServers(c.source(), p)
	if err := a.addSummary(&cfg, s, a.models); err != nil {
		return nil, err
	}
	if a.host, err = host.Open(ctx, cfg); err != nil {
		return nil, config.OpenProblem(p, err)
	}
	if len(held) > 0 {
		c.warn(a, config.Untrusted(held, p))
	}
	for _, w := range config.Warnings(s, a.host) {
		c.warn(a, w)
	}
	if w := config.NotIsolated(s.Sandbox, cfg); w != "" {
		c.warn(a, w)
	}
	a.daemon, err = daemon.New(daemon.Config{
		Host: a.host, Models: a.models, Profiles: s.Profiles(), Users: s.DaemonUsers(), Token: a.token, Hosts: s.Server.Hosts,
		Grants: func() (map[string]plugin.Grant, error) { return c.grants(a.log) },
		Reload: func(ctx context.Context) (daemon.ReloadReport, error) { return c.reload(ctx, a) },
		MCP:    s.MCP.Server(c.locale(s)),
		Pages:  web.Files(), Settings: a.settings, MaxTurns: s.Server.MaxTurns, Tracing: a.tracing.forDaemon(), ResumeGrace: time.Duration(s.Server.Grace), Version: version(), Logger: a.log.Named("daemon"),
	})
	if v, _ := c.Lookup("GOGC"); c.stays && v == "" {
		debug.SetGCPercent(gcPercent)
	}
	return a, err
}

// gcPercent has garbage collected half as often as Go does by itself: what a daemon
// keeps is little, and what a turn leaves behind is not worth looking for so often.
// Until it has started it keeps to Go's, for most of what a start makes is garbage,
// and that would be the most that an idle daemon ever takes.
const gcPercent = 200

// grants reads what the configuration grants by now. Of a file that was not
// there at first nothing is known here: it is found as at a start.
func (c *cli) grants(log hclog.Logger) (map[string]plugin.Grant, error) {
	p, err := c.findPaths()
	if err != nil {
		return nil, err
	}
	s, secrets, err := c.settings(p)
	if err != nil {
		return nil, err
	}
	return s.WithDefaults().Host(p, secrets, log, version()).Grants, nil
}

// warn tells a.warnings' next line: a daemon's log and banner, or stderr.
func (c *cli) warn(a *app, msg string) {
	a.warnings = append(a.warnings, msg)
	if c.serving {
		a.log.Warn(msg)
		return
	}
	c.errf("weir: warning: %s\n", c.text(msg))
}

// storeTime is how long close waits for turns that were cut off to be stored.
const storeTime = 5 * time.Second

func (a *app) close() {
	if a.daemon != nil {
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		defer cancel()
		if a.daemon.Drain(ctx) != nil {
			a.log.Error("closing: an answer was still running and is not stored")
		}
	}
	a.reloading.Lock() // of one that is under way
	a.tracing.Close()
	a.reloading.Unlock()
	if a.host != nil {
		if err := a.host.Close(); err != nil {
			a.log.Error("closing", "error", err)
		}
	}
	if a.lock != nil {
		_ = a.lock.Unlock() // the file stays: removing it would race with the next owner
	}
}

// keepUp compresses and prunes the archive while a daemon runs.
func (a *app) keepUp(ctx context.Context) {
	if err := a.host.Archive().Run(ctx, 10*time.Minute); err != nil && ctx.Err() == nil {
		a.log.Error("the archive is not kept up any more", "error", err)
	}
}

// lockTime is how long a lock is waited for: others try it for a moment, to see
// whether a daemon runs.
const lockTime = 500 * time.Millisecond

// lockData keeps two processes from writing the same data folder. Whoever holds
// the lock knows that an address left there is of a daemon that is gone.
func lockData(ctx context.Context, p paths) (*flock.Flock, error) {
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return nil, usagef("give another folder with --data", "the data folder %s cannot be made", p.Data)
	}
	l := flock.New(p.Lock, flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	ok, err := l.TryLockContext(wait, lockTime/20)
	if err != nil && wait.Err() == nil {
		return nil, usagef("check the permissions, or give another folder with --data", "the data folder %s cannot be locked", p.Data)
	}
	if !ok {
		if cl := running(ctx, p); cl != nil {
			return nil, busyf("use that one, stop it, or give another folder with --data", "a daemon runs at %s already, with the data folder %s", cl.URL(), p.Data)
		}
		return nil, busyf("wait for the other command to end", "another weir command uses the data folder %s", p.Data)
	}
	_ = os.Remove(p.Address)
	return l, nil
}

// A busyError is a usageError that may pass: another process has the data folder.
type busyError struct{ *usageError }

// Unwrap makes it the usageError that it is.
func (e *busyError) Unwrap() error { return e.usageError }

func busyf(hint, format string, args ...any) error {
	return &busyError{msg.Usagef(hint, format, args...)}
}

// withClient runs f against the running daemon, or against one opened for it.
func (c *cli) withClient(ctx context.Context, f func(*session) error) error {
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	if cl := running(ctx, p); cl != nil {
		return f(cl)
	}
	a, err := c.open(ctx)
	if err != nil {
		return err
	}
	if err := a.host.WaitServers(ctx); err != nil {
		a.close()
		return err
	}
	cl := &session{Client: client.InProcess(a.daemon.Handler(), a.token, a.close), config: p.Config, local: true, warm: a.host.Warm}
	defer cl.Close()
	return f(cl)
}

// logger writes to stderr. Commands other than serve log nothing below error,
// unless --verbose asks for it.
func (c *cli) logger(s config.LogSettings) hclog.Logger {
	var out io.Writer = c.Err
	return hclog.New(&hclog.LoggerOptions{Name: "weir", Level: c.level(s), Output: out, JSONFormat: s.Format == "json"})
}

func (c *cli) level(s config.LogSettings) hclog.Level {
	level := hclog.LevelFromString(s.Level)
	if !c.serving && !c.verbose && level < hclog.Error {
		return hclog.Error
	}
	if c.verbose && level > hclog.Debug {
		return hclog.Debug
	}
	return level
}

// aheadAfter is how long who stays lets the plugin folders come to rest before it
// compiles what nobody has called: files come in groups, and a start has other
// things to do first.
const aheadAfter = 2 * time.Second
