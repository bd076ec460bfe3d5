package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/term"
)

// warmCmd compiles every plugin into the cache, so that the daemon's first
// calls do not wait for it.
func warmCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "warm", Short: "Compile every plugin for this machine now", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, _, err := c.find(cmd.Context())
			if err != nil {
				return err
			}
			if cl != nil {
				c.errf("a daemon is running: it compiles new plugins automatically\n")
				return nil
			}
			a, err := c.open(cmd.Context(), c.options())
			if err != nil {
				return err
			}
			defer a.Close()
			failed, compiled := 0, 0
			tell, done := c.Progress(c.Sprintf("compiling"))
			defer done()
			a.Host.Warm(cmd.Context(), func(name string, took time.Duration, err error) {
				if err != nil {
					failed++
				}
				tell("") // its line takes the place
				c.pluginCommands().ShowCompiled(name, took, err)
				compiled++
				tell(c.Sprintf("compiling, %d done", compiled))
			})
			if failed > 0 {
				return term.ExitError(term.ExitFailed)
			}
			return cmd.Context().Err()
		},
	}
}
