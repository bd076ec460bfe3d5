// Package screen plays terminal output: what it shows after all control sequences.
package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

// A screen is a terminal of unlimited width that collects its final state. It
// moves rows that can no longer change to out.
type screen struct {
	out    strings.Builder
	rows   []row
	x, y   int // the cursor: column, and index in rows
	atEnd  bool
	window int // rows to which the cursor can return
	// spare is how many blank cells cursor movements and erasing may still
	// create. It bounds time and output to the order of the input.
	spare int
}

// A row is text until a write replaces part of it; then it is cells.
type row struct {
	text  []byte
	cells []cell
}

// A cell is one column. The second column of a wide character is empty.
type cell string

// window is how many rows up programs return to draw several progress bars.
const window = 200

// Play returns what a terminal shows after it has printed s.
func Play(s string) string { return newScreen(s).play(s) }

func newScreen(s string) *screen {
	sc := &screen{rows: make([]row, 1), atEnd: true, window: 1, spare: len(s) + 1<<16}
	if movesUp(s) {
		sc.window = window
	}
	sc.out.Grow(len(s))
	return sc
}

// movesUp reports whether s moves the cursor to an earlier row.
func movesUp(s string) bool {
	for i := strings.IndexByte(s, 0x1b); i >= 0 && i < len(s); {
		if seq, size := sequence(s[i:]); size > 0 && (seq.final == 'A' || seq.final == 'F') {
			return true
		}
		j := strings.IndexByte(s[i+1:], 0x1b)
		if j < 0 {
			return false
		}
		i += 1 + j
	}
	return false
}

// play writes s to a screen and returns the final text.
func (sc *screen) play(s string) string {
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && s[i] != '\n' && !Special(s, i) {
			i++
		}
		if i > start {
			sc.write(s[start:i])
		}
		if i < len(s) {
			i += sc.control(s[i:])
		}
	}
	for i := range sc.rows {
		if i > 0 {
			sc.out.WriteByte('\n')
		}
		sc.rows[i].print(&sc.out)
	}
	return sc.out.String()
}

// control executes the control character or sequence at the start of s and
// returns its size in bytes.
func (sc *screen) control(s string) int {
	switch c := s[0]; c {
	case '\n', '\v', '\f':
		sc.newline()
	case '\r':
		if len(s) > 1 && (s[1] == '\n' || s[1] == '\r') {
			return 1
		}
		sc.x, sc.atEnd = 0, false
	case '\b':
		sc.column(-1)
	case 0x07, 0x0e, 0x0f:
	case 0x1b:
		seq, size := sequence(s)
		if size > 0 {
			sc.obey(seq)
			return size
		}
		sc.write("␛")
	case 0x7f:
		sc.write("␡")
	case 0xc2:
		sc.write("\ufffd")
		return 2
	default:
		sc.write(string('␀' + rune(c)))
	}
	return 1
}

// obey executes a sequence if it moves the cursor or erases text.
func (sc *screen) obey(seq escape) {
	n := max(seq.n, 1)
	switch seq.final {
	case 'A', 'F':
		sc.vertical(-n, seq.final == 'F')
	case 'B', 'E':
		sc.vertical(n, seq.final == 'E')
	case 'C':
		sc.column(n)
	case 'D':
		sc.column(-n)
	case 'G':
		sc.column(0)
		sc.x, sc.atEnd = n-1, false
	case 'K':
		sc.erase(seq.n)
	case 'J':
		if seq.n <= 0 {
			sc.erase(0)
			sc.rows = sc.rows[:sc.y+1]
		}
	}
}

func (sc *screen) newline() {
	if sc.y == len(sc.rows)-1 {
		if len(sc.rows) < sc.window {
			sc.rows = append(sc.rows, row{})
			sc.y++
		} else {
			first := sc.rows[0]
			first.print(&sc.out)
			sc.out.WriteByte('\n')
			copy(sc.rows, sc.rows[1:])
			sc.rows[len(sc.rows)-1] = row{text: first.text[:0]}
		}
	} else {
		sc.y++
	}
	sc.x, sc.atEnd = 0, sc.rows[sc.y].empty()
}

// vertical moves the cursor by n rows, within the existing ones.
func (sc *screen) vertical(n int, toStart bool) {
	if toStart {
		sc.x = 0
	} else {
		sc.column(0)
	}
	sc.y = min(max(sc.y+n, 0), len(sc.rows)-1)
	sc.atEnd = false
}

// column moves the cursor by n columns.
func (sc *screen) column(n int) {
	if sc.atEnd {
		sc.x = len(sc.rows[sc.y].split())
		sc.atEnd = false
	}
	sc.x = max(sc.x+n, 0)
}

// erase clears the row: 0 from the cursor on, 1 up to the cursor, 2 all of it.
func (sc *screen) erase(mode int) {
	if sc.atEnd && mode <= 0 {
		return
	}
	sc.column(0)
	r := &sc.rows[sc.y]
	cells := r.split()
	switch {
	case mode <= 0:
		r.cells = cells[:min(sc.x, len(cells))]
	case mode == 1:
		end := min(sc.x+1, len(cells), sc.spare)
		sc.spare -= end
		for i := range end {
			cells[i] = " "
		}
	default:
		r.cells = cells[:0]
	}
}

// write puts s at the cursor.
func (sc *screen) write(s string) {
	r := &sc.rows[sc.y]
	if sc.atEnd && r.cells == nil {
		r.text = append(r.text, s...)
		return
	}
	if sc.x == 0 && r.empty() {
		sc.atEnd = true
		r.text, r.cells = append(r.text[:0], s...), nil
		return
	}
	sc.column(0)
	cells := r.split()
	if sc.x > len(cells) {
		blank := min(sc.x-len(cells), sc.spare)
		sc.spare -= blank
		for range blank {
			cells = append(cells, " ")
		}
		sc.x = len(cells)
	}
	r.cells = over(cells, &sc.x, s)
}

// over replaces cells with s from column x on and moves x to the end of s.
func over(cells []cell, x *int, s string) []cell {
	it := graphemes.FromString(s)
	for it.Next() {
		g := it.Value()
		if g == "\t" {
			for blank := 8 - *x%8; blank > 0; blank-- {
				if *x >= len(cells) {
					cells = append(cells, " ")
				}
				*x++
			}
			continue
		}
		width := 1
		if len(g) > 1 {
			width = ansi.StringWidth(g)
		}
		if width == 0 {
			if *x > 0 && *x <= len(cells) {
				cells[*x-1] += cell(g)
			} else {
				width = 1
			}
		}
		for i := range width {
			c := cell(g)
			if i > 0 {
				c = ""
			}
			if *x < len(cells) {
				if i == 0 && cells[*x] == "" && *x > 0 {
					cells[*x-1] = " " // half of a wide character
				}
				cells[*x] = c
			} else {
				cells = append(cells, c)
			}
			*x++
		}
		if *x < len(cells) && cells[*x] == "" {
			cells[*x] = " " // the other half of a wide character
		}
	}
	return cells
}

func (r *row) empty() bool { return len(r.text) == 0 && len(r.cells) == 0 }

// split converts the row to cells and returns them.
func (r *row) split() []cell {
	if r.cells == nil {
		x := 0
		r.cells = over(make([]cell, 0, len(r.text)), &x, string(r.text))
		r.text = r.text[:0]
	}
	return r.cells
}

// print writes the row. It omits blanks at the end of a row of cells, because
// programs clear rows with them.
func (r *row) print(out *strings.Builder) {
	if r.cells == nil {
		out.Write(r.text)
		return
	}
	end := len(r.cells)
	for end > 0 && r.cells[end-1] == " " {
		end--
	}
	for _, c := range r.cells[:end] {
		out.WriteString(string(c))
	}
}

// An escape is a control sequence: its final byte, its first number (-1: none).
type escape struct {
	final byte
	n     int
}

// sequence returns the escape sequence at the start of s and its size in bytes,
// or 0 if there is none. Only CSI sequences have a final byte.
func sequence(s string) (escape, int) {
	if len(s) < 2 {
		return escape{}, 0
	}
	switch c := s[1]; {
	case c == '[':
		return csi(s)
	case c == ']':
		return escape{}, stringSequence(s, "\x1b\x07\n")
	case c == 'P' || c == 'X' || c == '^' || c == '_':
		return escape{}, stringSequence(s, "\x1b")
	case c >= 0x20 && c < 0x30:
		i := 1
		for i < len(s) && s[i] >= 0x20 && s[i] < 0x30 {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] < 0x7f {
			return escape{}, i + 1
		}
	case c >= 0x30 && c < 0x7f:
		return escape{}, 2
	}
	return escape{}, 0
}

// csi reads ESC [ with parameters, intermediates and a final byte.
func csi(s string) (escape, int) {
	e := escape{n: -1}
	i, first, private := 2, true, false
	for ; i < len(s) && s[i] >= 0x20 && s[i] < 0x40; i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9' && first:
			e.n = min(max(e.n, 0)*10+int(c-'0'), 1<<20)
		case c == ';' || c == ':':
			first = false
		case c >= '<' && c <= '?' || c < '0':
			private = true // obey ignores these
		}
	}
	if i == len(s) || s[i] >= 0x7f {
		return escape{}, 0
	}
	if !private {
		e.final = s[i]
	}
	return e, i + 1
}

// stringSequence reads a sequence that carries a string, up to its terminator.
// It reports none if another of the bytes in stop comes first: a sequence without
// an end must not hide text.
func stringSequence(s, stop string) int {
	i := strings.IndexAny(s[2:], stop)
	if i < 0 {
		return 0
	}
	i += 2
	switch {
	case s[i] == 0x07:
		return i + 1
	case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
		return i + 2
	}
	return 0
}

// Special reports whether a control character other than tab and newline
// begins at text[i].
func Special[T string | []byte](text T, i int) bool {
	switch c := text[i]; {
	case c < 0x20:
		return c != '\n' && c != '\t'
	case c == 0xc2:
		return i+1 < len(text) && text[i+1] < 0xa0
	default:
		return c == 0x7f
	}
}
