package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// short is as much of a digest as people compare.
func short(digest string) string { return digest[:min(12, len(digest))] }

// tellReview shows everything about a plugin.
func (c *cli) tellReview(r plugin.Review) {
	p := r.Plugin
	c.tellState(r)
	if p.Description != "" {
		fmt.Fprintf(c.Out, "%s\n", term.Plain(p.Description))
	}
	c.outf("\nsource    %s (trust: %s)\n", p.Source, p.Trust)
	if p.Approved != nil {
		held := ""
		if p.Approved.RolledBack {
			held = "; somebody went back to it, and it stays until the next approval"
		}
		c.outf("let in    by %s on %s%s\n", p.Approved.By, when(p.Approved.At), phrase(held))
	}
	if p.Loaded {
		c.outf("memory    loaded: it was called, and is kept for the next call\n")
	}
	for _, w := range p.Problems {
		c.outf("problem   %s\n", c.sentence(w))
	}
	if r.Serving != nil {
		c.outf("\nWHAT MAY RUN\n")
		c.tellVersion(r.Serving, nil)
	}
	if r.Pending != nil {
		c.outf("\nWHAT WAITS\n")
		c.tellWaiting(r)
	} else if p.Pending != nil {
		c.outf("\nWHAT WAITS\n%s\n  → %s\n", c.sentence(p.Pending.Why), c.sentence(p.Pending.Fix))
	}
	if v := cmp.Or(r.Pending, r.Serving); v != nil {
		c.tellPrompt(v)
	}
	if len(r.History) > 0 {
		c.outf("\nHISTORY\n")
		c.Table("WHEN\tVERSION\tDIGEST\tBY\t", func(w io.Writer) {
			for _, h := range r.History {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", when(h.At), term.OrDash(h.Version), short(h.Digest), h.By, c.text(historyNote(h)))
			}
		})
	}
}

// tellPrompt shows how a prompt tells a model of the tools, and what that costs.
func (c *cli) tellPrompt(v *plugin.Version) {
	c.outf("\nWHAT A MODEL SEES\n")
	var tokens agent.Estimator
	for _, t := range v.Tools {
		text := agent.ToolText(t.Spec, c.language())
		c.outf("about %d tokens in a prompt, %d as a schema for a provider's own tool calling:\n", tokens.Tokens(text), tokens.Tokens(t.Spec.Description+string(t.Spec.Params)))
		c.lines("  ", term.Plain(text))
	}
}

func historyNote(h plugin.ApprovedVersion) string {
	switch {
	case h.Current && h.RolledBack:
		return "in force, by a rollback"
	case h.Current:
		return "in force"
	case !h.HasCopy:
		return "no copy is kept any more"
	}
	return ""
}

func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// tellWaiting shows what an approval would let in.
func (c *cli) tellWaiting(r plugin.Review) {
	v := r.Pending
	if v == nil {
		v = r.Serving
	}
	fmt.Fprintf(c.Out, "%s %s", r.Plugin.Name, term.OrDash(v.Version))
	if r.Serving != nil && r.Pending != nil {
		c.outf(" in place of %s, which serves meanwhile", term.OrDash(r.Serving.Version))
	}
	fmt.Fprintln(c.Out)
	if o := r.Plugin.Pending; o != nil {
		c.outf("it waits because %s\n", c.sentence(o.Why))
	}
	c.tellVersion(v, r.Changes)
	if len(r.Changes) > 0 {
		c.outf("\nwhat changes:\n")
		for _, ch := range r.Changes {
			c.tellChange(ch)
		}
	}
}

// tellVersion shows what a version is and wants.
func (c *cli) tellVersion(v *plugin.Version, changes []plugin.Difference) {
	c.outf("digest    %s\nmodule    sha256 %s, %s\n          %s\nmanifest  sha256 %s\n", v.Digest, v.WasmSHA256, term.Size(v.WasmBytes), v.File, v.ManifestSHA256)
	if len(v.Asks) == 0 {
		c.outf("\npowers: it asks for none\n")
	} else {
		c.outf("\npowers it asks for:\n")
		for _, a := range v.Asks {
			c.tellAsk(a, changes)
		}
		if slices.ContainsFunc(v.Asks, func(a plugin.Ask) bool { return !a.Granted }) {
			c.outf("  Approved or not, its tools wait until tools.toml grants what is not granted; --path, --host and --secret write that.\n")
		}
	}
	c.outf("\ntools:\n")
	for _, t := range v.Tools {
		e := t.Effective
		c.outf("  %s: %s\n      shows %s%s, %s%s, %s; timeout %s, memory %s; declares %s\n", t.Spec.Name, term.OneLine(term.Plain(c.description(t.Spec)), 160),
			c.charsText(e.MaxChars), c.byLayer(t.CharsBy), c.linesText(e.MaxLines), c.byLayer(t.LinesBy), term.OrDash(e.Strategy), phrase(orNone(e.Timeout)), phrase(orNone(e.Memory)), c.shownOf(t.Declared))
	}
}

func (c *cli) tellAsk(a plugin.Ask, changes []plugin.Difference) {
	mark, granted, fresh := " ", "not granted", ""
	if a.Granted {
		granted = "granted"
	}
	for _, ch := range changes {
		what, _, _ := strings.Cut(a.What, " ")
		if ch.Kind == "power" && ch.Exceeds && strings.HasSuffix(ch.Name, " "+what) {
			mark, fresh = "+", c.Sprintf("NEW, ")
		}
	}
	reason := c.text("it gives no reason")
	if a.Reason != "" {
		reason = fmt.Sprintf("%q", term.Plain(a.Reason))
	}
	fmt.Fprintf(c.Out, "%s %s %s (%s)\n      %s\n", mark, c.Label(strings.Replace(a.Kind, "path", "folder", 1), 6), term.Plain(a.What), fresh+c.text(granted), reason)
}

// tellChange shows one difference.
func (c *cli) tellChange(ch plugin.Difference) {
	title := c.text(ch.Kind)
	if ch.Name != "" {
		title += " " + ch.Name
	}
	was, is := term.Plain(ch.Was), term.Plain(ch.Is)
	switch {
	case ch.Kind == "module" || ch.Kind == "manifest":
		c.outf("~ %s: sha256 %s → %s\n", title, short(was), short(is))
	case was == "":
		fmt.Fprintf(c.Out, "+ %s\n", title)
		c.lines("    + ", is)
	case is == "":
		fmt.Fprintf(c.Out, "- %s\n", title)
	case was == is:
		c.outf("~ %s: another reason\n", title)
	case !strings.Contains(was+is, "\n") && len(was)+len(is) < 100:
		fmt.Fprintf(c.Out, "~ %s: %s → %s\n", title, was, is)
	default:
		fmt.Fprintf(c.Out, "~ %s\n", title)
		for _, l := range lineDifference(strings.Split(was, "\n"), strings.Split(is, "\n")) {
			fmt.Fprintln(c.Out, "    "+l)
		}
	}
	if ch.Reason != "" {
		c.outf("    because %q\n", term.Plain(ch.Reason))
	}
}

func (c *cli) lines(before, text string) {
	for l := range strings.Lines(text) {
		fmt.Fprintln(c.Out, before+strings.TrimRight(l, "\n"))
	}
}

// lineDifference lists the lines that were taken out and put in, each with its
// sign, in the order of the new text.
func lineDifference(was, is []string) []string {
	// Common beginnings and ends are most of it; a table of the rest is small.
	head := 0
	for head < len(was) && head < len(is) && was[head] == is[head] {
		head++
	}
	tail := 0
	for tail < len(was)-head && tail < len(is)-head && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	was, is = was[head:len(was)-tail], is[head:len(is)-tail]
	if len(was)*len(is) > 1<<20 { // too large for the table: all out, all in
		var out []string
		for _, l := range was {
			out = append(out, "- "+l)
		}
		for _, l := range is {
			out = append(out, "+ "+l)
		}
		return out
	}
	longest := make([][]int, len(was)+1)
	for i := range longest {
		longest[i] = make([]int, len(is)+1)
	}
	for i := len(was) - 1; i >= 0; i-- {
		for j := len(is) - 1; j >= 0; j-- {
			if was[i] == is[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(was) || j < len(is); {
		switch {
		case i < len(was) && j < len(is) && was[i] == is[j]:
			i, j = i+1, j+1
		case i < len(was) && (j == len(is) || longest[i+1][j] >= longest[i][j+1]):
			out, i = append(out, "- "+was[i]), i+1
		default:
			out, j = append(out, "+ "+is[j]), j+1
		}
	}
	return out
}

// tellBrief shows in a few lines what waits of one plugin.
func (c *cli) tellBrief(r plugin.Review) {
	c.outf("%s %s (%s)\n  it waits because %s\n", r.Plugin.Name, term.OrDash(r.Pending.Version), short(r.Pending.Digest), c.sentence(r.Plugin.Pending.Why))
	for _, a := range r.Pending.Asks {
		c.tellAsk(a, r.Changes)
	}
	var names []string
	for _, t := range r.Pending.Tools {
		names = append(names, t.Spec.Name)
	}
	c.outf("  tools: %s\n", strings.Join(names, ", "))
}

// whyOf is what people should know of a plugin in a list: what keeps it out,
// else what waits while an approved version serves.
func whyOf(p plugin.Info) tool.Text {
	if p.Why.IsZero() && p.Pending != nil {
		return tool.Textf("a change waits: %s", p.Pending.Why)
	}
	return p.Why
}

// fixOf is what to do about it.
func fixOf(p plugin.Info) tool.Text {
	if p.Why.IsZero() && p.Pending != nil {
		return p.Pending.Fix
	}
	return p.Fix
}

// sentence returns a sentence about a plugin in the reader's language, on one line
// without control characters.
func (c *cli) sentence(t tool.Text) string { return c.text(term.Plain(msg.In(c.language(), t))) }
