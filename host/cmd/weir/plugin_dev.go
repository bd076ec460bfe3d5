package main

import (
	"github.com/spf13/cobra"
)

func pluginDevCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "dev [DIR]", Short: "Build and test whenever a file is saved, and show what a model would read",
		Long: "Build the tool in DIR, run its cases and a few calls with made up arguments, and show of each case\n" +
			"what a model would read, with the notice about what is left out; then wait for a file to be saved,\n" +
			"and do it again. Ctrl-C ends it.",
		Args: argCount(0, 1, "one folder at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.pluginCommands().Dev(cmd.Context(), folderOf(args))
		},
	}
}
