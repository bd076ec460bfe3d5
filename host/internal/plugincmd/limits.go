package plugincmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// ListTools prints tools with their limits.
func (c *Commands) ListTools(tools []plugin.ToolInfo) {
	c.Table("TOOL\tSHOWN\tSTRATEGY\tBY\tDESCRIPTION", func(w io.Writer) {
		for _, t := range tools {
			l := t.Effective
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Spec.Name, c.Shown(l), term.OrDash(l.Strategy), term.OrDash(t.CharsBy), term.OneLine(c.Description(t.Spec), 60))
		}
	})
}

// ShowTool prints a tool with its limits, effect and parameters, and what is wrong with it.
func (c *Commands) ShowTool(ctx context.Context, from term.Getter, t plugin.ToolInfo) {
	c.Outf("%s (plugin %s)\n%s\n", t.Spec.Name, t.Plugin, t.Spec.Description)
	if t.Spec.DescriptionZh != "" {
		fmt.Fprintln(c.Out, t.Spec.DescriptionZh)
	}
	e := t.Effective
	c.Outf("\nlimits in force: %s%s, %s%s, strategy %s, timeout %s, memory %s\n",
		c.charsText(e.MaxChars), c.byLayer(t.CharsBy), c.linesText(e.MaxLines), c.byLayer(t.LinesBy),
		term.OrDash(e.Strategy), textOf(orNone(e.Timeout)), textOf(orNone(e.Memory)))
	c.Outf("declared:        %s\n", c.Shown(t.Declared))
	if what := effects[t.Effect]; what != "" {
		c.Outf("can do:          %s\n", textOf(what))
	}
	if t.Parallel > 0 { // weir's own tools run no guest
		c.Outf("calls:           %s\n", c.pacing(t))
	}
	c.Outf("\nparameters:\n")
	var pretty any
	params := t.Spec.Parameters(c.Locale())
	if json.Unmarshal(params, &pretty) == nil {
		b, _ := json.MarshalIndent(params, "", "  ")
		fmt.Fprintln(c.Out, string(b))
	}
	for _, e := range t.Spec.Examples {
		c.Outf("\nexample: %s\n  %s\n", e.Ask, e.Args)
	}
	var of plugin.Info
	if t.Plugin == "" || from.Get(ctx, Path(t.Plugin, ""), &of) != nil { // weir's own, or one of which only the operator may know more
		return
	}
	for _, problem := range of.Problems {
		if slices.Contains(strings.Fields(strings.ReplaceAll(problem.String(), ":", " ")), t.Spec.Name) {
			c.Outf("\n%s\n", term.Plain(c.Text(problem)))
		}
	}
}

// Description returns the description of a tool in the language of the reader.
func (c *Commands) Description(s tool.Spec) string {
	return s.Describe(c.Locale())
}

// effects describes each effect, and the key of [approvals] that decides calls
// without a rule.
var effects = map[plugin.Effect]string{
	plugin.EffectNone:    "answer, and nothing else: runs unasked",
	plugin.EffectNetwork: "reach hosts, and says that it is read-only: [approvals] network decides",
	plugin.EffectChanges: "change something: [approvals] default decides",
}

// pacing returns the limits on the calls of a tool: parallel calls, calls per
// minute, and how long an answer is cached.
func (c *Commands) pacing(t plugin.ToolInfo) string {
	s := c.Sprintf("%d at once%s", t.Parallel, c.byLayer(t.ParallelBy))
	if t.PerMinute > 0 {
		s += c.Sprintf(", %d a minute", t.PerMinute)
	}
	if t.CacheTTL > 0 {
		s += c.Sprintf(", the same answer for %s", t.CacheTTL)
	}
	return s
}

// Shown returns how much of a result is shown.
func (c *Commands) Shown(l tool.Limits) string {
	if l.MaxChars <= 0 && l.MaxLines <= 0 {
		return c.text("no bound")
	}
	return c.Sprintf("%s, %s", c.charsText(l.MaxChars), c.linesText(l.MaxLines))
}

// charsText returns a limit in characters; 0 is no limit.
func (c *Commands) charsText(n int) string {
	if n <= 0 {
		return c.Sprintf("no bound of characters")
	}
	return c.Sprintf("%d characters", n)
}

// linesText returns a limit in lines; 0 is no limit.
func (c *Commands) linesText(n int) string {
	if n <= 0 {
		return c.Sprintf("no bound of lines")
	}
	return c.Sprintf("%d lines", n)
}

// byLayer names the layer that set a limit, if one did.
func (c *Commands) byLayer(l tool.Layer) string {
	if l == tool.LayerNone {
		return ""
	}
	return c.Sprintf(" (by %s)", textOf(string(l)))
}

// orNone returns v with its unit, or that there is no limit if v is zero.
func orNone[T comparable](v T) string {
	var zero T
	if v == zero {
		return "no bound"
	}
	return fmt.Sprint(v)
}
