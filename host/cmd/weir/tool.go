package main

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

func toolCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "tool", Short: "List and show the tools"}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the tools with their limits", Args: argCount(0, 0, "no arguments"),
		RunE: c.request(func(ctx context.Context, cl *session, _ []string) error {
			return c.listTools(ctx, cl)
		}),
	}, &cobra.Command{
		Use: "show TOOL", Short: "Show a tool as the model sees it, with its limits", Args: argCount(1, 1, "one tool"),
		RunE: c.request(func(ctx context.Context, cl *session, args []string) error {
			var t plugin.ToolInfo
			if done, err := c.Show(ctx, cl, "/api/tools/"+url.PathEscape(args[0]), &t); done || err != nil {
				return err
			}
			c.pluginCommands().ShowTool(t)
			return nil
		}),
	})
	return cmd
}

func (c *cli) listTools(ctx context.Context, cl *session) error {
	var out struct{ Tools []plugin.ToolInfo }
	if done, err := c.Show(ctx, cl, "/api/tools", &out); done || err != nil {
		return err
	}
	c.Table("TOOL\tSHOWN\tSTRATEGY\tBY\tDESCRIPTION", func(w io.Writer) {
		for _, t := range out.Tools {
			l := t.Effective
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Spec.Name, c.pluginCommands().Shown(l), term.OrDash(l.Strategy), term.OrDash(t.CharsBy), term.OneLine(c.pluginCommands().Description(t.Spec), 60))
		}
	})
	return nil
}
