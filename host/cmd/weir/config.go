package main

import (
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/otlp"
)

// Names of package config that the commands use all over.
type (
	Settings       = config.Settings
	ModelSettings  = config.ModelSettings
	UserSettings   = config.UserSettings
	QuotaSettings  = config.QuotaSettings
	GrantSettings  = config.GrantSettings
	PathGrant      = config.PathGrant
	HostGrant      = config.HostGrant
	SecretGrant    = config.SecretGrant
	FolderSettings = config.FolderSettings
	paths          = config.Paths
	lookup         = config.Lookup
)

// source is the configuration that the flags name.
func (c *cli) source() config.Source {
	return config.Source{Config: c.config, Data: c.data, Plugins: c.plugins, Workspace: c.workspace, Env: c.Lookup}
}

func (c *cli) findPaths() (paths, error) { return c.source().Paths() }

// load reads the configuration and says where a part of it is not read.
func (c *cli) load(p paths) (config.Loaded, error) {
	l, err := c.source().Load(p)
	if l.Skipped != "" {
		fmt.Fprintln(c.Err, "weir: "+c.text(l.Skipped))
	}
	return l, err
}

// settings loads the configuration and makes any fault an error.
func (c *cli) settings(p paths) (Settings, lookup, error) {
	l, err := c.load(p)
	if err != nil {
		return l.Settings, nil, err
	}
	if len(l.Faults) > 0 {
		lines := make([]string, len(l.Faults))
		for i, f := range l.Faults {
			lines[i] = c.faultText(f)
		}
		return l.Settings, nil, usagef("correct the file; `weir config validate` checks it", "%s", strings.Join(lines, "\n      "))
	}
	return l.Settings, l.Secrets, nil
}

// faultText is a fault in the language of whoever reads it.
func (c *cli) faultText(f config.Fault) string {
	f.Msg, f.Hint = c.text(f.Msg), c.text(f.Hint)
	return f.String()
}

// tracing is where spans go, and whether they hold what was said.
type tracing struct {
	*otlp.Tracing
	content bool
}

func openTracing(t config.TelemetrySettings, env lookup, log hclog.Logger) (*tracing, error) {
	out, err := otlp.Open(t.Tracing(env, version()), log)
	if err != nil {
		return nil, usagef("set endpoint in [telemetry], or OTEL_EXPORTER_OTLP_ENDPOINT", "%s", err)
	}
	return &tracing{out, t.Content}, nil
}

// forDaemon is what the daemon makes spans with.
func (t *tracing) forDaemon() daemon.Tracing {
	if t == nil {
		return daemon.Tracing{}
	}
	if tracer := t.Tracer(); tracer != nil {
		return daemon.Tracing{Tracer: tracer, Content: t.content}
	}
	return daemon.Tracing{}
}

func price(p config.PriceSettings) agent.Price { return agent.Price(p) }
