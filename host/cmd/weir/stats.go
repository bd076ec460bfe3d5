package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/chat"
)

func statsCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Show per tool what was called, cut, saved and loaded back", Args: argCount(0, 0, "no arguments"),
		RunE: c.request(func(ctx context.Context, cl *session, _ []string) error {
			var s store.Stats
			if done, err := c.Show(ctx, cl, "/api/stats", &s); done || err != nil {
				return err
			}
			chat.ShowStats(c.Printer, s)
			return nil
		}),
	}
}
