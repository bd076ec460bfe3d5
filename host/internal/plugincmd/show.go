package plugincmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/internal/linediff"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Short returns the digits of a digest that people compare.
func Short(digest string) string { return digest[:min(12, len(digest))] }

// ShowReview prints everything about a plugin.
func (c *Commands) ShowReview(r plugin.Review) {
	p := r.Plugin
	c.ShowState(r)
	if p.Description != "" {
		fmt.Fprintf(c.Out, "%s\n", term.OneLine(term.Plain(p.Description), 1024))
	}
	if p.Trust == "" {
		c.Outf("\nsource    %s (in no plugin folder: as it would run if it were approved)\n", p.Source)
	} else {
		c.Outf("\nsource    %s (trust: %s)\n", p.Source, p.Trust)
	}
	if p.Approved != nil {
		held := ""
		if p.Approved.RolledBack {
			held = "; somebody went back to it, and it stays until the next approval"
		}
		c.Outf("let in    by %s on %s%s\n", c.text(term.Plain(p.Approved.By)), when(p.Approved.At), textOf(held))
	}
	if p.Loaded {
		c.Outf("memory    loaded: it was called, and is kept for the next call\n")
	}
	if len(p.Unpassed) > 0 {
		c.Outf("not       passed on: %s; only its tools are\n", strings.Join(p.Unpassed, ", "))
	}
	if p.Instructions != "" {
		c.Outf("says      of all its tools:\n")
		c.lines("          ", term.Plain(p.Instructions))
	}
	for _, h := range p.Refused {
		c.Outf("refused   it wanted %s, %d times, the last time on %s\n          → %s\n", term.Plain(h.Host), h.Count, when(h.Last), c.Sentence(h.Fix))
	}
	for _, w := range p.Problems {
		c.Outf("problem   %s\n", c.Sentence(w))
	}
	if r.Serving != nil {
		c.Outf("\nWHAT MAY RUN\n")
		c.showVersion(r.Serving, nil, request{})
	}
	if r.Pending != nil {
		c.Outf("\nWHAT WAITS\n")
		c.showPending(r, request{})
	} else if p.Pending != nil {
		c.Outf("\nWHAT WAITS\n%s\n  → %s\n", c.Sentence(p.Pending.Why), c.Sentence(p.Pending.Fix))
	}
	if v := cmp.Or(r.Pending, r.Serving); v != nil {
		c.showPrompt(v)
	}
	if len(r.History) > 0 {
		c.Outf("\nHISTORY\n")
		c.Table("WHEN\tVERSION\tDIGEST\tBY\t", func(w io.Writer) {
			for _, h := range r.History {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", when(h.At), term.OrDash(term.Plain(h.Version)), Short(h.Digest), c.text(term.Plain(h.By)), c.text(historyNote(h)))
			}
		})
	}
}

// showPrompt prints the text of the tools in a prompt, and its tokens.
func (c *Commands) showPrompt(v *plugin.Version) {
	c.Outf("\nWHAT A MODEL SEES\n")
	var tokens agent.Estimator
	for _, t := range v.Tools {
		text, spec := agent.PromptText(t.Spec, c.Locale()), agent.Brief(t.Spec, c.Locale())
		c.Outf("about %d tokens in a prompt, %d as a schema for a provider's own tool calling:\n", tokens.Tokens(text), tokens.Tokens(spec.Description+string(spec.Params)))
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

// showPending prints the version that an approval would let run. w is what the command
// grants.
func (c *Commands) showPending(r plugin.Review, w request) {
	v := cmp.Or(r.Pending, r.Serving)
	fmt.Fprintf(c.Out, "%s %s", r.Plugin.Name, term.OrDash(term.Plain(v.Version)))
	if r.Serving != nil && r.Pending != nil {
		c.Outf(" in place of %s", term.OrDash(term.Plain(r.Serving.Version)))
		if r.Plugin.State == plugin.Ready {
			c.Outf(", which serves meanwhile")
		}
	}
	fmt.Fprintln(c.Out)
	if o := r.Plugin.Pending; o != nil {
		c.Outf("it waits because %s\n", c.Sentence(o.Why))
	}
	c.showVersion(v, r.Changes, w)
	if len(r.Changes) > 0 {
		c.Outf("\nwhat changes:\n")
		for _, ch := range r.Changes {
			c.showChange(ch)
		}
	}
}

// showVersion prints the files, powers and tools of a version.
func (c *Commands) showVersion(v *plugin.Version, changes []plugin.Difference, w request) {
	c.Outf("digest    %s\nmodule    sha256 %s, %s\n          %s\nmanifest  sha256 %s\n", v.Digest, v.WasmSHA256, term.Size(v.WasmBytes), v.File, v.ManifestSHA256)
	if len(v.Asks) == 0 {
		c.Outf("\npowers: it asks for none\n")
	} else {
		c.Outf("\npowers it asks for:\n")
		for _, a := range v.Asks {
			c.showAsk(a, changes, w)
		}
		if slices.ContainsFunc(v.Asks, func(a plugin.Ask) bool { return !a.Granted && !w.gives(a) }) {
			c.Outf("  Approved or not, its tools wait until tools.toml grants what is not granted; --path, --host and --secret write that.\n")
		}
	}
	c.Outf("\ntools:\n")
	for _, t := range v.Tools {
		e := t.Effective
		c.Outf("  %s: %s\n      without an agent %s; an agent reads %s\n      %s; timeout %s, memory %s; declares %s\n", t.Spec.Name, term.OneLine(term.Plain(c.Description(t.Spec)), 160),
			c.limitsText(t), c.agentText(t), term.OrDash(e.Strategy), textOf(orNone(e.Timeout)), textOf(orNone(e.Memory)), c.Shown(t.Declared))
	}
}

func (c *Commands) showAsk(a plugin.Ask, changes []plugin.Difference, w request) {
	mark, granted, fresh := " ", "not granted", ""
	switch {
	case a.Granted:
		granted = "granted"
	case w.gives(a):
		granted = "granted by this command"
	}
	for _, ch := range changes {
		what, _, _ := strings.Cut(a.What, " ")
		if ch.Kind == "power" && ch.Exceeds && strings.HasSuffix(ch.Name, " "+what) {
			mark, fresh = "+", c.Sprintf("NEW, ")
		}
	}
	reason := c.text("it gives no reason")
	if !a.Reason.IsZero() {
		reason = fmt.Sprintf("%q", term.Plain(msg.In(c.Locale(), a.Reason)))
	}
	fmt.Fprintf(c.Out, "%s %s %s (%s)\n      %s\n", mark, c.Label(strings.Replace(a.Kind, "path", "folder", 1), 6), term.Plain(a.What), fresh+c.text(granted), reason)
}

// showChange prints one difference.
func (c *Commands) showChange(ch plugin.Difference) {
	title := c.text(ch.Kind)
	if ch.Name != "" {
		title += " " + term.Plain(ch.Name)
	}
	was, is := c.Sentence(ch.Was), c.Sentence(ch.Is)
	switch {
	case ch.Kind == "script":
		fmt.Fprintf(c.Out, "~ %s\n", title)
		c.lines("    ", term.Plain(ch.Lines))
		if ch.MoreLines > 0 {
			c.Outf("    … %d more lines\n", ch.MoreLines)
		}
	case ch.Kind == "module" || ch.Kind == "manifest":
		c.Outf("~ %s: sha256 %s → %s\n", title, Short(was), Short(is))
	case was == "":
		fmt.Fprintf(c.Out, "+ %s\n", title)
		c.lines("    + ", is)
	case is == "":
		fmt.Fprintf(c.Out, "- %s\n", title)
	case was == is:
		c.Outf("~ %s: another reason\n", title)
	case !strings.Contains(was+is, "\n") && len(was)+len(is) < 100:
		fmt.Fprintf(c.Out, "~ %s: %s → %s\n", title, was, is)
	default:
		fmt.Fprintf(c.Out, "~ %s\n", title)
		c.lines("    ", linediff.Of(was, is))
	}
	if !ch.Reason.IsZero() {
		c.Outf("    because %q\n", term.Plain(msg.In(c.Locale(), ch.Reason)))
	}
}

func (c *Commands) lines(before, text string) {
	for l := range strings.Lines(text) {
		fmt.Fprintln(c.Out, before+strings.TrimRight(l, "\n"))
	}
}

// showBrief prints a pending version in a few lines.
func (c *Commands) showBrief(r plugin.Review) {
	c.Outf("%s %s (%s)\n  it waits because %s\n", r.Plugin.Name, term.OrDash(r.Pending.Version), Short(r.Pending.Digest), c.Sentence(r.Plugin.Pending.Why))
	for _, a := range r.Pending.Asks {
		c.showAsk(a, r.Changes, request{})
	}
	var names []string
	for _, t := range r.Pending.Tools {
		names = append(names, t.Spec.Name)
	}
	c.Outf("  tools: %s\n", strings.Join(names, ", "))
}

// alsoPending reports whether a version waits for another reason than its plugin does.
func alsoPending(p plugin.Info) bool {
	return p.Pending != nil && p.Pending.Why.String() != p.Why.String()
}

// Why returns why a plugin does not run, and why its new version is pending.
func Why(p plugin.Info) tool.Text {
	switch {
	case !alsoPending(p):
		return p.Why
	case p.Why.IsZero():
		return tool.Textf("a change waits: %s", p.Pending.Why)
	}
	return tool.Textf("%s; a change waits: %s", p.Why, p.Pending.Why)
}

// Fix returns the remedy for Why.
func Fix(p plugin.Info) tool.Text {
	switch {
	case !alsoPending(p):
		return p.Fix
	case p.Fix.IsZero():
		return p.Pending.Fix
	}
	return tool.Textf("%s; then %s", p.Fix, p.Pending.Fix)
}

// Sentence returns a sentence about a plugin in the reader's language, on one line
// without control characters.
func (c *Commands) Sentence(t tool.Text) string { return c.text(term.Plain(msg.In(c.Locale(), t))) }
