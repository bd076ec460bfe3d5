package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// newRoot returns the command weir with all its commands.
func newRoot(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use: "weir", Version: version(),
		Args:  cobra.ArbitraryArgs, // subcommand reports an unknown command
		RunE:  subcommand,
		Short: "Sandboxed tools for any chat model, with limits, an archive and placeholders",
		Long: "weir runs WebAssembly tools for chat models. Each tool declares how much it may show;\n" +
			"what is left out stays in an archive that the model can load back.",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		p := usagef("", "%s", flagProblem(err)).WithHint("`%s --help` lists the flags", cmd.CommandPath())
		if near := nearFlags(cmd, err); len(near) > 0 {
			p = p.WithHint("did you mean %s? `%s --help` lists the flags", strings.Join(near, ", "), cmd.CommandPath())
		}
		return p
	})
	f := root.PersistentFlags()
	f.StringVar(&c.config, "config", "", "the configuration `FILE` (default: ./tools.toml, else tools.toml in the configuration folder)")
	f.StringVar(&c.data, "data", "", "keep all state in `DIR` (default: the XDG folders)")
	f.StringVar(&c.plugins, "plugins", "", "the plugin folder `DIR`, in place of [[plugins.folder]]")
	f.StringVar(&c.workspace, "workspace", "", "the `DIR` that tools see as /workspace (default: $WEIR_WORKSPACE, else the current folder)")
	f.Var(jsonFlag{c}, "json", "print one JSON value on stdout and everything else on stderr; weir ask --json=events prints each event as a line")
	f.Lookup("json").NoOptDefVal = "true"
	f.StringVar(&c.lang, "lang", "", "the language for people, en or zh (default: locale of tools.toml, else of the environment)")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "log what happens inside on stderr")
	root.AddCommand(
		serveCmd(c), openCmd(c), stopCmd(c), healthCmd(c), reloadCmd(c), askCmd(c), chatCmd(c), traceCmd(c), callCmd(c), scriptCmd(c), scriptsCmd(c), parseCmd(c), cutCmd(c),
		toolCmd(c), pluginCmd(c), archiveCmd(c), conversationCmd(c), userCmd(c), clientCmd(c), modelCmd(c), mcpCmd(c),
		approvalsCmd(c), configCmd(c), statsCmd(c), backupCmd(c), restoreCmd(c), storeCmd(c), doctorCmd(c), pathsCmd(c), versionCmd(c),
	)
	root.InitDefaultHelpFlag() // known before it is used: what follows it is no value of it
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		c.translate(root)
		help(cmd, args)
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		c.about = cmd.Name()
		if cmd.HasParent() && cmd.Parent().HasParent() {
			c.about = cmd.Parent().Name()
		}
		if c.about == "mcp" && slices.Contains([]string{"add", "remove"}, cmd.Name()) {
			c.about = "server"
		}
		switch {
		case c.Events && cmd.Name() != "ask":
			return usagef("leave =events out", "--json=events is for weir ask")
		case c.lang != "" && c.lang != string(tool.En) && c.lang != string(tool.Zh):
			return usagef("use en or zh", "--lang is %q", c.lang)
		}
		return c.follow(cmd.Context())
	}
	c.complete(root)
	for _, cmd := range root.Commands() {
		if !cmd.Runnable() {
			cmd.RunE = subcommand
		}
	}
	return root
}

// subcommand runs a command that only holds others.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	p := usagef("", "there is no command %q", cmd.CommandPath()+" "+args[0])
	if near := nearCommands(cmd, args[0]); len(near) > 0 {
		return p.WithHint("did you mean %s? `%s --help` lists the commands", strings.Join(near, ", "), cmd.CommandPath())
	}
	return p.WithHint("`%s --help` lists the commands", cmd.CommandPath())
}

// strict adds the library's commands help and completion, and makes an argument that they
// do not know an error: they would print a help and exit with 0.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	help, _, _ := root.Find([]string{"help"}) // they were added just now
	help.Args = func(_ *cobra.Command, args []string) error {
		if cmd, rest, err := root.Find(args); err == nil && len(rest) > 0 && cmd.HasSubCommands() {
			return subcommand(cmd, rest)
		}
		return nil
	}
	completion, _, _ := root.Find([]string{"completion"})
	var shells []string
	for _, cmd := range completion.Commands() {
		cmd.Args = argCount(0, 0, "no arguments")
		shells = append(shells, cmd.Name())
	}
	completion.Args = nil
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return usagef("", "there is no completion for a shell %q", args[0]).WithHint("use one of: %s", strings.Join(shells, ", "))
	}
}

// nearCommands returns the subcommands that name may be a mistake for, as they are typed.
func nearCommands(cmd *cobra.Command, name string) (near []string) {
	var names []string
	for _, sub := range cmd.Commands() {
		if slices.Contains(sub.SuggestFor, name) {
			return []string{"`" + sub.CommandPath() + "`"}
		}
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	for _, n := range text.Nearest(name, names) {
		near = append(near, "`"+cmd.CommandPath()+" "+n+"`")
	}
	return near
}

// nearFlags returns the flags of cmd that an unknown flag may be a mistake for.
func nearFlags(cmd *cobra.Command, err error) (near []string) {
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || e.GetSpecifiedShortnames() != "" {
		return nil
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, n := range text.Nearest(e.GetSpecifiedName(), names) {
		near = append(near, "--"+n)
	}
	return near
}
