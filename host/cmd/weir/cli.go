package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// A cli is one run of the command line: what it writes to, and which daemon or data
// folder it is for. Every command is a function of a cli.
type cli struct {
	*term.Printer
	target

	lang    string // --lang en|zh
	verbose bool   // --verbose

	about  string               // the command, or the noun that its subcommands are about
	waited bool                 // it has said that it waits for another command
	spoken tool.Locale          // the language that was found; empty: none yet
	helps  map[string]tool.Text // help texts with arguments, by what they say in English
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
	c.Language = c.language
	return c
}

// source is the configuration that the flags name.
func (c *cli) source() config.Source {
	s := config.Source{Config: c.config, Data: c.data, Plugins: c.plugins, Workspace: c.workspace, Env: c.Lookup}
	if exe, err := os.Executable(); err == nil {
		s.Shipped = config.ShippedWith(exe)
	}
	return s
}

func (c *cli) findPaths() (config.Paths, error) { return c.source().Paths() }

// load finds and reads the configuration. It says where a part of it is not read.
func (c *cli) load() (config.Paths, config.Loaded, error) {
	p, err := c.source().Paths()
	if err != nil {
		return p, config.Loaded{}, err
	}
	l, err := c.source().Load(p)
	if !l.Skipped.IsZero() {
		c.Errf("weir: %v\n", l.Skipped)
	}
	return p, l, err
}

// settings loads the configuration and makes any fault an error.
func (c *cli) settings() (config.Paths, config.Loaded, error) {
	p, l, err := c.load()
	if err == nil {
		err = l.Err()
	}
	return p, l, err
}

// options say how this command opens an App: for one request, with its warnings
// printed and not logged.
func (c *cli) options() app.Options {
	return app.Options{
		Source: c.source(), Version: version(), Log: c.Err, Quiet: true, Verbose: c.verbose,
		Notice: func(t tool.Text) { c.Errf("weir: %v\n", t) },
	}
}

// open opens the configuration and the data folder.
func (c *cli) open(ctx context.Context, o app.Options) (*app.App, error) {
	return app.Open(ctx, o)
}

// A usageError is the caller's mistake: a flag, an argument, the configuration.
type usageError = msg.Problem

func usagef(hint, format string, args ...any) *msg.Problem { return msg.Usagef(hint, format, args...) }

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
		case p.OfModel():
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
	msg, hint := term.Plain(c.Text(text)), term.Plain(c.Text(fix)) // names of files and texts of servers are in it
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
