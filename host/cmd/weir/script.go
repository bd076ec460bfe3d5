package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/scriptcmd"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/script/named"
)

func scriptCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "script", Short: "Run and check scripts in JavaScript that call tools"}
	cmd.AddCommand(scriptRunCmd(c), scriptCheckCmd(c))
	return cmd
}

func scriptsCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "scripts", Short: "List, show, resume and cancel scripts under way",
		Long: "List, show, resume and cancel scripts under way. A script that waits for a person is put away,\nand goes on when its calls are answered, also after a restart. ID is a part of an id, or last.",
	}
	do := scriptcmd.Commands{Printer: c.Printer}
	one := func(use, short string, f func(context.Context, *session, string) error) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: argCount(1, 1, "an id"), RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error { return f(cmd.Context(), cl, args[0]) })
		}}
	}
	var a scriptcmd.Answer
	resume := one("resume ID", "Answer the calls of a script that wait, and let it go on", func(ctx context.Context, cl *session, id string) error {
		res, err := do.Resume(ctx, cl, id, a)
		if err != nil {
			return err
		}
		return c.finishScript(ctx, cl, res)
	})
	f := resume.Flags()
	f.BoolVar(&a.Allow, "allow", false, "let the calls run that wait")
	f.BoolVar(&a.Always, "always", false, "let them run, and later calls of the same tools by the same script")
	f.BoolVar(&a.Deny, "deny", false, "keep them from running")
	f.IntSliceVar(&a.Only, "only", nil, "answer the calls with these `NUMBERS` alone")
	list := &cobra.Command{Use: "list", Short: "List the scripts", Args: argCount(0, 0, "no arguments"), RunE: func(cmd *cobra.Command, _ []string) error {
		return c.withClient(cmd.Context(), func(cl *session) error { return do.List(cmd.Context(), cl) })
	}}
	cmd.AddCommand(list, resume,
		one("show ID", "Show a script with its calls, and those that wait", func(ctx context.Context, cl *session, id string) error { return do.Show(ctx, cl, id) }),
		one("cancel ID", "End a script", func(ctx context.Context, cl *session, id string) error { return do.Cancel(ctx, cl, id) }))
	return cmd
}

func scriptRunCmd(c *cli) *cobra.Command {
	var body api.ScriptBody
	cmd := &cobra.Command{
		Use: "run FILE [ARGUMENTS]", Short: "Run a script that calls tools, and print what it returns",
		Long: "Run a script in JavaScript and print what it returns, cut as a tool's result is. The script calls\n" +
			"tools.NAME({…}), and the whole of every result stays in the archive. ARGUMENTS is a JSON object or a\n" +
			"list of name=value, which the script finds as args; - as FILE reads the script from standard input.\n" +
			"Where a call would ask a person the script waits, unless --allow says that you have read it.",
		Example: "  weir script run report.js month=2026-11\n  echo 'return (await tools.calculator({expression: \"2^64\"})).text()' | weir script run -",
		Args:    argCount(1, -1, "a script and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(cmd.Context(), func(cl *session) (err error) {
				if body.Source, err = c.scriptSource(args[0]); err != nil {
					return err
				}
				if body.Args, err = c.arguments(args[1:], func() (names, texts []string) { return nil, nil }); err != nil {
					return err
				}
				body.Locale = c.language()
				return c.runScript(cmd.Context(), cl, body)
			})
		},
	}
	cmd.Flags().StringVar(&body.Conversation, "conversation", "", "keep all results in the conversation with this `ID` (default: one for calls alone)")
	cmd.Flags().BoolVar(&body.Allow, "allow", false, "run calls that would ask a person, too")
	return cmd
}

func (c *cli) runScript(ctx context.Context, cl *session, body api.ScriptBody) (err error) {
	if err := c.checkPlace(ctx, cl, "", false); err != nil {
		return err
	}
	if body.Conversation, err = cl.Conversation(ctx, body.Conversation); err != nil {
		return err
	}
	var res api.ScriptResult
	if err := cl.Post(ctx, "/api/scripts", body, &res); err != nil {
		return err
	}
	return c.finishScript(ctx, cl, res)
}

// finishScript asks about what waits, and prints what became of a script.
func (c *cli) finishScript(ctx context.Context, cl *session, res api.ScriptResult) (err error) {
	if res, err = (scriptcmd.Commands{Printer: c.Printer}).Finish(ctx, cl, res); err != nil {
		return err
	} else if !c.JSON {
		return c.showResult(res.ToolCallResult)
	}
	c.Print(res)
	if !res.OK {
		return term.ExitError(term.ExitTool)
	}
	return nil
}

func scriptCheckCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Check the syntax of a script; nothing runs", Args: argCount(1, 1, "one script"),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := c.scriptSource(args[0])
			if err != nil {
				return err
			}
			p, s, err := c.settings()
			if err != nil {
				return err
			}
			engine, err := app.OpenScripts(cmd.Context(), p.Cache, s.Settings.Scripts, host.Isolation(s.Settings.Sandbox.Isolation))
			if err != nil {
				return err
			}
			defer engine.Close(context.WithoutCancel(cmd.Context()))
			fault, err := engine.Check(cmd.Context(), source)
			switch {
			case err != nil:
				return usagef("write a shorter script", "a script has at most %d bytes, in UTF-8", scriptvm.MaxSource)
			case fault != nil:
				return usagef("correct it", "%s:%d:%d: %s", args[0], fault.Line, fault.Column, term.Plain(fault.Message))
			case named.CheckFile(args[0], source) != nil:
				return named.CheckFile(args[0], source)
			}
			if asked := named.AskedTools(source); len(asked) > 0 {
				if err := c.withClient(cmd.Context(), func(cl *session) error {
					return (scriptcmd.Commands{Printer: c.Printer}).WarnOfTools(cmd.Context(), cl, args[0], asked)
				}); err != nil {
					return err
				}
			}
			c.outf("%s is in order (%s)\n", args[0], named.DigestOf([]byte(source)))
			return nil
		},
	}
}

// scriptSource reads a script from a file, or from standard input for -.
func (c *cli) scriptSource(file string) (string, error) {
	if file == "-" {
		return readText(c.In, "standard input")
	}
	f, err := os.Open(file)
	if err != nil {
		return "", usagef("check the path", "%s cannot be read: %s", file, msg.Reason(err))
	}
	defer f.Close()
	return readText(f, file)
}
