package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

// The commands here are a person's word about a plugin. A running daemon takes
// them over HTTP with the token; without one the data folder is opened.

// pluginKeeping are the commands that decide what may run.
func (c *cli) pluginKeeping() []*cobra.Command {
	return []*cobra.Command{c.pluginInfoCmd(), c.pluginApproveCmd(), c.pluginRollbackCmd(), c.pluginDisableCmd(), c.pluginEnableCmd(), c.pluginRemoveCmd()}
}

func (c *cli) pluginInfoCmd() *cobra.Command {
	return &cobra.Command{
		Use: "info NAME|DIR|FILE", Short: "Show everything about a plugin: powers, tools, limits, approvals, what waits",
		Long: "Show everything about a plugin that the daemon has, by its NAME; or about one that lies anywhere, by its\n" +
			"folder or .wasm, with the limits that would be in force for it under this configuration.",
		Args: argCount(1, 1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isPath(args[0]) {
				return c.infoOf(cmd.Context(), args[0])
			}
			return c.withClient(cmd.Context(), func(cl *session) error {
				var r plugin.Review
				if done, err := c.Show(cmd.Context(), cl, pluginPath(args[0], ""), &r); done || err != nil {
					return err
				}
				c.tellReview(r)
				return nil
			})
		},
	}
}

func (c *cli) pluginRollbackCmd() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "rollback NAME", Short: "Go back to the version approved before, until the next approval", Args: argCount(1, 1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.verdict(cmd.Context(), args[0], "rollback", map[string]string{"digest": to}, func(r plugin.Review) {
				c.outf("%s is at version %s again (%s), until something else is approved\n", r.Plugin.Name, term.OrDash(r.Plugin.Version), short(r.Plugin.Digest))
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the version with this `DIGEST`, of which 6 digits are enough (default: the one before)")
	return cmd
}

func (c *cli) pluginDisableCmd() *cobra.Command {
	return &cobra.Command{
		Use: "disable NAME", Short: "Take a plugin out until it is enabled again", Args: argCount(1, 1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.verdict(cmd.Context(), args[0], "disable", nil, func(r plugin.Review) {
				c.outf("%s is disabled; to take it back: weir plugin enable %s\n", r.Plugin.Name, r.Plugin.Name)
			})
		},
	}
}

func (c *cli) pluginEnableCmd() *cobra.Command {
	return &cobra.Command{
		Use: "enable NAME", Short: "Take a disabled plugin in again", Args: argCount(1, 1, "one plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.verdict(cmd.Context(), args[0], "enable", nil, c.tellState)
		},
	}
}

// verdict sends a decision about a plugin and prints the result.
func (c *cli) verdict(ctx context.Context, name, what string, body map[string]string, tell func(plugin.Review)) error {
	return c.withClient(ctx, func(cl *session) error {
		r, err := say(ctx, cl, name, what, body)
		if err != nil {
			return err
		}
		if c.JSON {
			c.Print(r)
			return nil
		}
		tell(r)
		return nil
	})
}

// say posts a person's word and returns the plugin as it is then.
func say(ctx context.Context, cl *session, name, what string, body map[string]string) (r plugin.Review, err error) {
	all := map[string]string{"by": "cli"}
	for key, v := range body {
		if v != "" {
			all[key] = v
		}
	}
	return r, cl.Post(ctx, pluginPath(name, what), all, &r)
}

func pluginPath(name, what string) string {
	path := "/api/plugins/" + url.PathEscape(name)
	if what != "" {
		path += "/" + what
	}
	return path
}

// tellState prints the state of a plugin in one line or two.
func (c *cli) tellState(r plugin.Review) {
	p := r.Plugin
	fmt.Fprintf(c.Out, "%s", c.Sprintf("%s is %s", p.Name, c.text(string(p.State))))
	if p.State == plugin.Ready {
		fmt.Fprintf(c.Out, ": %s", c.text(join(p.Tools)))
	}
	if !p.Why.IsZero() {
		fmt.Fprintf(c.Out, ": %s", c.sentence(p.Why))
	}
	fmt.Fprintln(c.Out)
	if !p.Fix.IsZero() {
		fmt.Fprintf(c.Out, "  → %s\n", c.sentence(p.Fix))
	}
}

func (c *cli) pluginRemoveCmd() *cobra.Command {
	var yes, keep bool
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Forget a plugin, its copies and, after asking, its files", Args: argCount(1, 1, "one plugin"),
		Long: "Forget what was approved of a plugin, remove its copies and, after asking, the files in the plugin folder that it is\n" +
			"made of: the manifest, the module and what the manifest refers to. What else lies there stays.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error { return c.removePlugin(cmd.Context(), cl, args[0], yes, keep) })
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&keep, "keep-files", false, "leave the files in the plugin folder; the plugin is new then")
	return cmd
}

func (c *cli) removePlugin(ctx context.Context, cl *session, name string, yes, keep bool) error {
	if !keep && !yes {
		ok, err := c.confirm(fmt.Sprintf("Remove the files of %s from the plugin folder, and forget what was approved?", name),
			"add --yes to remove the files without being asked, or --keep-files to leave them")
		if err != nil || !ok {
			return err
		}
	}
	files := "remove"
	if keep {
		files = "keep"
	}
	var out plugin.Removal
	if err := cl.Do(ctx, http.MethodDelete, pluginPath(name, "")+"?files="+files, nil, &out); err != nil {
		return err
	}
	if c.JSON {
		c.Print(map[string]any{"plugin": name, "removed": out.Files, "link": out.Link})
		return nil
	}
	for _, f := range out.Files {
		c.outf("removed %s\n", f)
	}
	if out.Link {
		c.outf("it was a link; the files where it led are as they were\n")
	}
	c.outf("%s is forgotten\n", name)
	return nil
}

// confirm asks for a yes on a terminal. Without a terminal it returns an error that
// says how to agree with a flag.
func (c *cli) confirm(question, without string) (bool, error) {
	if c.JSON || !term.IsTerminal(c.In) {
		return false, usagef(without, "this asks a person, and there is no terminal to ask on")
	}
	answer, answered := c.prompt(c.text(question) + " [y/N] ")
	switch strings.ToLower(answer) {
	case "y", "yes", "是":
		return true, nil
	}
	if !answered {
		return false, usagef(without, "this asks a person, and no one answered")
	}
	c.errf("nothing was changed\n")
	return false, term.ExitError(term.ExitFailed)
}

// prompt reads one line of a person's; answered is false when the input ended
// without one. It reads byte by byte: the bytes after the line belong to the next
// question.
func (c *cli) prompt(question string) (answer string, answered bool) {
	fmt.Fprint(c.Err, c.text(question))
	var line []byte
	one := make([]byte, 1)
	for len(line) < 4096 {
		n, err := c.In.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return strings.TrimSpace(string(line)), true
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			fmt.Fprintln(c.Err)
			return strings.TrimSpace(string(line)), len(line) > 0
		}
	}
	return "", false
}

func (c *cli) pluginCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "Make, build and test plugins; look at, approve and take them back"}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the plugins and what keeps some of them out", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error {
				var out struct{ Plugins []plugin.Info }
				if done, err := c.Show(cmd.Context(), cl, "/api/plugins", &out); done || err != nil {
					return err
				}
				c.Table("PLUGIN\tVERSION\tSTATE\tTOOLS\tWHY", func(w io.Writer) {
					for _, p := range out.Plugins {
						fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Name, p.Version, c.text(string(p.State)), term.OneLine(strings.Join(p.Tools, " "), 80), term.OneLine(c.sentence(whyOf(p)), 100))
					}
				})
				for _, p := range out.Plugins {
					if why, fix := whyOf(p), fixOf(p); !fix.IsZero() {
						fmt.Fprintf(c.Out, "\n%s: %s\n  → %s\n", p.Name, c.sentence(why), c.sentence(fix))
					}
				}
				return nil
			})
		},
	}, c.warmCmd(), c.retryCmd(), c.reloadPluginsCmd(), c.packCmd(), c.validateCmd(), c.pluginNewCmd(), c.pluginBuildCmd(), c.pluginDevCmd(), c.pluginTestCmd(), c.pluginBenchCmd())
	cmd.AddCommand(c.pluginKeeping()...)
	return cmd
}
