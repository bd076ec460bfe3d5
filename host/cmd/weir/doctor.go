package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/doctor"
	"github.com/weirhost/weir/host/internal/term"
)

func doctorCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check everything weir needs, and say how to fix it", Args: argCount(0, 0, "no arguments"),
		Long: "Check the configuration, the plugin folders, the data, the models, the port, the clock and the tools that\n" +
			"build plugins. Nothing is changed, and a running daemon is not disturbed. Exit code 1: something failed.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := c.findPaths()
			if err != nil {
				return err
			}
			cl := c.running(cmd.Context(), p)
			checks := doctor.Checks{Source: c.source(), Paths: p, Version: version(), Listen: listen, Model: app.ConnectModel}
			if cl != nil {
				checks.Daemon, checks.At = cl.Client, cl.at
			}
			_, done := c.Progress(c.Sprintf("checking"))
			findings := doctor.Run(cmd.Context(), checks)
			done()
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			return c.showFindings(findings)
		},
	}
}

// showFindings prints the findings and counts them.
func (c *cli) showFindings(list []doctor.Finding) error {
	counts := map[doctor.Status]int{}
	for _, f := range list {
		counts[f.Status]++
	}
	if !c.AsJSON(map[string]any{"ok": counts[doctor.Fail] == 0, "counts": counts, "findings": list}) {
		for _, f := range list {
			fmt.Fprintf(c.Out, "%-4s  %s %s\n", f.Status, c.Label(f.Area, 9), c.Text(f.What))
			if !f.Fix.IsZero() {
				fmt.Fprintf(c.Out, "                → %s\n", c.Text(f.Fix))
			}
		}
		c.outf("\n%d ok, %d noted, %d warned of, %d failed\n", counts[doctor.OK], counts[doctor.Note], counts[doctor.Warn], counts[doctor.Fail])
	}
	if counts[doctor.Fail] > 0 {
		return term.ExitError(term.ExitFailed)
	}
	return nil
}
