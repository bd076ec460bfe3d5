package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/resume"
	"github.com/weirhost/weir/host/internal/config/value"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/sdk/tool"
)

// The defaults that only this package has. All others come from the packages that
// use them.
const (
	defaultDrain    = 20 * time.Second
	defaultSpares   = 1
	defaultSilence  = 2 * time.Minute
	defaultMaxInput = 50000
	DefaultCurrency = "USD"
	DefaultAddr     = value.DefaultAddr // of the daemon
)

// WithDefaults returns s with every default filled in. This is what applies, and what
// `weir config show` prints.
func (s Settings) WithDefaults() Settings {
	def(&s.Locale, "auto")
	def(&s.Server.Addr, DefaultAddr)
	def(&s.Server.MaxTurns, 256)
	def(&s.Server.Grace, Duration(resume.DefaultGrace))
	def(&s.Server.Drain, Duration(defaultDrain))
	def(&s.Log.Level, "info")
	def(&s.Log.Format, "text")
	def(&s.Limits.MaxChars, tool.DefaultMaxChars)
	def(&s.Limits.MaxLines, tool.DefaultMaxLines)
	def(&s.Limits.Strategy, string(tool.HeadTail))
	if s.Limits.Head == 0 && s.Limits.Tail == 0 {
		s.Limits.Head, s.Limits.Tail = tool.DefaultShare, tool.DefaultShare
	}
	def(&s.Limits.Timeout, Duration(host.DefaultTimeout))
	def(&s.Limits.CeilingChars, tool.DefaultCeiling)
	def(&s.Archive.Threshold, agent.DefaultArchiveThreshold)
	def(&s.Archive.SummaryChars, archive.DefaultSummaryChars)
	def(&s.Archive.KeepTurns, agent.DefaultKeepTurns)
	def(&s.Archive.Trigger, string(agent.TriggerModel))
	def(&s.Archive.Semantic, agent.DefaultSemanticThreshold)
	def(&s.Archive.Scope, "conversation")
	def(&s.Archive.MaxAge, Duration(archive.DefaultMaxAge))
	def(&s.Archive.MaxBytes, tool.Bytes(archive.DefaultMaxBytes))
	def(&s.Summarize.MaxInputChars, defaultMaxInput)
	def(&s.Summarize.TriggerThreshold, host.DefaultSummariseOver)
	def(&s.Sandbox.Engine, host.EngineWazero)
	def(&s.Sandbox.Isolation, string(host.OwnProcess))
	def(&s.Sandbox.Spares, defaultSpares)
	def(&s.Approvals.Default, string(approval.Ask))
	def(&s.Approvals.Network, string(approval.Auto))
	def(&s.Approvals.Timeout, Duration(approval.DefaultTimeout))
	def(&s.Sandbox.Loaded, ByteLimit(runner.DefaultLoaded))
	def(&s.MCP.MaxSessions, mcpserver.DefaultMaxSessions)
	if s.MCP.PerUser == 0 && s.MCP.MaxSessions > 0 {
		s.MCP.PerUser = max(s.MCP.MaxSessions/4, 1)
	}
	def(&s.MCP.SessionIdle, Duration(mcpserver.DefaultIdle))
	def(&s.MCP.StructuredBytes, tool.Bytes(mcpserver.DefaultStructuredBytes))
	def(&s.Sandbox.Waiting, runner.DefaultWaiting)
	def(&s.Sandbox.Idle, Duration(runner.DefaultIdle))
	def(&s.Sandbox.CompileCPU, Duration(runner.DefaultCompileCPU))
	def(&s.Sandbox.CompileMemory, runner.DefaultCompileMemory)
	s.Scripts = s.Scripts.WithDefaults()
	s.Agent = s.Agent.WithDefaults(s.Locale)
	s.Agents = maps.Clone(s.Agents)
	for name, a := range s.Agents {
		s.Agents[name] = a.WithDefaults(s.Locale)
	}
	s.Models = maps.Clone(s.Models)
	for name, m := range s.Models {
		def(&m.Timeout, Duration(defaultSilence))
		if m.Price != (PriceSettings{}) {
			def(&m.Price.Currency, DefaultCurrency)
		}
		s.Models[name] = m
	}
	s.Users = maps.Clone(s.Users)
	for name, u := range s.Users {
		if u.Quota.CostPerDay > 0 {
			def(&u.Quota.Currency, DefaultCurrency)
		}
		s.Users[name] = u
	}
	yes := true
	s.Clients = maps.Clone(s.Clients)
	for name, c := range s.Clients {
		def(&c.Keep, &yes)
		s.Clients[name] = c
	}
	def(&s.Plugins.Watch, &yes)
	def(&s.Plugins.Shipped, &yes)
	s.Plugins.Folder = slices.Clone(s.Plugins.Folder)
	for i := range s.Plugins.Folder {
		def(&s.Plugins.Folder[i].Trust, "ask")
	}
	return s
}

func (a AgentSettings) WithDefaults(locale string) AgentSettings {
	yes := true
	def(&a.Model, daemon.DemoModel)
	def(&a.Mode, string(agent.ModeAuto))
	def(&a.Locale, locale)
	def(&a.EnableToolCalling, &yes)
	def(&a.EnableMemory, &yes)
	def(&a.MaxPlanningSteps, agent.DefaultMaxPlanningSteps)
	def(&a.MaxToolCalls, agent.DefaultMaxToolCalls)
	def(&a.MemoryLimit, agent.DefaultMemoryLimit)
	def(&a.MaxCorrections, agent.DefaultMaxCorrections)
	def(&a.ParallelCalls, agent.DefaultParallel)
	return a
}

// Redacted returns s without secrets, for display.
func (s Settings) Redacted() Settings {
	s.Models = maps.Clone(s.Models)
	for name, m := range s.Models {
		if m.Key != "" {
			m.Key = "(set)"
		}
		m.BaseURL = bareURL(m.BaseURL)
		s.Models[name] = m
	}
	s.Users = maps.Clone(s.Users)
	for name, u := range s.Users {
		if u.TokenSHA256 != "" {
			u.TokenSHA256 = "(set)"
		}
		s.Users[name] = u
	}
	s.Servers = maps.Clone(s.Servers)
	for name, e := range s.Servers {
		e.Env, e.Headers, e.URL = hidden(e.Env), hidden(e.Headers), bareURL(e.URL)
		if e.written != nil {
			e.Args = e.written
		}
		s.Servers[name] = e
	}
	if u := bareURL(s.Store.Database()); u != "" {
		s.Store.URL = &u
	}
	s.Telemetry.Headers, s.Telemetry.Endpoint = hidden(s.Telemetry.Headers), bareURL(s.Telemetry.Endpoint)
	s.Grants, s.Tools = maps.Clone(s.Grants), maps.Clone(s.Tools)
	for name, g := range s.Grants {
		g.Config = veiled(g.Config)
		s.Grants[name] = g
	}
	for name, t := range s.Tools {
		if strings.Contains(name, "__") || toolname.IsPattern(name) {
			t.Config = veiled(t.Config)
			s.Tools[name] = t
		}
	}
	return s
}

// bareURL hides the secrets that an address may contain: a password and the values of
// its query.
func bareURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(set)"
	}
	if u.User != nil {
		u.User = url.User("(set)")
	}
	if q := u.Query(); len(q) > 0 {
		for name := range q {
			q.Set(name, "(set)")
		}
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// veiled hides the texts in the settings of a plugin: plugins made for other hosts read
// their keys from there.
func veiled(config map[string]any) map[string]any {
	config = maps.Clone(config)
	for k, v := range config {
		if text, ok := v.(string); ok && text != "" {
			config[k] = "(set)"
		}
	}
	return config
}

// def sets a value that is zero.
func def[T comparable](v *T, unset T) {
	var zero T
	if *v == zero {
		*v = unset
	}
}

// hidden returns the names, without values that may be secrets.
func hidden(values map[string]string) map[string]string {
	out := maps.Clone(values)
	for name := range out {
		out[name] = "(set)"
	}
	return out
}
