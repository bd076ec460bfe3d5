package limit

import (
	"slices"

	"github.com/weirhost/weir/sdk/tool"
)

// A listing is where the entries of a text begin. The zero listing has none.
type listing struct {
	starts []int // byte offsets, ascending
	// show is how many entries are shown at most, and end where the next one begins; 0:
	// all of them.
	show, end int
}

// listed returns the entries of whole. They come from a tool: it drops those that begin
// after the text, and all if one does not begin after the one before it.
func listed(whole string, e *tool.Entries) listing {
	if e == nil || len(e.Lines) == 0 || len(e.Lines) > tool.MaxEntries {
		return listing{}
	}
	l := listing{starts: make([]int, 0, len(e.Lines))}
	at, line := 0, 1
	for i, n := range e.Lines {
		if n < line || i > 0 && n == line {
			return listing{}
		}
		for ; line < n && at < len(whole); line++ {
			at = firstLines(whole[at:], 1) + at
		}
		if at == len(whole) {
			break
		}
		l.starts = append(l.starts, at)
	}
	if e.Show > 0 && e.Show < len(l.starts) {
		l.show, l.end = e.Show, l.starts[e.Show]
	}
	return l
}

// before returns where a head of at most end bytes ends between two entries. It reports
// false if no entry is whole there, or if the next one is larger than b alone: no cut
// under b can show it whole, so a part of it is better than none.
func (l listing) before(whole string, end int, b budget) (at int, ok bool) {
	i, found := slices.BinarySearch(l.starts, end)
	if !found {
		i-- // the entry that end is in
	}
	if i < 1 || l.larger(whole, i, b) {
		return end, false
	}
	return l.starts[i], true
}

// after returns where a tail that starts at byte start or later begins with an entry. It
// reports false where before does.
func (l listing) after(whole string, start int, b budget) (at int, ok bool) {
	i, _ := slices.BinarySearch(l.starts, start)
	if i < 1 || i == len(l.starts) || l.starts[i] > start && l.larger(whole, i-1, b) {
		return start, false
	}
	return l.starts[i], true
}

// larger reports whether entry i is larger than b.
func (l listing) larger(whole string, i int, b budget) bool {
	text := whole[l.starts[i]:l.stop(whole, i)]
	if b.chars < unlimited && len(text) > 4*b.chars { // a character has at most four bytes
		return true
	}
	chars, lines := Count(text)
	return chars > b.chars || lines > b.lines
}

// stop returns where entry i ends.
func (l listing) stop(whole string, i int) int {
	if i+1 < len(l.starts) {
		return l.starts[i+1]
	}
	return len(whole)
}

// within counts the entries of which the spans, in order, show everything.
func (l listing) within(whole string, spans []span) (n int) {
	for i, start := range l.starts {
		for len(spans) > 0 && spans[0].end <= start {
			spans = spans[1:]
		}
		if len(spans) == 0 {
			return n
		}
		if spans[0].start <= start && l.stop(whole, i) <= spans[0].end {
			n++
		}
	}
	return n
}

// shown returns the parts of the whole that are shown, in order; parts that touch are
// one.
func (c *cutter) shown() []span {
	out := []span{{0, c.head}}
	for _, k := range append(slices.Clone(c.kept), span{c.tail, len(c.whole)}) {
		if last := &out[len(out)-1]; k.start <= last.end {
			last.end = max(last.end, k.end)
			continue
		}
		out = append(out, k)
	}
	return out
}
