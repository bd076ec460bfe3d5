package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/internal/words"
	"github.com/weirhost/weir/sdk/tool"
)

// A cli is one run of the command line: what it writes to, and which daemon or data
// folder it is for.
type cli struct {
	*term.Printer
	target

	lang    string // --lang en|zh
	verbose bool   // --verbose

	serving  bool        // a daemon: it writes to the log alone
	stays    bool        // it answers for longer than one command
	spoken   tool.Locale // the language that was found; empty: none yet
	book     *words.Book // the Chinese texts; nil: not loaded yet
	bookOnce sync.Once
	helps    map[string]tool.Text // help texts with arguments, by what they say in English
}

// A target is the configuration and the folders that a command works with, by the
// flags that every command has. The zero value is the target of a command without
// these flags.
type target struct {
	config    string // --config FILE
	data      string // --data DIR
	plugins   string // --plugins DIR
	workspace string // --workspace DIR
}

// newCLI returns a cli without flags.
func newCLI(env term.Env) *cli {
	c := &cli{Printer: &term.Printer{Env: env}}
	c.Language, c.Localize = c.language, c.localize
	return c
}

// A usageError is the caller's mistake: a flag, an argument, the configuration.
type usageError = msg.Problem

func usagef(hint, format string, args ...any) *msg.Problem { return msg.Usagef(hint, format, args...) }

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Args:  cobra.ArbitraryArgs, // subcommand reports an unknown command
		RunE:  subcommand,
		Short: "Sandboxed tools for any chat model, with limits, an archive and placeholders",
		Long: "weir runs WebAssembly tools for chat models. Each tool declares how much it may show;\n" +
			"what is left out stays in an archive that the model can load back.",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("", "%s", flagProblem(err)).WithHint("`%s --help` lists the flags", cmd.CommandPath())
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
		c.serveCmd(), c.healthCmd(), c.reloadCmd(), c.askCmd(), c.chatCmd(), c.traceCmd(), c.callCmd(), c.parseCmd(), c.cutCmd(),
		c.toolCmd(), c.pluginCmd(), c.archiveCmd(), c.conversationCmd(), c.userCmd(), c.modelCmd(), c.mcpCmd(),
		c.approvalsCmd(), c.configCmd(), c.statsCmd(), c.backupCmd(), c.restoreCmd(), c.doctorCmd(), c.pathsCmd(), c.versionCmd(),
	)
	root.InitDefaultHelpFlag() // known before it is used: what follows it is no value of it
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		c.translate(root)
		help(cmd, args)
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case c.Events && cmd.Name() != "ask":
			return usagef("leave =events out", "--json=events is for weir ask")
		case c.lang != "" && c.lang != string(tool.En) && c.lang != string(tool.Zh):
			return usagef("use en or zh", "--lang is %q", c.lang)
		}
		return nil
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
	return usagef("", "there is no command %q", cmd.CommandPath()+" "+args[0]).WithHint("`%s --help` lists the commands", cmd.CommandPath())
}

// misused are the codes of the daemon that a wrong argument leads to.
var misused = []string{string(tool.UnknownTool), string(tool.BadArgs), "unknown_model", "unknown_profile", "unknown_plugin", "bad_query"}

// report prints err as one line with its hint and returns the exit code.
func (c *cli) report(ctx context.Context, err error) int {
	var code term.ExitError
	var ue *usageError
	var p *api.Problem
	var me *agent.ModelError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil:
		c.complain("interrupted", tool.Textf("interrupted"), tool.Text{})
		return term.ExitInterrupted
	case errors.As(err, &ue):
		c.complain(ue.Code, ue.Text, ue.Hint)
		switch {
		case ue.Code == msg.Usage:
			return term.ExitUsage
		case strings.HasPrefix(ue.Code, "model_"):
			return term.ExitModel
		}
		return term.ExitFailed
	case errors.As(err, &p):
		c.complain(p.Code, p.Msg, p.Hint)
		switch {
		case strings.HasPrefix(p.Code, "model_"):
			return term.ExitModel
		case slices.Contains(misused, p.Code):
			return term.ExitUsage
		}
		return term.ExitFailed
	case errors.As(err, &me):
		text, hint := me.Texts()
		c.complain("model_"+string(me.Code), text, hint)
		return term.ExitModel
	}
	c.complain("failed", msg.Of(err), tool.Text{})
	return term.ExitFailed
}

// complain writes a problem: for people on stderr, with --json also as the one
// value on stdout.
func (c *cli) complain(code string, text, fix tool.Text) {
	msg, hint := c.localize(text), c.localize(fix)
	line := "weir: " + msg
	if hint != "" {
		line += "\n      " + hint
	}
	fmt.Fprintln(c.Err, line)
	if c.Events {
		data, _ := json.Marshal(map[string]string{"code": code, "message": msg, "hint": hint}) // strings always marshal
		c.PrintEvent("error", data)
	} else if c.JSON {
		c.Print(map[string]any{"error": map[string]string{"code": code, "message": msg, "hint": hint}})
	}
}

// argCount makes a usage error of a wrong number of arguments.
func argCount(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || (most >= 0 && len(args) > most) {
			return usagef("", "%s takes %s", cmd.CommandPath(), textOf(what)).WithHint("usage: %s", cmd.UseLine())
		}
		return nil
	}
}
