package plugincmd

import (
	"fmt"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Patterns prints weir's own patterns of lines to keep.
func Patterns(p *term.Printer) {
	if p.AsJSON(limit.Patterns()) {
		return
	}
	for _, x := range limit.Patterns() {
		fmt.Fprintf(p.Out, "%-8s %-28s %s\n", x.Weight, x.Name, x.Expr)
	}
}

// Explain prints each line of r that is kept, with its number and pattern.
func Explain(p *term.Printer, r tool.Result) {
	if p.AsJSON(map[string]any{"kept": r.Shown.Kept, "left_out": r.Shown.LeftOut, "grep": r.Shown.Grep}) {
		return
	}
	for _, l := range r.Shown.Kept {
		times := ""
		if l.Times > 1 {
			times = fmt.Sprintf("×%d ", l.Times)
		}
		fmt.Fprintf(p.Out, "%6d  [%s] %s%s\n", l.Line, l.By, times, limit.Neutralise(r.Shown.Text[l.At:l.End]))
	}
	if n := r.Shown.LeftOut; n > 0 {
		p.Errf("weir: %d more lines match and do not fit: grep %q\n", n, r.Shown.Grep)
	}
}

// CutSummary returns a line with what was produced, what a model reads and why.
func CutSummary(p *term.Printer, r tool.Result) string {
	v := r.Shown
	if !v.Cut() {
		return p.Sprintf("%s: %d characters, %d lines, shown whole", r.Tool, v.TotalChars, v.TotalLines)
	}
	chars, lines := limit.Count(limit.Render(r, p.Locale()))
	return p.Sprintf("%s: %d → %d characters, %d → %d lines, by %s",
		r.Tool, v.TotalChars, chars, v.TotalLines, lines, limit.Name(v.By, v.Limit, v.Unit, p.Locale()))
}
