package guest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A List is a text that is made of entries: hits, rows, matches, files. The host cuts
// between two of them and says how many there are. The zero List is empty; what is
// written before the first entry belongs to none.
type List struct {
	// Show is how many of the entries a model reads, from the first, where no agent's
	// limit replaces the tool's; 0: as many as fit.
	Show int
	// Head are whole lines that come before all that is written, for what is known only
	// at the end, such as totals.
	Head string

	full     []string // what the text has, without its last piece
	last     []byte
	size     int // of full, in bytes
	newlines int
	inLine   bool // the text does not end with a newline
	lines    []int
}

// piece is the size of the pieces of a List, in bytes. A text in one piece would need
// three times its size when it grows.
const piece = 256 << 10

// Entry begins an entry: what is written next is its beginning, on a line of its own.
func (l *List) Entry() {
	if l.inLine {
		l.WriteString("\n")
	}
	if at := l.newlines + 1; len(l.lines) == 0 || l.lines[len(l.lines)-1] < at {
		l.lines = append(l.lines, at)
	}
}

// WriteString adds to the text.
func (l *List) WriteString(s string) {
	if s != "" {
		l.grow(len(s), strings.Count(s, "\n"), s[len(s)-1])
		l.last = append(l.last, s...)
	}
}

// Write is WriteString for bytes. It always succeeds.
func (l *List) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.grow(len(p), bytes.Count(p, []byte("\n")), p[len(p)-1])
		l.last = append(l.last, p...)
	}
	return len(p), nil
}

// grow makes room for n bytes with so many newlines, of which end is the last byte.
func (l *List) grow(n, newlines int, end byte) {
	l.newlines, l.inLine = l.newlines+newlines, end != '\n'
	if len(l.last)+n > cap(l.last) && cap(l.last) >= piece {
		l.full, l.size, l.last = append(l.full, string(l.last)), l.size+len(l.last), make([]byte, 0, piece)
	}
}

// Len returns how many bytes the text has.
func (l *List) Len() int { return l.size + len(l.last) }

// Entries returns how many entries the text has.
func (l *List) Entries() int { return len(l.lines) }

// Fits reports whether the host keeps one more entry of n bytes: it keeps 8 MiB, and
// 100,000 entries. A tool that has more stops there and says with More how to go on.
func (l *List) Fits(n int) bool {
	return l.Len()+n < tool.MaxWhole && len(l.lines) < tool.MaxEntries
}

// Result returns the text and its entries.
func (l *List) Result() Result {
	r := Text(strings.Join(slices.Concat([]string{l.Head}, l.full, []string{string(l.last)}), ""))
	if len(l.lines) == 0 {
		return r
	}
	r.Entries = &tool.Entries{Lines: l.lines, Show: l.Show}
	if above := strings.Count(l.Head, "\n"); above > 0 {
		r.Entries.Lines = slices.Clone(l.lines)
		for i := range r.Entries.Lines {
			r.Entries.Lines[i] += above
		}
	}
	return r
}
