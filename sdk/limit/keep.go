package limit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/limit/internal/find"
	"github.com/weirhost/weir/sdk/limit/internal/kinds"
	"github.com/weirhost/weir/sdk/tool"
)

// Shares of the budget. Each end that is shown at all gets leastEnd. Lines that
// do not say that anything is wrong get at most mostHarmless.
const leastEnd, mostHarmless = 0.1, 0.3

// A candidate is a line to keep, with its context.
type candidate struct {
	span               // newline included
	line, lineEnd  int // the line without its context and newline
	by, times      int
	chars, lines   int // of the span, and of the count of identical lines
	weight         kinds.Weight
	shape          uint64
	selected, ends bool // ends: an end shows it
}

// keepLines selects lines to keep, and then head and tail from what they leave. If
// head and tail alone show all of them, it selects only these and reports false.
func (c *cutter) keepLines(g *search, s shares, l tool.Limits, b budget) bool {
	c.run(s, b)
	if !slices.ContainsFunc(g.found, func(f find.Line) bool { return f.End > c.head && f.Start < c.tail }) {
		return false
	}
	head, tail := leastEnd, leastEnd
	if s.toHead {
		tail = 0
	} else if s.head == 0 {
		head = 0
	}
	c.head, c.tail, c.kept, c.counts, c.units = 0, len(c.whole), nil, nil, nil
	c.takeHead(b.share(head))
	c.takeTail(b.share(tail).within(b.less(Count(c.whole[:c.head]))))
	c.collect(g, max(l.KeepContext, 0), b)
	c.terse = false
	all := c.choose(g, b)
	c.join(g)
	if !all || len(c.kept)*c.marker() > b.chars/20 {
		c.terse = true
		c.choose(g, b)
		c.join(g)
	}
	c.grow(s, b.share(leastEnd), b)
	return true
}

// collect makes units of the found lines that the ends do not show, each text once.
func (c *cutter) collect(g *search, context int, b budget) {
	h := c.highlights
	clear(g.same)
	g.units, g.order = g.units[:0], g.order[:0]
	longest := max(b.chars/4, 100)
	for _, f := range g.found {
		if f.End <= c.head || f.Start >= c.tail {
			g.same[c.whole[f.Start:f.End]] = -1
		}
	}
	for _, f := range g.found {
		if f.End <= c.head || f.Start >= c.tail {
			continue
		}
		text := c.whole[f.Start:f.End]
		if i, ok := g.same[text]; ok {
			if i >= 0 {
				g.units[i].times++
			}
			continue
		}
		g.same[text] = len(g.units)
		u := candidate{span: span{f.Start, min(f.End+1, len(c.whole))}, line: f.Start, lineEnd: f.End, by: f.By, times: 1, weight: h.weight(f.By)}
		if len(text) > longest && runes(text) > longest {
			end, _ := clusterAt(text, forward(text, longest))
			if f.By < len(h.exprs) && !h.set.Beginning(text, f.By, end) {
				u.weight = never
			}
			u.end, u.lineEnd = f.Start+end, f.Start+end
		} else if context > 0 {
			u.widen(c.whole, context)
		}
		u.start, u.end = max(u.start, c.head), min(u.end, c.tail)
		g.units = append(g.units, u)
	}
	for i := range g.units {
		u := &g.units[i]
		u.chars, u.lines = Count(c.whole[u.start:u.end])
		if u.times > 1 {
			n, lines := countSize(u.times)
			u.chars, u.lines = u.chars+n, u.lines+lines
		}
	}
}

// never is the weight of a line that cannot be shown.
const never = kinds.Weight(100)

// widen extends u by n lines to each side.
func (u *candidate) widen(text string, n int) {
	for range n {
		if u.start > 0 {
			u.start = strings.LastIndexByte(text[:u.start-1], '\n') + 1
		}
		if i := strings.IndexByte(text[u.end:], '\n'); i >= 0 {
			u.end += i + 1
		} else {
			u.end = len(text)
		}
	}
}

// choose selects units within what the least ends leave of b: all, or else of each
// expression the first and the last, then of each shape the first, then the rest;
// the shortest first. It reports whether all fit.
func (c *cutter) choose(g *search, b budget) bool {
	p := picker{c: c, g: g, left: b.less(c.ends())}
	p.harmless = p.left.within(b.share(mostHarmless))
	p.wrong = slices.ContainsFunc(g.units, func(u candidate) bool { return u.weight == kinds.Fault })
	for i := range g.units {
		g.units[i].selected = false
	}
	if p.all() {
		return true
	}
	if len(g.order) == 0 {
		c.sort(g)
	}
	clear(g.shapes)
	for w := kinds.Fault; w <= kinds.Fact; w++ {
		p.ends(w)
		p.shapes(w)
		p.rest(w)
	}
	return false
}

// sort orders the units by weight, the shortest first, and computes their shapes.
func (c *cutter) sort(g *search) {
	for i := range g.units {
		if u := &g.units[i]; u.weight != never {
			u.shape = shape0(c.whole[u.line:u.lineEnd])
			g.order = append(g.order, i)
		}
	}
	slices.SortStableFunc(g.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.units[a].weight, g.units[b].weight), cmp.Compare(g.units[a].chars, g.units[b].chars))
	})
}

// A picker selects units while they fit.
type picker struct {
	c              *cutter
	g              *search
	left, harmless budget
	wrong          bool // a unit says that something is wrong
}

// all selects every unit, or none and reports false if they do not fit.
func (p *picker) all() bool {
	left, harmless := p.left, p.harmless
	for i, u := range p.g.units {
		if u.weight != never && !p.pick(i) {
			for i := range p.g.units {
				p.g.units[i].selected = false
			}
			p.left, p.harmless = left, harmless
			return false
		}
	}
	return true
}

// ends selects the first and the last unit of each expression.
func (p *picker) ends(w kinds.Weight) {
	seen := p.g.seen[:0]
	for pass := range 2 {
		seen = seen[:0]
		for n := range p.g.units {
			i := n
			if pass == 1 {
				i = len(p.g.units) - 1 - n
			}
			if u := p.g.units[i]; u.weight == w && !slices.Contains(seen, u.by) {
				seen = append(seen, u.by)
				p.pick(i)
			}
		}
	}
	p.g.seen = seen
}

// shapes selects the first unit of each shape.
func (p *picker) shapes(w kinds.Weight) {
	for _, i := range p.g.order {
		u := &p.g.units[i]
		if u.weight != w {
			continue
		}
		if !p.g.shapes[u.shape] {
			p.g.shapes[u.shape] = true
			p.pick(i)
		}
	}
}

// rest selects what is left, and stops at the first that does not fit.
func (p *picker) rest(w kinds.Weight) {
	for _, i := range p.g.order {
		if p.g.units[i].weight == w && !p.pick(i) {
			return
		}
	}
}

// pick selects a unit if it fits, and reports whether it is selected.
func (p *picker) pick(i int) bool {
	u := &p.g.units[i]
	if u.selected {
		return true
	}
	chars, lines := p.price(i)
	if chars > p.left.chars || lines > p.left.lines {
		return false
	}
	if u.weight > kinds.Detail || u.weight > kinds.Fault && !p.wrong {
		if chars > p.harmless.chars || lines > p.harmless.lines {
			return false
		}
		p.harmless = p.harmless.less(chars, lines)
	}
	p.left = p.left.less(chars, lines)
	u.selected = true
	return true
}

// price returns what a unit adds: itself and, unless it joins a selected one, a
// marker.
func (p *picker) price(i int) (chars, lines int) {
	u := p.g.units
	chars, lines = u[i].chars+p.c.marker(), u[i].lines+1
	if i > 0 && u[i-1].selected {
		p.join(i-1, i, &chars, &lines)
	}
	if i+1 < len(u) && u[i+1].selected {
		p.join(i, i+1, &chars, &lines)
	}
	return chars, lines
}

// join changes the price of two neighbours for being shown as one run.
func (p *picker) join(i, j int, chars, lines *int) {
	a, b := p.g.units[i], p.g.units[j]
	if !p.c.joins(a.end, b.start) {
		return
	}
	*chars -= p.c.marker()
	*lines--
	if a.end < b.start {
		n, l := Count(p.c.whole[a.end:b.start])
		*chars, *lines = *chars+n, *lines+l
	}
}

// joins reports whether the text from end to start is shown rather than a marker.
func (c *cutter) joins(end, start int) bool {
	return start <= end || start-end <= c.marker() && strings.Count(c.whole[end:start], "\n") <= 1
}

// join makes runs of the selected units.
func (c *cutter) join(g *search) {
	kept, counts := g.kept[:0], g.counted[:0]
	for i := range g.units {
		u := &g.units[i]
		if !u.selected {
			continue
		}
		if n := len(kept) - 1; n >= 0 && c.joins(kept[n].end, u.start) {
			kept[n].end = max(kept[n].end, u.end)
		} else {
			kept = append(kept, u.span)
		}
		if u.times > 1 {
			counts = append(counts, i)
		}
	}
	g.kept, g.counted = kept, counts
	c.kept, c.units, c.counts = kept, g.units, counts
}

// grow gives head and tail what the kept lines leave of b: least to each end that
// is shown, and of the rest its share to the head. An end that grows over kept lines
// frees their room, and grow then repeats. It stops before an end gets shorter: kept
// lines that the end covered would be lost.
func (c *cutter) grow(s shares, least, b budget) {
	for i := range 16 {
		before, head, tail := len(c.kept), c.head, c.tail
		free := b.less(c.cost())
		c.tail = len(c.whole)
		switch {
		case s.toHead:
			c.takeHead(free)
		case s.head > 0:
			c.takeHead(least.plus(free.less(2*least.chars, 2*least.lines).share(s.head)).within(free))
		}
		if !s.toHead {
			c.takeTail(free.less(Count(c.whole[:c.head])))
		}
		if i > 0 && (c.head < head || c.tail > tail) {
			c.head, c.tail = head, tail
			return
		}
		c.trim()
		if len(c.kept) == before {
			return
		}
	}
}

// cost returns the size of the kept lines, their markers and counts.
func (c *cutter) cost() (chars, lines int) {
	for _, k := range c.kept {
		n, l := Count(c.whole[k.start:k.end])
		chars += n + c.marker()
		lines += l + 1
	}
	for _, i := range c.counts {
		if u := c.units[i]; u.line >= c.head && u.lineEnd <= c.tail {
			n, l := countSize(u.times)
			chars, lines = chars+n, lines+l
		}
	}
	return chars, lines
}

// leftOut returns how many lines to keep are not shown, and the expressions that
// find them.
func (c *cutter) leftOut() (n int, by []int) {
	for _, u := range c.units {
		if u.selected || u.lineEnd <= c.head || u.line >= c.tail {
			continue
		}
		n += u.times
		if !slices.Contains(by, u.by) {
			by = append(by, u.by)
		}
	}
	slices.Sort(by)
	return n, by
}

// shape0 hashes a line with every number as one digit.
func shape0(line string) uint64 {
	h := uint64(14695981039346656037)
	digit := false
	for i := range len(line) {
		b := line[i]
		if '0' <= b && b <= '9' {
			if digit {
				continue
			}
			digit, b = true, '0'
		} else {
			digit = false
		}
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
