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

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/daemon/web"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
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
	s := given.withDefaults()
	a := &app{paths: p, settings: s.withoutSecrets(), inForce: s, log: c.logger(s.Log), secrets: new(variables), rewatch: make(chan struct{}, 1)}
	a.secrets.set(secrets)
	if a.token, err = p.token(); err != nil {
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
	cfg := hostConfig(s, p, a.secrets.find, a.log)
	if c.stays {
		cfg.Ahead = aheadAfter
	}
	if !c.serving { // whose log says so
		cfg.Asking = func(plugin string) {
			c.errf("weir: asking %s which tools it has; this takes seconds, once\n", plugin)
		}
	}
	var held []string
	cfg.Servers, held = c.trustedServers(s, p)
	if err := a.addSummary(&cfg, s, a.models); err != nil {
		return nil, err
	}
	if a.host, err = host.Open(ctx, cfg); err != nil {
		return nil, openProblem(p, err)
	}
	if len(held) > 0 {
		c.warn(a, untrusted(held, p))
	}
	for _, w := range warnings(s, a.host) {
		c.warn(a, w)
	}
	if w := notIsolated(s.Sandbox, cfg); w != "" {
		c.warn(a, w)
	}
	a.daemon, err = daemon.New(daemon.Config{
		Host: a.host, Models: a.models, Profiles: profiles(s), Users: users(s), Token: a.token, Hosts: s.Server.Hosts,
		Grants: func() (map[string]host.Grant, error) { return c.grants(a.log) },
		Reload: func(ctx context.Context) (daemon.ReloadReport, error) { return c.reload(ctx, a) },
		MCP:    mcpOf(s.MCP, c.locale(s)),
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
func (c *cli) grants(log hclog.Logger) (map[string]host.Grant, error) {
	p, err := c.findPaths()
	if err != nil {
		return nil, err
	}
	s, secrets, err := c.settings(p)
	if err != nil {
		return nil, err
	}
	return hostConfig(s.withDefaults(), p, secrets, log).Grants, nil
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
	a.tracing.close()
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
func (c *cli) logger(s LogSettings) hclog.Logger {
	var out io.Writer = c.Err
	return hclog.New(&hclog.LoggerOptions{Name: "weir", Level: c.level(s), Output: out, JSONFormat: s.Format == "json"})
}

func (c *cli) level(s LogSettings) hclog.Level {
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

func hostConfig(s Settings, p paths, secrets lookup, log hclog.Logger) host.Config {
	cfg := host.Config{
		Defaults: tool.Limits{
			MaxChars: s.Limits.MaxChars, MaxLines: s.Limits.MaxLines, Strategy: tool.Strategy(s.Limits.Strategy),
			Head: s.Limits.Head, Tail: s.Limits.Tail, Timeout: time.Duration(s.Limits.Timeout), Memory: s.Limits.Memory,
		},
		CeilingChars: s.Limits.CeilingChars,
		Tools:        map[string]host.ToolConfig{},
		Grants:       map[string]host.Grant{},
		Archive: archive.Config{
			Path: p.Archive, MaxAge: time.Duration(s.Archive.MaxAge), MaxBytes: int64(s.Archive.MaxBytes), MaxCount: s.Archive.MaxCount,
			MaxBytesPerPrincipal: int64(s.Archive.UserBytes), MaxCountPerPrincipal: s.Archive.UserCount,
			UserScope: s.Archive.Scope == "user", SummaryChars: s.Archive.SummaryChars, Logger: log.Named("archive"),
		},
		Hidden:   append(p.private(), tokenFiles(s.Users)...),
		Kept:     p.kept(),
		Lock:     p.Pins,
		Approved: p.Approved,
		CacheDir: p.Cache, Secret: secrets, Logger: log, Version: version(), Engine: s.Sandbox.Engine, Renewed: s.Sandbox.Renewed, Spares: s.Sandbox.Spares, Parallel: s.Sandbox.Parallel,
		Loaded: tool.Bytes(s.Sandbox.Loaded),
	}
	cfg.Approvals = approvals(s.Approvals)
	isolate(&cfg, s.Sandbox, p)
	for _, f := range s.Plugins.Folder {
		cfg.Folders = append(cfg.Folders, host.Folder{Path: f.Path, Trust: host.Trust(f.Trust)})
	}
	for name, t := range s.Tools {
		cfg.Tools[name] = host.ToolConfig{
			Limits: tool.Limits{
				MaxChars: t.MaxChars, MaxLines: t.MaxLines, Strategy: tool.Strategy(t.Strategy), Head: t.Head, Tail: t.Tail, Keep: t.Keep,
				Archive: tool.Keeping(t.Archive), Timeout: time.Duration(t.Timeout), Memory: t.Memory,
			},
			Config: t.Config, Disabled: t.Disabled, Parallel: t.Parallel,
		}
	}
	for name, g := range s.Grants {
		h := host.Grant{Config: g.Config}
		for _, x := range g.Secrets {
			h.Secrets = append(h.Secrets, x.Name)
			if x.Host != "" {
				h.Inject = append(h.Inject, host.Injection(x))
			}
		}
		for _, p := range g.Paths {
			h.Paths = append(h.Paths, host.PathGrant(p))
		}
		for _, n := range g.Hosts {
			h.Hosts = append(h.Hosts, host.HostGrant(n))
		}
		cfg.Grants[name] = h
	}
	return cfg
}

func mcpOf(m MCPSettings, l tool.Locale) daemon.MCP {
	return daemon.MCP{Tools: m.Tools, Deny: m.DenyTools, MaxSessions: m.MaxSessions, MaxUserSessions: m.PerUser, Idle: time.Duration(m.SessionIdle), Locale: l}
}

func approvals(a ApprovalSettings) host.Approvals {
	out := host.Approvals{Default: host.Action(a.Default), Network: host.Action(a.Network), Timeout: time.Duration(a.Timeout)}
	for _, r := range a.Rule {
		out.Rules = append(out.Rules, host.ApprovalRule{Tool: r.Tool, Args: r.Args, Action: host.Action(r.Action)})
	}
	return out
}

func profiles(s Settings) map[string]daemon.Profile {
	out := map[string]daemon.Profile{"default": profile(s, s.Agent)}
	for name, a := range s.Agents {
		out[name] = profile(s, a)
	}
	return out
}

func profile(s Settings, a AgentSettings) daemon.Profile {
	return daemon.Profile{
		Model: a.Model, Allow: a.Tools, Deny: a.DenyTools,
		Agent: agent.Config{
			EnablePlanning: a.EnablePlanning, EnableToolCalling: *a.EnableToolCalling, EnableReflection: a.EnableReflection, EnableMemory: *a.EnableMemory,
			MaxPlanningSteps: a.MaxPlanningSteps, MaxToolCalls: a.MaxToolCalls, MemoryLimit: a.MemoryLimit, MaxToolResultLength: a.MaxToolResultLength,
			Mode: agent.Mode(a.Mode), Locale: localeOf(a.Locale), RoundChars: s.Limits.RoundChars,
			ArchiveThreshold: s.Archive.Threshold, LoadChars: s.Archive.LoadChars, KeepTurns: s.Archive.KeepTurns, Trigger: agent.Trigger(s.Archive.Trigger), SemanticThreshold: s.Archive.Semantic,
			AnswerReserve: s.Prompt.AnswerReserve, ToolsChars: s.Prompt.ToolsChars, Parallel: a.ParallelCalls, MaxCorrections: a.MaxCorrections,
			TokenBudget: a.TokenBudget, TimeBudget: time.Duration(a.TimeBudget), Prefetch: a.Prefetch, SystemExtra: a.System,
		},
	}
}

// localeOf turns "auto" into the agent's empty locale.
func localeOf(s string) tool.Locale {
	if s == "auto" {
		return ""
	}
	return tool.Locale(s)
}
