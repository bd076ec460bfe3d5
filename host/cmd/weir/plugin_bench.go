package main

import (
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugintest"
)

func pluginBenchCmd(c *cli) *cobra.Command {
	var calls int
	cmd := &cobra.Command{
		Use: "bench [DIR|FILE]", Short: "Measure a plugin: compiling, loading, calls, memory, how long its text is",
		Long: "Measure a plugin in the sandbox that a daemon has. Each tool is called with the arguments, and in the\n" +
			"world, of its first case that expects a result, else with those of its first example; every call\n" +
			"finds fresh state. Times are those of this machine as it is busy now.",
		Args: argCount(0, 1, "one folder or file at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.pluginCommands().TestConfig()
			if err != nil {
				return err
			}
			_, done := c.Progress(c.Sprintf("measuring"))
			defer done()
			f, err := plugintest.Measure(cmd.Context(), folderOf(args), calls, cfg)
			if err != nil {
				return err
			}
			done()
			c.pluginCommands().ShowFigures(f)
			if len(f.Problems) > 0 {
				return term.ExitError(term.ExitFailed)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&calls, "calls", 0, c.helpf("how many calls of each tool, within 5 s; 0 or negative: %d", plugintest.DefaultCalls))
	return cmd
}
