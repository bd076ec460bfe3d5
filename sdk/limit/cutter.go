package limit

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A span is a range of bytes of the whole.
type span struct{ start, end int }

// A cutter selects the parts of one text to show: a head, a tail and lines to keep
// between them.
type cutter struct {
	whole        string
	chars, lines int         // of the whole
	head         int         // where the shown beginning ends, in bytes
	tail         int         // where the shown end starts, in bytes
	kept         []span      // lines to keep between head and tail, in order
	units        []candidate // of which kept is made
	counts       []int       // selected units with identical lines elsewhere
	terse        bool        // markers have no numbers
	highlights   *Highlights
	listing      listing
	json         string // shown instead of everything else, if not empty
	// charBound reports that characters, not lines, limited an end.
	charBound bool
}

// run selects head and tail within b. The room that the head does not use goes to
// the tail.
func (c *cutter) run(s shares, b budget) {
	c.head, c.tail, c.kept, c.charBound = 0, len(c.whole), nil, false
	if s.toHead {
		s.head = 1
	}
	c.takeHead(b.share(s.head))
	if !s.toHead {
		c.takeTail(b.less(Count(c.whole[:c.head])))
	}
}

// ends returns the size of head and tail.
func (c *cutter) ends() (chars, lines int) {
	hc, hl := Count(c.whole[:c.head])
	tc, tl := Count(c.whole[c.tail:])
	return hc + tc, hl + tl
}

// takeHead selects the longest head within b that ends between entries, or else at a
// natural break.
func (c *cutter) takeHead(b budget) {
	i := forward(c.whole, b.chars)
	byLines := false
	if b.lines < unlimited {
		j := firstLines(c.whole[:i], b.lines)
		i, byLines = j, j < i
	}
	if end := c.listing.end; end > 0 && i >= end {
		c.head = min(end, c.tail)
		return
	}
	c.charBound = c.charBound || !byLines && b.chars > 0 && i < len(c.whole)
	if at, ok := c.listing.before(c.whole, i, b); ok && i < len(c.whole) {
		c.head = min(at, c.tail)
		return
	}
	if !byLines {
		i = settleHead(c.whole, i-len(lastChars(c.whole[:i], b.chars/10)), i)
	}
	c.head = min(i, c.tail)
}

// takeTail selects the longest tail within b that starts with an entry, or else at a
// natural break.
func (c *cutter) takeTail(b budget) {
	i := backward(c.whole, b.chars)
	byLines := false
	if b.lines < unlimited {
		j := lastLines(c.whole[i:], b.lines)
		i, byLines = i+j, j > 0
	}
	c.charBound = c.charBound || !byLines && b.chars > 0 && i > 0
	if at, ok := c.listing.after(c.whole, i, b); ok {
		c.tail = max(at, c.head)
		return
	}
	if !byLines {
		i = settleTail(c.whole, i, i+forward(c.whole[i:], b.chars/10))
	}
	c.tail = max(i, c.head)
}

func lastChars(s string, n int) string { return s[backward(s, n):] }

// marker returns the characters reserved for the marker of a further gap: its
// longest text, two line numbers and two newlines.
func (c *cutter) marker() int {
	if c.terse {
		return runes(sliver) + 2
	}
	return 13 + 2*digits(c.lines)
}

// trim removes from the kept lines what head and tail now show.
func (c *cutter) trim() {
	rest := c.kept[:0]
	for _, k := range c.kept {
		k.start, k.end = max(k.start, c.head), min(k.end, c.tail)
		if k.start < k.end {
			rest = append(rest, k)
		}
	}
	c.kept = rest
}

// view joins the selected parts into v and describes the gaps between them.
func (c *cutter) view(v *tool.View) {
	if c.json != "" {
		v.Text, v.Gaps = c.json, []tool.Gap{c.jsonGap()}
		return
	}
	size := c.head + len(c.whole) - c.tail
	for _, k := range c.kept {
		size += k.end - k.start
	}
	var text strings.Builder
	text.Grow(size)
	gaps := make([]tool.Gap, 0, len(c.kept)+1)
	if n := c.shownUnits(); n > 0 {
		v.Kept = make([]tool.Kept, 0, n)
	}
	gaps = c.omissions(gaps)
	text.WriteString(c.whole[:c.head])
	pos, above, next := c.head, strings.Count(c.whole[:c.head], "\n"), 0
	omit := func(to int) {
		if to <= pos {
			return
		}
		g := newGap(above, gaps[next].Lines, c.whole[to-1] == '\n')
		above += gaps[next].Lines
		g.At, g.Chars = text.Len(), gaps[next].Chars
		gaps[next] = g
		next++
	}
	for _, k := range c.kept {
		omit(k.start)
		shown := c.whole[k.start:k.end]
		c.show(v, k, text.Len(), above+1)
		text.WriteString(shown)
		pos, above = k.end, above+strings.Count(shown, "\n")
	}
	omit(c.tail)
	text.WriteString(c.whole[c.tail:])
	v.Text, v.Gaps, v.Terse = text.String(), gaps, c.terse
	if v.TotalEntries > 0 {
		v.ShownEntries = c.listing.within(c.whole, c.shown())
	}
}

// omissions appends a gap for each part that is not shown, with its characters, and with
// its newlines as Lines. Those of the longest one are what is left of the totals, because
// a second count of most of the text would cost time.
func (c *cutter) omissions(gaps []tool.Gap) []tool.Gap {
	chars, newlines := c.chars, c.lines
	if !strings.HasSuffix(c.whole, "\n") {
		newlines--
	}
	count := func(start, end int) tool.Gap {
		s := c.whole[start:end]
		g := tool.Gap{Chars: runes(s), Lines: strings.Count(s, "\n")}
		chars, newlines = chars-g.Chars, newlines-g.Lines
		return g
	}
	longest, at := span{}, -1
	omit := func(o span) {
		if o.end <= o.start {
			return
		}
		i := len(gaps)
		gaps = append(gaps, tool.Gap{})
		if o.end-o.start > longest.end-longest.start {
			o, longest, i, at = longest, o, at, i
		}
		if i >= 0 {
			gaps[i] = count(o.start, o.end)
		}
	}
	count(0, c.head)
	pos := c.head
	for _, k := range c.kept {
		omit(span{start: pos, end: k.start})
		count(k.start, k.end)
		pos = k.end
	}
	omit(span{start: pos, end: c.tail})
	count(c.tail, len(c.whole))
	if at >= 0 {
		gaps[at] = tool.Gap{Chars: chars, Lines: newlines}
	}
	return gaps
}

// shownUnits counts the kept lines between the ends.
func (c *cutter) shownUnits() (n int) {
	if len(c.kept) == 0 {
		return 0
	}
	for _, u := range c.units {
		if u.selected && u.line >= c.head && u.lineEnd <= c.tail {
			n++
		}
	}
	return n
}

// show adds to v the kept lines of the run k, which begins at byte at of the shown
// text with line number of the whole.
func (c *cutter) show(v *tool.View, k span, at, number int) {
	i, _ := slices.BinarySearchFunc(c.units, k.start, func(u candidate, start int) int { return u.line - start })
	pos := k.start
	for ; i < len(c.units) && c.units[i].lineEnd <= k.end; i++ {
		u := c.units[i]
		if !u.selected {
			continue
		}
		number += strings.Count(c.whole[pos:u.line], "\n")
		pos = u.line
		v.Kept = append(v.Kept, tool.Kept{At: at + u.line - k.start, End: at + u.lineEnd - k.start, Line: number, By: c.highlights.name(u.by), Times: u.times})
	}
}

// newGap returns a gap after above newlines that contains newlines of its own,
// one of them as its last byte if ended.
func newGap(above, newlines int, ended bool) tool.Gap {
	g := tool.Gap{First: above + 1, Last: above + newlines}
	if !ended {
		g.Last++
	}
	g.Lines = g.Last - g.First + 1
	return g
}
