package main

import (
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/msg"
)

// healthCmd asks whether the daemon of the data folder takes questions, for
// what watches over it: containers have no other program to ask with.
func healthCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "health", SuggestFor: []string{"status", "ping"}, Short: "Ask whether the daemon is ready; exit 1 if it is not", Args: argCount(0, 0, "no arguments"),
		Long: "Ask the daemon of the data folder whether it takes questions. Exit 0: it does; 1: there is none, or it is starting\n" +
			"or stopping.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, p, err := c.find(cmd.Context())
			if err != nil {
				return err
			}
			if cl == nil {
				return msg.Errorf("no daemon answers with the data folder %s", p.Data)
			}
			var out daemon.Readiness
			if err := cl.Get(cmd.Context(), "/readyz", &out); err != nil {
				return err
			}
			if c.AsJSON(out) {
				return nil
			}
			for _, name := range out.Missing {
				c.errf("weir: the tools of %s are missing; `weir plugin info %s` says why\n", name, name)
			}
			c.outf("%s at %s; tools: %d\n", textOf(out.Status), cl.URL(), out.Tools)
			return nil
		},
	}
}
