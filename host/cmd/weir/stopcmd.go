package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/msg"
)

// stopCmd stops the daemon of the data folder.
func stopCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "stop", SuggestFor: []string{"quit", "kill", "down", "shutdown"}, Short: "Stop the running daemon", Args: argCount(0, 0, "no arguments"),
		Long: "Stop the daemon of the data folder, and wait until it has ended: running answers have their time to end. A daemon\n" +
			"that an MCP client started ends with that client.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			cl, p, err := c.find(ctx)
			if err != nil {
				return err
			}
			if cl == nil {
				return msg.Errorf("no daemon answers with the data folder %s", p.Data)
			}
			if cl.at.Command == "mcp" {
				return usagef("", "the daemon belongs to an MCP client").WithHint("%v", cl.at.Stopping())
			}
			if err := cl.Post(ctx, "/api/stop", struct{}{}, nil); err != nil {
				return err
			}
			_, done := c.Progress(c.Sprintf("waiting for running answers"))
			defer done()
			for {
				l, err := app.Lock(ctx, p)
				if err == nil {
					_ = l.Unlock()
					break
				}
				if _, busy := errors.AsType[*app.BusyError](err); !busy || ctx.Err() != nil {
					return err
				}
				if next := c.running(ctx, p); next != nil && next.at.PID != cl.at.PID {
					break // a `weir mcp` goes on with the data folder
				}
			}
			done()
			if c.AsJSON(map[string]any{"stopped": cl.at.PID}) {
				return nil
			}
			c.outf("the daemon has stopped (weir %s, process %d)\n", cl.at.Command, cl.at.PID)
			return nil
		},
	}
}
