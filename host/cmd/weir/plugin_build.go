package main

import (
	"github.com/spf13/cobra"
)

func pluginBuildCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "build [DIR]", Short: "Build a tool's module, and check it as a host would",
		Long: "Build the module of the tool in DIR with the toolchain of its language, which is found by what the\n" +
			"folder holds, and check manifest and module. A toolchain that is missing is named, with the command\n" +
			"that gets it. The module is replaced only by a build that has succeeded.",
		Args: argCount(0, 1, "one folder at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := c.pluginCommands().Build(cmd.Context(), folderOf(args))
			return err
		},
	}
}

// folderOf is the folder that a command is about.
func folderOf(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return "."
}
