package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/plugincmd"
	"github.com/weirhost/weir/host/plugin"
)

// reloadCmd has the running daemon read its whole configuration again.
func reloadCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Have the running daemon read tools.toml, .env and the plugin folders again", Args: argCount(0, 0, "no arguments"),
		Long: "Have the running daemon read tools.toml, .env and the plugin folders again, and say what holds now and what\n" +
			"will not before a restart. Answers that are being given end under what they began with. A file with a fault\n" +
			"changes nothing. The signal SIGHUP does the same.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.daemon(cmd.Context())
			if err != nil {
				return err
			}
			var out daemon.ReloadReport
			if err := cl.Post(cmd.Context(), "/api/reload", struct{}{}, &out); err != nil {
				return err
			}
			if c.AsJSON(out) {
				return nil
			}
			for _, row := range []struct {
				what  string
				names []string
			}{{"in force", out.InForce}, {"restart", out.Restart}} {
				if len(row.names) > 0 {
					fmt.Fprintf(c.Out, "%s %s\n", c.Label(row.what, 8), strings.Join(row.names, " "))
				}
			}
			if len(out.Restart) > 0 {
				c.errf("weir: settings listed under restart take effect when the daemon starts again\n")
			}
			for _, note := range out.Notes {
				c.errf("weir: %s\n", note)
			}
			var now struct{ Plugins []plugin.Info }
			if !out.Change.Empty() {
				err = cl.Get(cmd.Context(), "/api/plugins", &now)
				c.showChange(out.Change, now.Plugins)
			} else if len(out.InForce)+len(out.Restart) == 0 {
				c.outf("nothing is different\n")
			}
			return err
		},
	}
}

// daemon is the running daemon of the data folder.
func (c *cli) daemon(ctx context.Context) (*session, error) {
	cl, p, err := c.find(ctx)
	if cl != nil || err != nil {
		return cl, err
	}
	return nil, usagef("start one with `weir serve`; every other command reads the files when it starts", "no daemon runs with the data folder %s", p.Data)
}

// reloadPluginsCmd has the running daemon read its plugin folders again.
func reloadPluginsCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Have the running daemon read the plugin folders again", Args: argCount(0, 0, "no arguments"),
		Long: "Have the running daemon read the plugin folders and the [grants] of tools.toml again and say what became\n" +
			"different. It watches the folders ([plugins] watch), but not the file; this also gives its\n" +
			"verdict at once on files that are still broken. `weir reload` reads all of tools.toml.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.daemon(cmd.Context())
			if err != nil {
				return err
			}
			var out api.Reloaded
			if err := cl.Post(cmd.Context(), "/api/plugins/reload", struct{}{}, &out); err != nil {
				return err
			}
			if c.AsJSON(out) {
				return nil
			}
			c.showChange(out.Change, out.Plugins)
			return nil
		},
	}
}

// showChange prints what a reload changed, and how to fix each plugin that cannot run
// since then: what was refused first, then what waits.
func (c *cli) showChange(change host.Change, plugins []plugin.Info) {
	if change.Empty() {
		c.outf("nothing is different; plugins: %d\n", len(plugins))
		return
	}
	for _, row := range []struct {
		what  string
		names []string
	}{{"added", change.Added}, {"changed", change.Changed}, {"removed", change.Removed}, {"refused", change.Invalid}, {"waiting", change.Pending}} {
		if len(row.names) > 0 {
			fmt.Fprintf(c.Out, "%s %s\n", c.Label(row.what, 8), strings.Join(row.names, " "))
		}
	}
	for _, name := range slices.Concat(change.Invalid, change.Pending) {
		if i := slices.IndexFunc(plugins, func(p plugin.Info) bool { return p.Name == name }); i >= 0 {
			fmt.Fprintf(c.Out, "\n%s: %s\n", name, c.pluginCommands().Sentence(plugincmd.Why(plugins[i])))
			if fix := plugincmd.Fix(plugins[i]); !fix.IsZero() {
				fmt.Fprintf(c.Out, "  → %s\n", c.pluginCommands().Sentence(fix))
			}
		}
	}
}
