package limit

import (
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A span is a run of bytes of the whole.
type span struct{ start, end int }

// A cutter chooses what is shown of one text: a head, a tail and kept lines
// between them.
type cutter struct {
	whole        string
	chars, lines int    // of the whole
	head         int    // the end of what is shown from the start, in bytes
	tail         int    // the start of what is shown up to the end, in bytes
	kept         []span // in order, between head and tail
	json         string // shown instead of everything else, if not empty
	// charBound: an end was stopped by characters, not by lines.
	charBound bool
}

// run chooses within b. What one part leaves unused goes to the next, and in
// the end to the tail (or the head, if there is no tail).
func (c *cutter) run(s shares, b budget, g *keeping) {
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
	c.kept = c.findKept(g, b.less(c.ends()))
	c.grow(s.toHead, b)
}

// ends counts what head and tail show.
func (c *cutter) ends() (chars, lines int) {
	hc, hl := Count(c.whole[:c.head])
	tc, tl := Count(c.whole[c.tail:])
	return hc + tc, hl + tl
}

// takeHead shows the longest good head within b.
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

// takeTail shows the longest good tail within b.
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

// marker is what is reserved for the marker of a further gap, in characters:
// the longest words of a marker, two line numbers and two newlines.
func (c *cutter) marker() int { return 13 + 2*digits(c.lines) }

// grow gives what head and kept lines leave of b to the tail (or what kept
// lines leave to the head). An end that grows over kept lines frees their cost
// again, so it is repeated while that happens.
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

// cost counts the kept lines and a marker for each run of them.
func (c *cutter) cost() (chars, lines int) {
	for _, k := range c.kept {
		n, l := Count(c.whole[k.start:k.end])
		chars += n + c.marker()
		lines += l + 1
	}
	return chars, lines
}

// trim takes out of the kept lines what head and tail now show.
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

// view joins what is shown and says what lies between.
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

// newGap names the lines of a gap that has above newlines in front of it and
// holds some itself, one of them at its very end if ended.
func newGap(above, newlines int, ended bool) tool.Gap {
	g := tool.Gap{First: above + 1, Last: above + newlines}
	if !ended {
		g.Last++
	}
	g.Lines = g.Last - g.First + 1
	return g
}

// lastGap describes the gap in front of the tail by subtraction, so that the
// text it leaves out is not counted a second time.
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
