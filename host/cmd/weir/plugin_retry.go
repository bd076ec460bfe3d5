package main

import (
	"context"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/plugin"
)

// retryCmd takes a plugin out of quarantine.
func retryCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "retry NAME", Short: "Try a quarantined plugin once more", Args: argCount(1, 1, "one plugin"),
		Long: "Take a plugin out of quarantine. A module gets there when compiling it took more CPU time or memory than\n" +
			"[sandbox] compile_cpu and compile_memory allow, or ended the process that did it. It is tried again, in a\n" +
			"process of its own, at the plugin's next call or by `weir plugin warm`.",
		RunE: c.request(func(ctx context.Context, cl *session, args []string) error {
			var out api.Retried
			if err := cl.Post(ctx, "/api/plugins/"+url.PathEscape(args[0])+"/retry", struct{}{}, &out); err != nil {
				return err
			}
			if c.AsJSON(out) {
				return nil
			}
			if out.State != plugin.Ready { // one made for another host is tried at once
				c.outf("%s was tried again; it is %s now, and `weir plugin list` says why\n", out.Plugin, textOf(string(out.State)))
				return nil
			}
			c.outf("%s is tried again at its next call\n", out.Plugin)
			return nil
		}),
	}
}
