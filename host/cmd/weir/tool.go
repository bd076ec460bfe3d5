package main

import (
	"context"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/plugincmd"
	"github.com/weirhost/weir/host/plugin"
)

func toolCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Aliases: []string{"tool"}, Short: "List, show and find tools"}
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
			c.pluginCommands().ShowTool(ctx, cl, t)
			return nil
		}),
	}, findToolsCmd(c))
	return cmd
}

func findToolsCmd(c *cli) *cobra.Command {
	f := plugincmd.Search{Count: 20}
	cmd := &cobra.Command{
		Use: "find [QUERY]", Short: "Find the tools that a question is about",
		Long: "Print the tools that a question is about, best first: those that it names, then those\n" +
			"whose names, descriptions and parameters fit. Nothing is printed where nothing fits.\n\n" +
			"The tools are the daemon's, or those of --tools FILE. With --jsonl, each line of standard\n" +
			"input is {\"id\",\"query\"}, and is answered by {\"id\",\"names\"} in the same order. A line that\n" +
			"cannot be read is answered too, with \"error\"; the exit code is then 1.",
		Example: "  weir tools find 'convert an address to coordinates'\n  weir tools find --explain 'send a mail'\n  weir tools find --jsonl --tools tools.jsonl < queries.jsonl",
		Args:    argCount(0, 1, "one question, in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.Query = args[0]
			}
			p := c.pluginCommands()
			if f.File != "" {
				return p.FindTools(cmd.Context(), nil, f)
			}
			return c.withClient(cmd.Context(), func(s *session) error { return p.FindTools(cmd.Context(), s, f) })
		},
	}
	cmd.Flags().StringVar(&f.File, "tools", "", "find among the tools of this `FILE`, a line each: {\"name\",\"server\",\"description\",\"parameters\"}")
	cmd.Flags().BoolVar(&f.Lines, "jsonl", false, "read questions, one JSON object a line, and answer each with one")
	cmd.Flags().BoolVar(&f.Explain, "explain", false, "show why the tools are in this order")
	cmd.Flags().IntVar(&f.Count, "count", f.Count, "print at most `N` tools")
	return cmd
}

func (c *cli) listTools(ctx context.Context, cl *session) error {
	var out struct{ Tools []plugin.ToolInfo }
	if done, err := c.Show(ctx, cl, "/api/tools", &out); done || err != nil {
		return err
	}
	c.pluginCommands().ListTools(out.Tools)
	return nil
}
