package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Grid returns rows as a table whose columns have the widths that a terminal
// shows. The last column is cut at width; a table whose other columns fill the
// width is not cut.
func Grid(rows [][]string, width int) string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	before := 0
	for _, w := range widths[:len(widths)-1] {
		before += w + 2
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			if i == len(r)-1 {
				if left := width - before; left >= 8 {
					cell = ansi.Truncate(cell, left, "…")
				}
				line += cell
				continue
			}
			line += cell + strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Definitions returns names with their descriptions: side by side, or on a narrow
// terminal one below the other. Each row is a name and a description.
func Definitions(rows [][]string, width int) string {
	widest := 0
	for _, r := range rows {
		widest = max(widest, ansi.StringWidth(r[0]))
	}
	var b strings.Builder
	for _, r := range rows {
		first, indent := r[0]+strings.Repeat(" ", widest-ansi.StringWidth(r[0])+2), widest+2
		if width < widest+40 {
			first, indent = r[0]+"\n    ", 4
		}
		text := ansi.Wrap(r[1], max(width-indent-1, 10), "")
		b.WriteString(first + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent)) + "\n")
	}
	return b.String()
}

// Wrap breaks the lines of s between words where the terminal w ends. Continued
// lines are indented by two more columns. Without a terminal s is not changed.
func (e *Env) Wrap(w any, s string) string {
	if !IsTerminal(w) {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		text := strings.TrimLeft(l, " ")
		indent := strings.Repeat(" ", len(l)-len(text)+2)
		if ansi.StringWidth(l) >= e.Width() && e.Width() > len(indent)+10 {
			text = strings.ReplaceAll(ansi.Wrap(text, e.Width()-len(indent), ""), "\n", "\n"+indent)
		}
		lines[i] = indent[2:] + text
	}
	return strings.Join(lines, "\n")
}
