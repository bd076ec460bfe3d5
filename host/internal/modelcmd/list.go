// Package modelcmd carries out the commands about models: it lists what is configured and
// what was found, changes tools.toml, and tests models.
package modelcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/term"
)

// Commands carries out the commands about models and prints what they find.
type Commands struct {
	*term.Printer
	// Source finds the configuration.
	Source config.Source
	// Program is how this program was called, for commands that are shown to be copied;
	// "" means weir.
	Program string
	// Load reads the configuration; a fault in it is an error.
	Load func() (config.Paths, config.Loaded, error)
	// Log returns the logger of the models that are tested.
	Log func(config.LogSettings) hclog.Logger
}

func (c *Commands) program() string { return cmp.Or(c.Program, "weir") }

// TellReload prints the command that makes a running daemon read the configuration again.
// Without a daemon it prints nothing.
func (c *Commands) TellReload(ctx context.Context, p config.Paths) {
	if d, _ := client.Find(ctx, client.Files{Address: p.Address, Lock: p.Lock, Token: p.Token}); d != nil {
		c.Outf("the running daemon takes it up with: %s reload\n", c.program())
	}
}

// List prints the configured models, and servers and keys that were found.
func (c *Commands) List(ctx context.Context) error {
	_, l, err := c.Load()
	if err != nil {
		return err
	}
	s := l.Settings.WithDefaults()
	found := c.probe(ctx, l.Secrets)
	type row struct {
		Name     string `json:"name"`
		Provider string `json:"provider"`
		Model    string `json:"model"`
		BaseURL  string `json:"base_url,omitempty"`
		Window   int    `json:"window"` // tokens; 0: asked for
		Default  bool   `json:"default"`
		// FromTable is the window that holds where the server says none, in tokens.
		FromTable int `json:"table_window,omitempty"`
	}
	rows := []row{}
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		m := s.Models[name]
		known := provider.Config{Provider: m.Provider, BaseURL: m.BaseURL, Model: m.Model}.KnownWindow()
		rows = append(rows, row{name, m.Provider, m.Model, m.BaseURL, m.Window, name == s.Agent.Model, known})
	}
	rows = append(rows, row{Name: daemon.DemoModel, Provider: "weir", Model: app.DemoInfo().Model, Default: s.Agent.Model == daemon.DemoModel})
	if c.JSON {
		if found == nil {
			found = []provider.Found{}
		}
		c.Print(map[string]any{"models": rows, "found": found})
		return nil
	}
	c.Table("NAME\tPROVIDER\tMODEL\tWINDOW\t", func(w io.Writer) {
		for _, r := range rows {
			window, mark := c.Sprintf("asked for"), ""
			switch {
			case r.Window > 0:
				window = fmt.Sprint(r.Window)
			case r.FromTable > 0:
				window = c.Sprintf("asked for, else %d", r.FromTable)
			}
			if r.Default {
				mark = c.Sprintf("(default)")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Name, r.Provider, r.Model, window, mark)
		}
	})
	c.tellFound(c.Out, found)
	return nil
}

func (c *Commands) probe(ctx context.Context, env config.Lookup) []provider.Found {
	return app.FindModels(ctx, env, c.Getenv("WEIR_NO_PROBE") != "", 0)
}

func (c *Commands) tellFound(w io.Writer, found []provider.Found) {
	for _, f := range found {
		where := c.Sprintf("at %s", f.BaseURL)
		if f.KeyEnv != "" {
			where = c.Sprintf("by %s", f.KeyEnv)
		}
		fmt.Fprint(w, c.Sprintf("          found %s %s → %s\n", f.Title, where, f.Command))
	}
}

// ShowDefault prints in the banner which model answers, and which others could.
func (c *Commands) ShowDefault(ctx context.Context, a *app.App) {
	name := a.Settings.Agent.Model
	if m := a.Settings.Models[name]; m.Model != "" {
		c.Errf("  model   %s (%s, %s)\n", name, m.Provider, m.Model)
		if err := a.ModelError(name); err != nil {
			c.Errf("          it cannot be used: %s\n", err)
		}
		return
	}
	c.Errf("  model   the offline demo: a script, not an AI. %s model use … brings a real one\n", c.program())
	c.tellFound(c.Err, c.probe(ctx, a.Lookup))
}
