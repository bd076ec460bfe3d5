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
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// ListTools prints tools with the limits of their results: those for the agent, and those
// where none calls.
func (c *Commands) ListTools(tools []plugin.ToolInfo) {
	c.Table("TOOL\tTHE AGENT READS\tBY\tWITHOUT AN AGENT\tDESCRIPTION", func(w io.Writer) {
		for _, t := range tools {
			reads, by := c.charsText(t.Effective.MaxChars), t.CharsBy
			if d := t.InForce; d != nil {
				reads, by = c.charsText(d.Chars), d.By
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Spec.Name, reads, term.OrDash(limit.LayerName(by, c.Locale())), c.Shown(t.Effective), term.OneLine(c.Description(t.Spec), 60))
		}
	})
}

// limitsText returns how much of a result is shown where no agent calls, and who decides it.
func (c *Commands) limitsText(t plugin.ToolInfo) string {
	e := t.Effective
	s := c.charsText(e.MaxChars) + c.byLayer(t.CharsBy)
	if e.MaxLines > 0 {
		s += c.Sprintf(", %s", c.linesText(e.MaxLines)+c.byLayer(t.LinesBy))
	}
	return s
}

// agentText returns how much of a result the agent reads, and who decides it.
func (c *Commands) agentText(t plugin.ToolInfo) string {
	switch d := t.InForce; {
	case d != nil:
		return c.charsText(d.Chars) + c.byLayer(d.By) + c.Sprintf("; without it %s", limit.Name(d.NextBy, d.Next, tool.Chars, c.Locale()))
	case t.Effective.OpenEnded:
		return c.text("as much as its own limit says, up to the ceiling")
	}
	return c.text("the same, or less by its own limit")
}

// ShowTool prints a tool with its limits, effect and parameters, and what is wrong with it.
func (c *Commands) ShowTool(ctx context.Context, from term.Getter, t plugin.ToolInfo) {
	c.Outf("%s (plugin %s)\n", t.Spec.Name, t.Plugin)
	if name := t.Spec.Remote.Name(); name != "" {
		c.Outf("title: %s\n", term.Plain(name))
	}
	fmt.Fprintln(c.Out, term.Plain(t.Spec.Description))
	if t.Spec.DescriptionZh != "" {
		fmt.Fprintln(c.Out, t.Spec.DescriptionZh)
	}
	e := t.Effective
	c.Outf("\nthe agent reads: %s\n", c.agentText(t))
	c.Outf("without agent:   %s\n", c.limitsText(t))
	c.Outf("declared:        %s\n", c.Shown(t.Declared))
	c.Outf("strategy:        %s; timeout %s, memory %s\n", term.OrDash(e.Strategy), textOf(orNone(e.Timeout)), textOf(orNone(e.Memory)))
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
		ask, args := e.In(c.Locale())
		c.Outf("\nexample: %s\n  %s\n", ask, args)
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
	if of.Instructions != "" {
		c.Outf("\n%s says of all its tools:\n", of.Name)
		c.lines("  ", term.Plain(of.Instructions))
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
	switch {
	case l.MaxChars <= 0 && l.MaxLines <= 0:
		return c.text("no limit")
	case l.MaxLines <= 0:
		return c.charsText(l.MaxChars)
	case l.MaxChars <= 0:
		return c.linesText(l.MaxLines)
	}
	return c.Sprintf("%s, %s", c.charsText(l.MaxChars), c.linesText(l.MaxLines))
}

// charsText returns a limit in characters; 0 is no limit.
func (c *Commands) charsText(n int) string {
	if n <= 0 {
		return c.text("no limit")
	}
	return c.Sprintf("%s characters", term.Grouped(n))
}

// linesText returns a limit in lines; 0 is no limit.
func (c *Commands) linesText(n int) string {
	if n <= 0 {
		return c.text("no limit")
	}
	return c.Sprintf("%s lines", term.Grouped(n))
}

// byLayer names the layer that set a limit, if one did.
func (c *Commands) byLayer(l tool.Layer) string {
	if l == tool.LayerNone {
		return ""
	}
	return c.Sprintf(" (%s)", limit.LayerName(l, c.Locale()))
}

// orNone returns v with its unit, or that there is no limit if v is zero.
func orNone[T comparable](v T) string {
	var zero T
	if v == zero {
		return "no limit"
	}
	return fmt.Sprint(v)
}
