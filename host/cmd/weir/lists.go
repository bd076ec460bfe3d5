package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/chat"
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
						fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Name, p.Version, c.text(string(p.State)), term.OneLine(strings.Join(p.Tools, " "), 80), term.OneLine(c.text(whyOf(p)), 100))
					}
				})
				for _, p := range out.Plugins {
					if why, fix := whyOf(p), fixOf(p); fix != "" {
						fmt.Fprintf(c.Out, "\n%s: %s\n  → %s\n", p.Name, c.text(why), c.text(fix))
					}
				}
				return nil
			})
		},
	}, c.warmCmd(), c.retryCmd(), c.reloadPluginsCmd(), c.packCmd(), c.validateCmd(), c.pluginNewCmd(), c.pluginBuildCmd(), c.pluginDevCmd(), c.pluginTestCmd(), c.pluginBenchCmd())
	cmd.AddCommand(c.pluginKeeping()...)
	return cmd
}

func (c *cli) archiveCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "archive", Short: "Read the whole results that are kept"}
	var conversation, name, query string
	var limit int
	list := &cobra.Command{
		Use: "list", Short: "List the archived results, newest first", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error {
				q := url.Values{"limit": {strconv.Itoa(limit)}}
				for key, v := range map[string]string{"conversation_id": conversation, "tool": name, "q": query} {
					if v != "" {
						q.Set(key, v)
					}
				}
				return c.listArchives(cmd.Context(), cl, q)
			})
		},
	}
	list.Flags().StringVar(&conversation, "conversation", "", "only of the conversation with this `ID`")
	list.Flags().StringVar(&name, "tool", "", "only results of this `TOOL`")
	list.Flags().StringVar(&query, "query", "", "only where the call holds this `TEXT`")
	list.Flags().IntVar(&limit, "limit", 50, "at most `N` rows")
	show := &cobra.Command{
		Use:   "show UUID [lines=a-b] [grep=EXPR] [context=N] [pointer=/PATH] [head=N] [tail=N] [offset=N]",
		Short: "Print an archived result, or a part of it", Args: argCount(1, -1, "a uuid and selectors"),
		Example: "  weir archive show 6f1c… lines=95-140\n  weir archive show 6f1c… grep=ERROR context=2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error {
				_, err := chat.ShowArchive(cmd.Context(), c.Printer, cl, args[0], args[1:], "")
				return err
			})
		},
	}
	cmd.AddCommand(list, show)
	cmd.AddCommand(c.archiveKeeping()...)
	return cmd
}

func (c *cli) listArchives(ctx context.Context, cl *session, q url.Values) error {
	var out struct {
		Archives []struct {
			UUID, Tool, Query string
			Chars, Lines      int
			Created           time.Time `json:"created_at"`
			Loads             int
			Pruned            bool
		}
	}
	if done, err := c.Show(ctx, cl, "/api/archives?"+q.Encode(), &out); done || err != nil {
		return err
	}
	c.Table("UUID\tWHEN\tTOOL\tCHARACTERS\tLINES\tLOADS\tQUERY", func(w io.Writer) {
		for _, a := range out.Archives {
			state := ""
			if a.Pruned {
				state = c.Sprintf(" (pruned)")
			}
			fmt.Fprintf(w, "%s\t%s\t%s%s\t%d\t%d\t%d\t%s\n", a.UUID, a.Created.Local().Format("2006-01-02 15:04"), a.Tool, state, a.Chars, a.Lines, a.Loads, term.OneLine(a.Query, 50))
		}
	})
	return nil
}

func (c *cli) statsCmd() *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Show per tool what was called, cut, saved and loaded back", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error {
				var s store.Stats
				if done, err := c.Show(cmd.Context(), cl, "/api/stats", &s); done || err != nil {
					return err
				}
				c.showStats(s)
				return nil
			})
		},
	}
}
