package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/sdk/tool"
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
	if !l.Skipped.IsZero() {
		c.Errf("weir: %v\n", l.Skipped)
	}
	return l, err
}

// settings loads the configuration and makes any fault an error.
func (c *cli) settings(p paths) (Settings, lookup, error) {
	l, err := c.load(p)
	if err == nil {
		err = l.Err()
	}
	return l.Settings, l.Secrets, err
}

// options say how this command opens an App.
func (c *cli) options() app.Options {
	o := app.Options{Source: c.source(), Version: version(), Log: c.Err, Quiet: !c.serving, Verbose: c.verbose, Stays: c.stays}
	if !c.serving { // its log has the warnings
		o.Notice = func(t tool.Text) { c.Errf("weir: %v\n", t) }
	}
	return o
}

// open opens the configuration and the data folder for this command.
func (c *cli) open(ctx context.Context) (*app.App, error) {
	c.chinese() // loaded before other goroutines need it
	return app.Open(ctx, c.options())
}

// withClient runs f with a client of the running daemon, or of one that is opened
// for the command.
func (c *cli) withClient(ctx context.Context, f func(*session) error) error {
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	if cl := c.running(ctx, p); cl != nil {
		return f(cl)
	}
	a, err := c.open(ctx)
	if err != nil {
		return err
	}
	if err := a.Host.WaitServers(ctx); err != nil {
		a.Close()
		return err
	}
	cl := &session{Client: client.InProcess(a.Daemon.Handler(), a.Token, a.Close), config: p.Config, local: true, warm: a.Host.Warm}
	cl.SetLanguage(string(c.language()))
	defer cl.Close()
	return f(cl)
}

// declaredTools returns the tools of the manifests in a plugin folder. It prints what
// is left out.
func (c *cli) declaredTools(ctx context.Context, dir string) ([]tool.Spec, error) {
	return config.DeclaredTools(ctx, dir, version(), func(t tool.Text) {
		args := slices.Clone(t.Args)
		for i, a := range args {
			if p, ok := a.(registry.Problem); ok {
				args[i] = textOf(fmt.Sprint(p))
			}
		}
		c.errf("weir: "+t.Format+"\n", args...)
	})
}
