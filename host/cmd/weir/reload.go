package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
)

// follow keeps a daemon's plugins up with their folders until ctx ends: by
// watching them, if that is wanted, and by the signal SIGHUP, which has it read
// its grants again too.
func (a *app) follow(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	var watching sync.WaitGroup
	defer watching.Wait()
	if *a.settings.Plugins.Watch {
		watching.Go(func() {
			if err := a.host.Watch(ctx, time.Duration(a.settings.Plugins.Poll)); err != nil && ctx.Err() == nil {
				a.log.Error("the plugin folders are not watched any more", "error", err)
			}
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			if _, err := a.daemon.Reload(ctx); err != nil && ctx.Err() == nil {
				a.log.Error("the plugins were not reloaded", "error", err)
			}
		}
	}
}

// reloadCmd has the running daemon read its plugin folders again.
func (c *cli) reloadCmd() *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Have the running daemon read the plugin folders again", Args: argCount(0, 0, "no arguments"),
		Long: "Have the running daemon read the plugin folders and the [grants] of tools.toml again and say what became\n" +
			"different. It watches the folders by itself ([plugins] watch), the file it does not; this also gives its\n" +
			"verdict at once on files that are still broken.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := c.findPaths()
			if err != nil {
				return err
			}
			cl := running(cmd.Context(), p)
			if cl == nil {
				return usagef("start one with `weir serve`; every other command reads the folders when it starts", "no daemon runs with the data folder %s", p.Data)
			}
			var out struct {
				Change  host.Change       `json:"change"`
				Plugins []host.PluginInfo `json:"plugins"`
			}
			if err := cl.post(cmd.Context(), "/api/plugins/reload", struct{}{}, &out); err != nil {
				return err
			}
			if c.json {
				c.print(out)
				return nil
			}
			c.showChange(out.Change, out.Plugins)
			return nil
		},
	}
}

// showChange prints what a reload made different, and how to mend what it
// found broken.
func (c *cli) showChange(change host.Change, plugins []host.PluginInfo) {
	if change.Empty() {
		fmt.Fprintf(c.out, "nothing is different: %d plugins\n", len(plugins))
		return
	}
	for _, row := range []struct {
		what  string
		names []string
	}{{"added", change.Added}, {"changed", change.Changed}, {"removed", change.Removed}, {"waiting", change.Waiting}, {"refused", change.Refused}} {
		if len(row.names) > 0 {
			fmt.Fprintf(c.out, "%-8s %s\n", row.what, strings.Join(row.names, " "))
		}
	}
	for _, p := range plugins {
		if p.State != host.Ready {
			fmt.Fprintf(c.out, "\n%s: %s\n", p.Name, p.Why)
			if p.Fix != "" {
				fmt.Fprintf(c.out, "  → %s\n", p.Fix)
			}
		}
	}
}
