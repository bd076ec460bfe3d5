package main

import (
	"github.com/spf13/cobra"
)

// packCmd makes one file of a plugin's folder.
func packCmd(c *cli) *cobra.Command {
	var out string
	var strip bool
	cmd := &cobra.Command{
		Use: "pack DIR [-o FILE.wasm]", Short: "Write a plugin's manifest into its module: one file to hand around",
		Long: "Write the manifest of the plugin in DIR into the custom section weir.manifest of its\n" +
			"module. The new file, dropped alone into a plugin folder, is the whole plugin. The same\n" +
			"files give the same bytes.",
		Example: "  weir plugin pack plugins/grep_search\n  weir plugin pack . --strip -o /tmp/grep_search.wasm",
		Args:    argCount(1, 1, "one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.pluginCommands().Pack(cmd.Context(), args[0], out, strip)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE` (default: NAME-VERSION.wasm in the current folder)")
	cmd.Flags().BoolVar(&strip, "strip", false, "drop the module's other custom sections: names and debugging data")
	return cmd
}

// validateCmd reads a plugin as a host would.
func validateCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "validate PATH", Short: "Check a plugin: its folder, its manifest, or a .wasm",
		Long: "Read a plugin as the host does, and print what is wrong, each with file, line and column\n" +
			"and what to change. Nothing runs but the top level of a script, without permissions.\n" +
			"The exit code is 1 when the plugin cannot be used.",
		Args: argCount(1, 1, "one folder or file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.pluginCommands().Validate(cmd.Context(), args[0])
		},
	}
}
