package main

import (
	"context"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

// mcpRestartCmd starts a server of the running daemon again.
func mcpRestartCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "restart NAME", Short: "Start another MCP server again", Args: argCount(1, 1, "one server"),
		Long: "Start a server of [mcpServers] again, in the daemon that runs, and wait until it has answered or failed.\n" +
			"Its running calls fail. weir restarts a server by itself when its program ends, and when it answers\n" +
			"different calls with the same error again and again.",
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, _, err := c.find(cmd.Context())
			if err != nil {
				return err
			}
			if cl == nil {
				return usagef("`weir serve` runs one; a server starts with it", "no daemon runs, so no server of it can be started again")
			}
			defer cl.Close()
			return c.restartServer(cmd.Context(), cl, args[0])
		},
	}
}

func (c *cli) restartServer(ctx context.Context, cl *session, name string) error {
	var info plugin.Info
	if err := cl.Post(ctx, "/api/plugins/"+url.PathEscape(name)+"/restart", struct{}{}, &info); err != nil {
		return err
	}
	if !c.AsJSON(info) {
		if info.State == plugin.Ready {
			c.outf("%s was started again; tools: %d\n", info.Name, len(info.Tools))
			return nil
		}
		c.outf("%s was started again and is not ready: %s\n", info.Name, term.Plain(c.Text(info.Why)))
		if !info.Fix.IsZero() {
			c.outf("  → %s\n", term.Plain(c.Text(info.Fix)))
		}
	}
	if info.State != plugin.Ready {
		return term.ExitError(term.ExitFailed)
	}
	return nil
}
