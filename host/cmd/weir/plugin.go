package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/plugincmd"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

// The commands here are a person's word about a plugin. A running daemon takes
// them over HTTP with the token; without one the data folder is opened.

// pluginKeeping are the commands that decide what may run.
func (c *cli) pluginKeeping() []*cobra.Command {
	return []*cobra.Command{pluginInfoCmd(c), pluginApproveCmd(c), pluginRollbackCmd(c), pluginDisableCmd(c), pluginEnableCmd(c), pluginRemoveCmd(c)}
}

// pluginCommands returns the commands about plugins.
func (c *cli) pluginCommands() *plugincmd.Commands {
	log := c.pluginLogger()
	return &plugincmd.Commands{
		Printer: c.Printer, Program: os.Args[0], Version: version(), Source: c.source(), Logger: log,
		Report: func(ctx context.Context, err error) { c.report(ctx, err) },
		HostConfig: func() (host.Config, error) {
			p, l, err := c.settings()
			if err != nil {
				return host.Config{}, err
			}
			return l.Settings.WithDefaults().Host(p, l.Secrets, log, version()), nil
		},
	}
}

func pluginInfoCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "info NAME|DIR|FILE", Short: "Show everything about a plugin: powers, tools, limits, approvals, what waits",
		Long: "Show everything about a plugin that the daemon has, by its NAME; or about one that lies anywhere, by its\n" +
			"folder or .wasm, with the limits that would be in force for it under this configuration.",
		Args: argCount(1, 1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isPath(args[0]) {
				return c.pluginCommands().Inspect(cmd.Context(), args[0])
			}
			err := c.withClient(cmd.Context(), func(cl *session) error {
				var r plugin.Review
				if done, err := c.Show(cmd.Context(), cl, plugincmd.Path(args[0], ""), &r); done || err != nil {
					return err
				}
				c.pluginCommands().ShowReview(r)
				return nil
			})
			if _, missing := os.Stat(filepath.Join(args[0], registry.ManifestName)); err != nil && missing == nil {
				return c.pluginCommands().Inspect(cmd.Context(), args[0])
			}
			return err
		},
	}
}

func pluginRollbackCmd(c *cli) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "rollback NAME", Short: "Go back to the version approved before, until the next approval", Args: argCount(1, 1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.verdict(cmd.Context(), args[0], "rollback", map[string]string{"digest": to}, func(r plugin.Review) {
				c.outf("%s is at version %s again (%s), until something else is approved\n", r.Plugin.Name, term.OrDash(r.Plugin.Version), plugincmd.Short(r.Plugin.Digest))
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the version with this `DIGEST`, of which 6 digits are enough (default: the one before)")
	return cmd
}

func pluginDisableCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "disable NAME", Short: "Take a plugin out until it is enabled again", Args: argCount(1, 1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.verdict(cmd.Context(), args[0], "disable", nil, func(r plugin.Review) {
				c.outf("%s is disabled; to take it back: weir plugin enable %s\n", r.Plugin.Name, r.Plugin.Name)
			})
		},
	}
}

func pluginEnableCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "enable NAME", Short: "Take a disabled plugin in again", Args: argCount(1, 1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.verdict(cmd.Context(), args[0], "enable", nil, c.pluginCommands().ShowState)
		},
	}
}

// verdict sends a decision about a plugin and prints the result.
func (c *cli) verdict(ctx context.Context, name, what string, body map[string]string, tell func(plugin.Review)) error {
	return c.withClient(ctx, func(cl *session) error {
		r, err := plugincmd.Decide(ctx, cl, name, what, body)
		if err != nil {
			return err
		}
		if c.AsJSON(r) {
			return nil
		}
		tell(r)
		return nil
	})
}

func pluginRemoveCmd(c *cli) *cobra.Command {
	var yes, keep bool
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Forget a plugin, its copies and, after asking, its files", Args: argCount(1, 1, "one plugin"),
		Long: "Forget what was approved of a plugin, remove its copies and, after asking, the files in the plugin folder that it is\n" +
			"made of: the manifest, the module and what the manifest refers to. What else lies there stays.",
		RunE: c.request(func(ctx context.Context, cl *session, args []string) error {
			return c.pluginCommands().Remove(ctx, cl.plugins(), args[0], yes, keep)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&keep, "keep-files", false, "leave the files in the plugin folder; the plugin is new then")
	return cmd
}

func pluginCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "Make, build and test plugins; look at, approve and take them back"}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the plugins and what keeps some of them out", Args: argCount(0, 0, "no arguments"),
		RunE: c.request(func(ctx context.Context, cl *session, _ []string) error {
			var out struct{ Plugins []plugin.Info }
			if done, err := c.Show(ctx, cl, "/api/plugins", &out); done || err != nil {
				return err
			}
			if len(out.Plugins) == 0 {
				return c.noPlugins()
			}
			c.pluginCommands().ShowList(out.Plugins)
			return nil
		}),
	}, warmCmd(c), retryCmd(c), reloadPluginsCmd(c), packCmd(c), validateCmd(c), pluginNewCmd(c), pluginBuildCmd(c), pluginDevCmd(c), pluginTestCmd(c), pluginBenchCmd(c))
	cmd.AddCommand(c.pluginKeeping()...)
	return cmd
}

// noPlugins says where plugins go.
func (c *cli) noPlugins() error {
	_, l, err := c.load()
	if err != nil {
		return err
	}
	c.outf("there are no plugins\n")
	c.outf("  → put a plugin into %s: a folder with its plugin.toml, or one .wasm; `weir plugin new` makes one\n", l.Settings.Plugins.Folder[0].Path)
	return nil
}
