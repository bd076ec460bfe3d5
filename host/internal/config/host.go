package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Host returns the configuration of a host with its files at p. secrets finds the
// secrets of plugins. The servers are left out: TrustedServers returns those that may
// be started.
func (s Settings) Host(p Paths, secrets Lookup, log hclog.Logger, version string) host.Config {
	cfg := host.Config{
		Settings: host.Settings{
			Defaults: tool.Limits{
				MaxChars: s.Limits.MaxChars, MaxLines: s.Limits.MaxLines, Strategy: tool.Strategy(s.Limits.Strategy),
				Head: s.Limits.Head, Tail: s.Limits.Tail, Keep: s.Limits.Keep, Timeout: time.Duration(s.Limits.Timeout), Memory: s.Limits.Memory,
			},
			CeilingChars: s.Limits.CeilingChars,
			Tools:        map[string]host.ToolConfig{},
			Grants:       map[string]plugin.Grant{},
			Reserved:     p.reserved(s.Plugins.Folder),
			Archive: archive.Config{
				Path: p.Archive, URL: s.Store.Database(), MaxAge: time.Duration(s.Archive.MaxAge), MaxBytes: int64(s.Archive.MaxBytes), MaxCount: s.Archive.MaxCount,
				MaxBytesPerPrincipal: int64(s.Archive.UserBytes), MaxCountPerPrincipal: s.Archive.UserCount,
				UserScope: s.Archive.Scope == "user", SummaryChars: s.Archive.SummaryChars, Logger: log.Named("archive"),
			},
			Parallel: s.Sandbox.Parallel,
			Loaded:   tool.Bytes(s.Sandbox.Loaded),
			Sandbox:  host.Sandbox{Engine: s.Sandbox.Engine, Renewed: s.Sandbox.Renewed, Spares: s.Sandbox.Spares},
		},
		Hidden:   slices.Concat(p.Hidden(), tokenFiles(s.Users), jail.EnvFiles(secrets)),
		ReadOnly: p.ReadOnly(),
		Lock:     p.Pins,
		Approved: p.Approved,
		CacheDir: p.Cache,
		Secret:   secrets,
		Logger:   log, Version: version,
	}
	cfg.Taken = slices.Collect(maps.Keys(s.Scripts.Tools))
	cfg.Approvals = approvals(s.Approvals)
	Isolate(&cfg, s.Sandbox, p)
	for _, f := range s.Plugins.Folder {
		cfg.Folders = append(cfg.Folders, plugin.Folder{Path: f.Path, Trust: plugin.Trust(f.Trust), Shipped: f.shipped})
	}
	for name, t := range s.Tools {
		var perMinute *int
		if t.Rate != nil {
			perMinute = &t.Rate.PerMinute
		}
		cfg.Tools[name] = host.ToolConfig{
			Limits: tool.Limits{
				MaxChars: t.MaxChars, MaxLines: t.MaxLines, Strategy: tool.Strategy(t.Strategy), Head: t.Head, Tail: t.Tail, Keep: t.Keep, KeepContext: t.Context,
				Archive: tool.ArchiveMode(t.Archive), Timeout: time.Duration(t.Timeout), Memory: t.Memory,
			},
			Config: t.Config, Disabled: t.Disabled, Parallel: t.Parallel, PerMinute: perMinute, CacheTTL: (*time.Duration)(t.Cache), SummariseOver: t.Trigger,
		}
	}
	for name, g := range s.Grants {
		h := plugin.Grant{Config: g.Config}
		for _, x := range g.Secrets {
			h.Secrets = append(h.Secrets, x.Name)
			if x.Host != "" {
				h.Inject = append(h.Inject, plugin.Injection(x))
			}
		}
		for _, p := range g.Paths {
			h.Paths = append(h.Paths, plugin.PathGrant(p))
		}
		for _, n := range g.Hosts {
			h.Hosts = append(h.Hosts, plugin.HostGrant(n))
		}
		cfg.Grants[name] = h
	}
	return cfg
}

func approvals(a ApprovalSettings) approval.Policy {
	out := approval.Policy{Default: approval.Action(a.Default), Network: approval.Action(a.Network), Timeout: time.Duration(a.Timeout)}
	for _, r := range a.Rule {
		out.Rules = append(out.Rules, approval.Rule{Tool: r.Tool, Args: r.Args, Action: approval.Action(r.Action)})
	}
	return out
}

// Profiles returns the profile default, which is [agent], and those of [agents]. s
// must have its defaults.
func (s Settings) Profiles() map[string]daemon.Profile {
	out := map[string]daemon.Profile{"default": profile(s, s.Agent)}
	for name, a := range s.Agents {
		out[name] = profile(s, a)
	}
	return out
}

func profile(s Settings, a AgentSettings) daemon.Profile {
	return daemon.Profile{
		Model: a.Model, Fallback: a.Fallback, Allow: a.Tools, Deny: a.DenyTools,
		Agent: agent.Config{
			EnablePlanning: a.EnablePlanning, EnableToolCalling: *a.EnableToolCalling, EnableReflection: a.EnableReflection, EnableMemory: *a.EnableMemory,
			MaxPlanningSteps: a.MaxPlanningSteps, MaxToolCalls: a.MaxToolCalls, MemoryLimit: a.MemoryLimit, MaxToolResultLength: a.MaxToolResultLength,
			Mode: agent.Mode(a.Mode), Locale: LocaleOf(a.Locale), RoundChars: s.Limits.RoundChars,
			ArchiveThreshold: s.Archive.Threshold, LoadChars: s.Archive.LoadChars, KeepTurns: s.Archive.KeepTurns, Trigger: agent.Trigger(s.Archive.Trigger), Across: s.Archive.Scope == "user", SemanticThreshold: s.Archive.Semantic,
			AnswerReserve: s.Prompt.AnswerReserve, ToolsChars: s.Prompt.ToolsChars, PinnedTools: s.Prompt.PinnedTools, Parallel: a.ParallelCalls, MaxCorrections: a.MaxCorrections,
			TokenBudget: a.TokenBudget, TimeBudget: time.Duration(a.TimeBudget), Prefetch: a.prefetch(), SystemExtra: a.System,
		},
	}
}

func (a AgentSettings) prefetch() (out []agent.Prefetch) {
	for _, p := range a.Prefetch {
		out = append(out, agent.Prefetch(p))
	}
	return out
}

func (a AgentSettings) prefetched() (names []string) {
	for _, p := range a.Prefetch {
		names = append(names, p.Tool)
	}
	return names
}

// Language returns the language for people: that of the settings, else that of the
// environment, else English. env may be nil.
func (s Settings) Language(env Lookup) tool.Locale {
	if l := LocaleOf(s.Locale); l != "" {
		return l
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := (Source{Env: env}).Getenv(name); v != "" {
			if strings.HasPrefix(v, "zh") {
				return tool.Zh
			}
			break
		}
	}
	return tool.En
}

// LocaleOf returns a locale; for "auto" it is empty, and the agent decides.
func LocaleOf(s string) tool.Locale {
	if s == "auto" {
		return ""
	}
	return tool.Locale(s)
}

// DaemonUsers returns the users of the daemon beside the operator.
func (s Settings) DaemonUsers() map[string]daemon.User {
	out := map[string]daemon.User{}
	for name, u := range s.Users {
		q := u.Quota
		out[name] = daemon.User{
			TokenSHA256: u.sum, Profiles: u.Profiles, Models: u.Models, Tools: u.Tools, Deny: u.DenyTools, Locale: LocaleOf(u.Locale), Listing: u.MCPTools,
			Quota: daemon.Quota{PerMinute: q.PerMinute, Concurrent: q.Concurrent, TokensPerDay: q.TokensPerDay, CostPerDay: q.CostPerDay, Currency: q.Currency, ArchiveBytes: int64(q.ArchiveBytes)},
		}
	}
	return out
}

// Database returns the URL; empty: the SQLite file. One whose variable is not set is no URL.
func (s StoreSettings) Database() string {
	if s.URL == nil {
		return ""
	}
	return cmp.Or(*s.URL, "(not set)")
}
