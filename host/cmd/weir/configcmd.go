package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/declared"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

func configCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show and check the configuration"}
	cmd.AddCommand(trustCmd(c), &cobra.Command{
		Use: "show", Short: "Print the configuration in force, without secrets", Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			p, l, err := c.settings()
			if err != nil {
				return err
			}
			s := l.Settings.WithDefaults().Redacted()
			if c.AsJSON(map[string]any{"file": p.Config, "settings": s, "recommended": declared.Recommendations(s)}) {
				return nil
			}
			var b bytes.Buffer
			enc := toml.NewEncoder(&b)
			enc.Indent = ""
			if err := enc.Encode(s); err != nil {
				return err
			}
			source := cmp.Or(p.Config, "the defaults; there is no tools.toml")
			c.outf("# from %s\n", textOf(source))
			for _, r := range declared.Recommendations(s) {
				fmt.Fprintf(c.Out, "# %s\n", c.Sprintf("%v", r.Text()))
			}
			fmt.Fprint(c.Out, b.String())
			return nil
		},
	}, &cobra.Command{
		Use: "validate", Short: "Check the configuration and name every fault", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, l, err := c.load()
			if err != nil {
				return err
			}
			faults, doubts := slices.Concat(l.Faults, declared.CheckManifests(cmd.Context(), l.Settings, version())), slices.Concat(l.Settings.Lint(), c.unknownNames(cmd.Context(), p, l.Settings))
			if c.JSON {
				if faults == nil {
					faults = []config.Fault{}
				}
				c.Print(map[string]any{"file": p.Config, "ok": len(faults) == 0, "faults": faults, "warnings": slices.Concat([]config.Fault{}, doubts)})
			}
			for _, f := range doubts {
				c.Errf("weir: %v\n", tool.Textf("warning: %v", f.Text()))
			}
			for _, f := range faults {
				c.Errf("%v\n", f.Text())
			}
			if len(faults) > 0 {
				return term.ExitError(term.ExitUsage)
			}
			if !c.JSON {
				c.outf("%s is in order\n", p.Config)
			}
			return nil
		},
	})
	return cmd
}

// unknownNames returns the names in the settings that the running daemon has no tool for; none
// if no daemon runs with this configuration.
func (c *cli) unknownNames(ctx context.Context, p config.Paths, s config.Settings) []config.Fault {
	d := c.running(ctx, p)
	if d == nil {
		return nil
	}
	defer d.Close()
	var out struct{ Plugins []plugin.Info }
	if d.at.Config != p.Config || d.Get(ctx, "/api/plugins", &out) != nil {
		return nil
	}
	return config.UnknownNames(s, out.Plugins)
}

// trustCmd lets the servers of this folder's configuration be started.
func trustCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "trust", Short: "Let the MCP servers that this folder's tools.toml names be started", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, l, err := c.settings()
			if err != nil {
				return err
			}
			list := l.Settings.HostServers(p)
			if len(list) == 0 {
				c.outf("no MCP servers are named; there is nothing to trust\n")
				return nil
			}
			var names []string
			for _, one := range list {
				names = append(names, one.Name)
			}
			if err := p.Trust(l.Settings, names...); err != nil {
				return err
			}
			for _, one := range list {
				c.outf("%s may be started: %s\n", one.Name, config.ServerLine(one))
			}
			c.models().TellReload(cmd.Context(), p)
			return nil
		},
	}
}

func pathsCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "paths", Short: "Print where weir keeps its files", Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			p, err := c.findPaths()
			if err != nil {
				return err
			}
			if c.AsJSON(p) {
				return nil
			}
			config := cmp.Or(p.Config, "(none: the defaults hold)")
			for _, row := range [][2]string{{"config", config}, {"data", p.Data}, {"archive", p.Archive}, {"cache", p.Cache}, {"token", p.Token}, {"address", p.Address}, {"pins", p.Pins}} {
				fmt.Fprintf(c.Out, "%s %s\n", c.Label(row[0], 8), c.text(row[1]))
			}
			return nil
		},
	}
}
