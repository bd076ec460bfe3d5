package main

import (
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/plugincmd"
)

func pluginApproveCmd(c *cli) *cobra.Command {
	var a plugincmd.Approval
	cmd := &cobra.Command{
		Use: "approve NAME | --all", Short: "Look at what waits, and let exactly that run", Args: argCount(0, 1, "one plugin, or --all"),
		Long: "Show a plugin that waits, or what a new version changes of the one that serves, and let exactly the bytes that were shown\n" +
			"run once a person says yes. Powers are granted in tools.toml: with --path, --host and --secret they are written there.",
		Example: "  weir plugin approve notes\n  weir plugin approve notes --yes --path /workspace=./docs --host api.example.com --secret API_KEY",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case a.All == (len(args) == 1):
				return usagef("`weir plugin list` lists the plugins that wait", "name one plugin, or say --all")
			case a.All && a.Grants():
				return usagef("approve the plugin alone to grant it something", "--path, --host and --secret are for one plugin")
			}
			return c.withClient(cmd.Context(), func(cl *session) error {
				if a.All {
					return c.pluginCommands().ApproveAll(cmd.Context(), cl.plugins(), a)
				}
				return c.pluginCommands().Approve(cmd.Context(), cl.plugins(), args[0], a)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&a.All, "all", false, "everything that waits for an approval")
	f.BoolVarP(&a.Yes, "yes", "y", false, "do not ask: for scripts")
	f.StringArrayVar(&a.Paths, "path", nil, "grant a folder: `GUEST=DIR`, read only unless DIR ends with :rw")
	f.StringArrayVar(&a.Hosts, "host", nil, "grant a `HOST` that it asks for")
	f.StringArrayVar(&a.Secrets, "secret", nil, "grant a secret that it asks for, by `NAME`")
	return cmd
}
