package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

func (c *cli) toolCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "tool", Short: "List and show the tools"}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the tools with their limits", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error { return c.listTools(cmd.Context(), cl) })
		},
	}, &cobra.Command{
		Use: "show TOOL", Short: "Show a tool as the model sees it, with its limits", Args: argCount(1, 1, "one tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error {
				var t plugin.ToolInfo
				if done, err := c.Show(cmd.Context(), cl, "/api/tools/"+url.PathEscape(args[0]), &t); done || err != nil {
					return err
				}
				c.showTool(t)
				return nil
			})
		},
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
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Spec.Name, c.shownOf(l), term.OrDash(l.Strategy), term.OrDash(t.CharsBy), term.OneLine(c.description(t.Spec), 60))
		}
	})
	return nil
}

func (c *cli) showTool(t plugin.ToolInfo) {
	c.outf("%s (plugin %s)\n%s\n", t.Spec.Name, t.Plugin, t.Spec.Description)
	if t.Spec.DescriptionZh != "" {
		fmt.Fprintln(c.Out, t.Spec.DescriptionZh)
	}
	e := t.Effective
	c.outf("\nlimits in force: %s%s, %s%s, strategy %s, timeout %s, memory %s\n",
		c.charsText(e.MaxChars), c.byLayer(t.CharsBy), c.linesText(e.MaxLines), c.byLayer(t.LinesBy),
		term.OrDash(e.Strategy), phrase(orNone(e.Timeout)), phrase(orNone(e.Memory)))
	c.outf("declared:        %s\n", c.shownOf(t.Declared))
	if what := effects[t.Effect]; what != "" {
		c.outf("can do:          %s\n", phrase(what))
	}
	if t.Parallel > 0 { // weir's own tools run no guest
		c.outf("calls:           %s\n", c.pacing(t))
	}
	c.outf("\nparameters:\n")
	var pretty any
	if json.Unmarshal(t.Spec.Params, &pretty) == nil {
		b, _ := json.MarshalIndent(json.RawMessage(t.Spec.Params), "", "  ")
		fmt.Fprintln(c.Out, string(b))
	}
	for _, e := range t.Spec.Examples {
		c.outf("\nexample: %s\n  %s\n", e.Ask, e.Args)
	}
}

// description is a tool's, in the language of whoever reads it.
func (c *cli) description(s tool.Spec) string {
	return s.Describe(c.Locale())
}

// effects says what a tool can do beside answering, and which key of
// [approvals] decides its calls where no rule does.
var effects = map[plugin.Effect]string{
	plugin.EffectNone:    "answer, and nothing else: runs unasked",
	plugin.EffectNetwork: "reach hosts, and says that it is read-only: [approvals] network decides",
	plugin.EffectChanges: "change something: [approvals] default decides",
}

// pacing says how often a tool runs, how many of it at once, and for how long
// an answer is given again.
func (c *cli) pacing(t plugin.ToolInfo) string {
	s := c.Sprintf("%d at once%s", t.Parallel, c.byLayer(t.ParallelBy))
	if t.PerMinute > 0 {
		s += c.Sprintf(", %d a minute", t.PerMinute)
	}
	if t.CacheTTL > 0 {
		s += c.Sprintf(", the same answer for %s", t.CacheTTL)
	}
	return s
}

// shownOf says how much of a result is shown.
func (c *cli) shownOf(l tool.Limits) string {
	if l.MaxChars <= 0 && l.MaxLines <= 0 {
		return c.text("no bound")
	}
	return c.Sprintf("%s, %s", c.charsText(l.MaxChars), c.linesText(l.MaxLines))
}

// charsText returns a limit in characters; 0 is no limit.
func (c *cli) charsText(n int) string {
	if n <= 0 {
		return c.Sprintf("no bound of characters")
	}
	return c.Sprintf("%d characters", n)
}

// linesText returns a limit in lines; 0 is no limit.
func (c *cli) linesText(n int) string {
	if n <= 0 {
		return c.Sprintf("no bound of lines")
	}
	return c.Sprintf("%d lines", n)
}

// byLayer names the layer that set a limit, if one did.
func (c *cli) byLayer(l tool.Layer) string {
	if l == tool.LayerNone {
		return ""
	}
	return c.Sprintf(" (by %s)", l)
}

// orNone is a limit that 0 leaves open and that writes its own unit.
func orNone[T comparable](v T) string {
	var zero T
	if v == zero {
		return "no bound"
	}
	return fmt.Sprint(v)
}
