package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/declared"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/plugincmd"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// sampleUUID is in a notice in place of the id of an archived result.
const sampleUUID = "00000000-0000-4000-8000-000000000000"

func cutCmd(c *cli) *cobra.Command {
	var k cutRun
	cmd := &cobra.Command{
		Use: "cut [FILE]", Short: "Show what a model would see of a text under given limits",
		Long: "Cut a text as a tool's result is cut, and print what a model would read, notice\n" +
			"included. So a declared limit can be tried on a real log. Without FILE, or with -, the\n" +
			"text is read from standard input. Nothing is archived: the uuid in the notice is a sample.\n\n" +
			"--head and --tail are one statement: either of them replaces both.\n" +
			"A limit that is not given, or 0, is the declared one of --tool, else the default. The\n" +
			"limits that lie above the tool's (operator, ceiling, agent, round) are not applied.",
		Example: "  weir cut --max-chars 2000 --keep '(?i)error' build.log\n  weir cut --tool grep_search --plugins plugins < out.txt",
		Args:    argCount(0, 1, "one file at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k.file = "-"
			if len(args) == 1 {
				k.file = args[0]
			} else if k.explain {
				plugincmd.Patterns(c.Printer)
				return nil
			}
			return k.run(cmd.Context(), c)
		},
	}
	f := cmd.Flags()
	f.IntVar(&k.given.MaxChars, "max-chars", 0, c.helpf("show at most `N` characters, notice included (default %d)", tool.DefaultMaxChars))
	f.IntVar(&k.given.MaxLines, "max-lines", 0, c.helpf("show at most `N` lines, the notice's included (default %d)", tool.DefaultMaxLines))
	f.StringVar((*string)(&k.given.Strategy), "strategy", "", c.helpf("which part is shown: %s (default head_tail)", strategies))
	f.Float64Var(&k.given.Head, "head", 0, c.helpf("the head's `SHARE` of the budget, 0 to 1 (default %g)", tool.DefaultShare))
	f.Float64Var(&k.given.Tail, "tail", 0, c.helpf("the tail's `SHARE` of the budget, 0 to 1 (default %g)", tool.DefaultShare))
	f.StringArrayVar(&k.given.Keep, "keep", nil, "show lines that match this `EXPRESSION` (RE2) first; may be repeated; auto (default): what weir looks for; none")
	f.IntVar(&k.given.KeepContext, "keep-context", 0, "show `N` lines before and after each of these too")
	f.BoolVar(&k.explain, "explain", false, "print which line is shown because of which pattern; without FILE, print weir's patterns")
	f.StringVar(&k.tool, "tool", "", "take the declared limits of the tool `NAME` of --plugins")
	f.StringVar(&k.locale, "locale", "en", "the language of the notice: en or zh")
	return cmd
}

const strategies = "head_tail, head_only, tail_only, json or summarize"

// A cutRun is one run of weir cut.
type cutRun struct {
	given              tool.Limits // by flags
	tool, locale, file string      // the file "-" is standard input
	explain            bool
}

func (k cutRun) run(ctx context.Context, c *cli) error {
	if err := k.check(c); err != nil {
		return err
	}
	l, by, err := k.limits(ctx, c)
	if err != nil {
		return err
	}
	raw, err := k.read(c)
	if err != nil {
		return err
	}
	name := cmp.Or(k.tool, "text")
	r := tool.Result{Tool: name, Stats: tool.Stats{RawBytes: len(raw)}}.WithWhole(limit.Normalise([]byte(raw)))
	r.Shown = limit.Fit(r, l, by)
	if r.Shown.Cut() && l.Archive != tool.ArchiveNever {
		r.Ref = &tool.Ref{UUID: sampleUUID}
	}
	return k.show(c, r, l)
}

// check refuses flags that cannot be meant, each with what to change.
func (k cutRun) check(c *cli) error {
	g := k.given
	switch {
	case g.MaxChars != 0 && g.MaxChars < tool.MinMaxChars:
		return usagef(fmt.Sprintf("give %d or more: the notice alone takes %d", tool.MinMaxChars, tool.NoticeChars), "--max-chars is %d", g.MaxChars)
	case g.MaxLines != 0 && g.MaxLines < 2:
		return usagef("give 2 or more: the notice takes one", "--max-lines is %d", g.MaxLines)
	case g.KeepContext < 0:
		return usagef("give a number of lines; 0 shows only the lines that match", "--keep-context is %d", g.KeepContext)
	case !g.Strategy.Valid():
		return usagef("use "+strategies, "--strategy is %q", g.Strategy)
	case !(g.Head >= 0 && g.Tail >= 0 && g.Head+g.Tail <= 1):
		return usagef("give shares of one budget: each 0 or more, together at most 1", "--head is %g and --tail is %g", g.Head, g.Tail)
	case k.locale != string(tool.En) && k.locale != string(tool.Zh):
		return usagef("use en or zh", "--locale is %q", k.locale)
	case k.tool != "" && c.plugins == "":
		return usagef("add --plugins DIR, the folder in which the tool's plugin lies", "--tool needs a plugin folder")
	case k.tool == "" && c.plugins != "":
		return usagef("add --tool NAME, or leave --plugins out", "--plugins alone does not say which tool is meant")
	}
	if slices.Contains(g.Keep, "") {
		return usagef("write an RE2 expression", "--keep is empty")
	}
	if err := limit.CheckHighlights(g.Keep); err != nil {
		return usagef("write an RE2 expression, quoted for the shell", "--%s", err)
	}
	return nil
}

// limits are the flags before the tool's own limits before the defaults. A
// flag replaces the tool's declaration, and counts as the tool's layer.
func (k cutRun) limits(ctx context.Context, c *cli) (l tool.Limits, by limit.By, err error) {
	l = k.given
	if k.tool != "" {
		specs, err := declaredTools(ctx, c)
		if err != nil {
			return l, by, err
		}
		spec, err := declared.Tool(specs, k.tool, c.plugins)
		if err != nil {
			return l, by, err
		}
		l = l.Or(spec.Output)
	}
	by = limit.By{Chars: tool.LayerDefault, Lines: tool.LayerDefault}
	if l.MaxChars != 0 {
		by.Chars = tool.LayerTool
	}
	if l.MaxLines != 0 {
		by.Lines = tool.LayerTool
	}
	return l.Or(tool.Limits{
		MaxChars: tool.DefaultMaxChars, MaxLines: tool.DefaultMaxLines, Strategy: tool.HeadTail,
		Head: tool.DefaultShare, Tail: tool.DefaultShare, Archive: tool.ArchiveAuto,
	}), by, nil
}

// read reads the text, at most as much as a host takes of one result.
func (k cutRun) read(c *cli) (string, error) {
	in := c.In
	if k.file != "-" {
		f, err := os.Open(k.file)
		if err != nil {
			return "", usagef("check the path", "the file %s cannot be read: %s", k.file, msg.Reason(err))
		}
		defer f.Close()
		in = f
	}
	return readAll(in, tool.MaxWhole)
}

// A count is an amount of text.
type count struct {
	Chars int `json:"chars"`
	Lines int `json:"lines"`
}

func countOf(s string) count {
	chars, lines := limit.Count(s)
	return count{chars, lines}
}

// show prints what the model reads on stdout, to a pipe byte for byte, and the summary on
// stderr; or all the pieces as JSON.
func (k cutRun) show(c *cli, r tool.Result, l tool.Limits) error {
	text := limit.Render(r, tool.Locale(k.locale))
	if over := l.MaxChars; over > tool.DefaultCeiling {
		c.errf("weir: %d characters are over the ceiling of %d that a host has unless [limits] ceiling_chars raises it\n", over, tool.DefaultCeiling)
	}
	if l.Strategy == tool.Summarize {
		c.errf("weir: summarize needs a model; this is what is shown without one\n")
	}
	if k.explain {
		plugincmd.Explain(c.Printer, r)
		return nil
	}
	if c.JSON {
		c.Print(map[string]any{
			"view": r.Shown, "text": text, "limits": l, "layer": r.Shown.By, "raw_bytes": r.Stats.RawBytes,
			"produced": count{r.Shown.TotalChars, r.Shown.TotalLines}, "shown": countOf(r.Shown.Text), "rendered": countOf(text),
		})
		return nil
	}
	if _, err := io.WriteString(c.Texts(), text); err != nil {
		return err
	}
	if c.Colours(c.Out) && !strings.HasSuffix(text, "\n") {
		fmt.Fprintln(c.Out)
	}
	fmt.Fprintln(c.Err, plugincmd.CutSummary(c.Printer, r))
	return nil
}
