package main

import (
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/backup"
	"github.com/weirhost/weir/host/internal/storecmd"
)

func backupCmd(c *cli) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write the data folder into one file, also while a daemon runs", Args: argCount(1, 1, "one file"),
		Long: "Write everything of the data folder into FILE: conversations, archived results, what was approved, and the token.\n" +
			"The archive is copied as it is at one moment, also while a daemon writes to it. tools.toml and .env lie\n" +
			"elsewhere and are not in it. Keep FILE as private as the data folder; it is made for your eyes alone (0600).",
		RunE: func(cmd *cobra.Command, args []string) error { return c.store().Backup(cmd.Context(), args[0], force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	return cmd
}

func restoreCmd(c *cli) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Put a backup into the data folder, while no daemon runs", Args: argCount(1, 1, "one file"),
		Long: c.helpf("Put what `weir backup` wrote into the data folder. No daemon may run there. A folder that holds something\n"+
			"is left alone unless --replace is given; then what was there is moved into a folder beside it, named\n"+
			"%s…, and nothing is deleted. A backup of a newer weir is refused.", backup.AsidePrefix),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.store().Restore(cmd.Context(), args[0], replace)
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "put it in the place of what is there, which is moved aside")
	return cmd
}

func (c *cli) store() storecmd.Commands {
	return storecmd.Commands{Printer: c.Printer, Source: c.source(), Version: version()}
}

func storeCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "store", Short: "Move what weir remembers from its file to PostgreSQL, or back",
		Long: "Move what weir remembers from the file in the data folder to the database of [store] in tools.toml, or back.\n" +
			"Both are read again before the copy counts, row by row. The source stays as it is.",
	}
	var back bool
	migrate := &cobra.Command{Use: "migrate", Short: "Copy the data folder's file into the empty database of [store], while no daemon runs", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.store().Migrate(cmd.Context(), back) }}
	migrate.Flags().BoolVar(&back, "back", false, "copy the database into a new file of the data folder")
	cmd.AddCommand(migrate, &cobra.Command{
		Use: "check [PLACE PLACE]", Short: "Compare the rows of the file with those of the database", Args: argCount(0, 2, "nothing, or two places"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.store().Check(cmd.Context(), args...) },
	}, &cobra.Command{
		Use: "copy FROM TO", Short: "Copy a file into an empty database, or a database into a new file, also while a daemon runs", Args: argCount(2, 2, "two places"),
		Long: "Copy what is there at one moment. One place is a data folder or its archive.db, the other one a URL that begins\n" +
			"with postgres://, or '${NAME}' of a variable that has it.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.store().Copy(cmd.Context(), args[0], args[1]) },
	})
	return cmd
}
