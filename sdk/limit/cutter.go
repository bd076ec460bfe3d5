package limit

import (
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A span is a range of bytes of the whole.
type span struct{ start, end int }

// A cutter selects the parts of one text to show: a head, a tail and highlighted
// lines between them.
type cutter struct {
	whole        string
	chars, lines int    // of the whole
	head         int    // where the shown beginning ends, in bytes
	tail         int    // where the shown end starts, in bytes
	kept         []span // highlighted lines between head and tail, in order
	json         string // shown instead of everything else, if not empty
	// charBound reports that characters, not lines, limited an end.
	charBound bool
}

// run selects the parts within b. Room that one part does not use goes to the
// next, and at last to the tail (or to the head, if there is no tail).
func (c *cutter) run(s shares, b budget, g *search) {
	if g == nil {
		if s.toHead {
			s.head = 1
		}
		c.takeHead(b.share(s.head))
		if !s.toHead {
			c.takeTail(b.less(Count(c.whole[:c.head])))
		}
		return
	}
	c.takeHead(b.share(s.head))
	c.takeTail(b.share(s.tail).within(b.less(Count(c.whole[:c.head]))))
	c.kept = c.findHighlights(g, b.less(c.ends()))
	c.grow(s.toHead, b)
}

// ends returns the size of head and tail.
func (c *cutter) ends() (chars, lines int) {
	hc, hl := Count(c.whole[:c.head])
	tc, tl := Count(c.whole[c.tail:])
	return hc + tc, hl + tl
}

// takeHead selects the longest head within b that ends at a natural break.
func (c *cutter) takeHead(b budget) {
	i := forward(c.whole, b.chars)
	if b.lines < unlimited {
		if j := firstLines(c.whole[:i], b.lines); j < i {
			c.head = min(j, c.tail)
			return
		}
	}
	c.charBound = c.charBound || b.chars > 0 && i < len(c.whole)
	low := i - len(lastChars(c.whole[:i], b.chars/10))
	c.head = min(settleHead(c.whole, low, i), c.tail)
}

// takeTail selects the longest tail within b that starts at a natural break.
func (c *cutter) takeTail(b budget) {
	i := backward(c.whole, b.chars)
	if b.lines < unlimited {
		if j := lastLines(c.whole[i:], b.lines); j > 0 {
			c.tail = max(i+j, c.head)
			return
		}
	}
	c.charBound = c.charBound || b.chars > 0 && i > 0
	high := i + forward(c.whole[i:], b.chars/10)
	c.tail = max(settleTail(c.whole, i, high), c.head)
}

func lastChars(s string, n int) string { return s[backward(s, n):] }

// marker returns the characters reserved for the marker of a further gap: its
// longest text, two line numbers and two newlines.
func (c *cutter) marker() int { return 13 + 2*digits(c.lines) }

// grow extends the tail (or the head) by the unused rest of b. An end that grows
// over highlighted lines frees their room, and grow then repeats.
func (c *cutter) grow(toHead bool, b budget) {
	for range 16 {
		before := len(c.kept)
		free := b.less(c.cost())
		if toHead {
			c.takeHead(free)
		} else {
			c.takeTail(free.less(Count(c.whole[:c.head])))
		}
		c.trim()
		if len(c.kept) == before {
			return
		}
	}
}

// cost returns the size of the highlighted lines and their markers.
func (c *cutter) cost() (chars, lines int) {
	for _, k := range c.kept {
		n, l := Count(c.whole[k.start:k.end])
		chars += n + c.marker()
		lines += l + 1
	}
	return chars, lines
}

// trim removes from the highlighted lines what head and tail now show.
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

// view joins the selected parts and describes the gaps between them.
func (c *cutter) view() (string, []tool.Gap) {
	if c.json != "" {
		return c.json, []tool.Gap{c.jsonGap()}
	}
	size := c.head + len(c.whole) - c.tail
	for _, k := range c.kept {
		size += k.end - k.start
	}
	var text strings.Builder
	text.Grow(size)
	gaps := make([]tool.Gap, 0, len(c.kept)+1)
	text.WriteString(c.whole[:c.head])
	pos, above := c.head, strings.Count(c.whole[:c.head], "\n")
	for _, k := range c.kept {
		if k.start > pos {
			missing := c.whole[pos:k.start]
			g := newGap(above, strings.Count(missing, "\n"), missing[len(missing)-1] == '\n')
			g.At, g.Chars = text.Len(), runes(missing)
			gaps = append(gaps, g)
			above += strings.Count(missing, "\n")
		}
		shown := c.whole[k.start:k.end]
		text.WriteString(shown)
		pos, above = k.end, above+strings.Count(shown, "\n")
	}
	at := text.Len()
	text.WriteString(c.whole[c.tail:])
	if c.tail > pos {
		gaps = append(gaps, c.lastGap(text.String(), gaps, above))
		gaps[len(gaps)-1].At = at
	}
	return text.String(), gaps
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

// lastGap returns the gap before the tail. It subtracts from the totals, because
// a second count of the omitted text would cost time.
func (c *cutter) lastGap(text string, before []tool.Gap, above int) tool.Gap {
	tail := c.whole[c.tail:]
	newlines := c.lines - above - strings.Count(tail, "\n")
	if c.whole[len(c.whole)-1] != '\n' {
		newlines--
	}
	g := newGap(above, newlines, c.whole[c.tail-1] == '\n')
	g.Chars = c.chars - runes(text)
	for _, b := range before {
		g.Chars -= b.Chars
	}
	return g
}
