package limit

import (
	"math"

	"github.com/weirhost/weir/sdk/tool"
)

// By names the layer that set each limit. The notice shows it.
type By struct{ Chars, Lines tool.Layer }

// Apply cuts whole, once, under l. It needs whole to be the complete normalised
// text. MaxChars and MaxLines count what Render makes of the view, notice and
// markers included, in either language; zero or negative: no such limit.
// A text within both limits is shown unchanged, with no gaps.
//
// Apply reserves no room for a tool's claim, an error or the selectors of a
// load: Fit does. Both compile l.Keep on every call. For many cuts, compile it
// once with CompileHighlights.
func Apply(whole string, l tool.Limits, by By) tool.View {
	return CompileHighlights(l.Keep).Apply(whole, l, by)
}

// Fit is Apply on the whole of r that also reserves for everything else Render
// adds to r: its error, the tool's claim of more, the selectors of a load. A
// load is shown head_only, whatever l says, so that pages follow each other.
//
// The cut falls between two entries of r, and the view counts them. An entry that is
// larger than the budget alone is cut in its middle, as a text without entries is. At
// most r.Entries.Show entries are shown, the first ones.
func Fit(r tool.Result, l tool.Limits, by By) tool.View {
	return CompileHighlights(l.Keep).Fit(r, l, by)
}

// Summary is the view that shows text, written by a model, in place of whole.
// It cuts text as head_only under l, with room for a notice that says so.
func Summary(text, whole string, l tool.Limits, by By) tool.View {
	c := cutter{whole: text, tail: len(text)}
	room := noticeRoom(most(l).chars, reserve{notice: tool.NoticeChars})
	c.run(shares{toHead: true}, most(l).less(room, 1))
	v := tool.View{Text: text[:c.head], By: by.Chars, Limit: l.MaxChars, Unit: tool.Chars, Summarized: true}
	v.TotalChars, v.TotalLines = Count(whole)
	v.Room = stated(room)
	return v
}

// reserve is the size of what Render adds to a cut text: the characters of the
// notice, and the characters and lines that it adds even to an uncut text.
type reserve struct{ notice, chars, lines int }

// budget is an amount of text that may be shown.
type budget struct{ chars, lines int }

const unlimited = math.MaxInt / 4

// less returns what is left of b after text of the given size.
func (b budget) less(chars, lines int) budget {
	return budget{minus(b.chars, chars), minus(b.lines, lines)}
}

// within returns what is in both budgets.
func (b budget) within(o budget) budget {
	return budget{min(b.chars, o.chars), min(b.lines, o.lines)}
}

func minus(n, used int) int {
	if n >= unlimited {
		return n
	}
	return max(n-used, 0)
}

// plus returns the sum of both budgets.
func (b budget) plus(o budget) budget {
	return budget{min(b.chars+o.chars, unlimited), min(b.lines+o.lines, unlimited)}
}

// share returns the fraction f of b; no limit stays no limit.
func (b budget) share(f float64) budget {
	return budget{part(b.chars, f), part(b.lines, f)}
}

func part(n int, f float64) int {
	switch {
	case f <= 0:
		return 0
	case f >= 1 || n >= unlimited:
		return n
	}
	return int(math.Round(float64(n) * f))
}

// apply cuts whole, which has entries e, under l, and first shows lines of h.
func apply(whole string, e *tool.Entries, l tool.Limits, by By, res reserve, h *Highlights) tool.View {
	v := tool.View{Text: whole}
	v.TotalChars, v.TotalLines = Count(whole)
	var entries listing
	if l.Strategy != tool.JSON {
		entries = listed(whole, e)
	}
	v.TotalEntries, v.ShownEntries = len(entries.starts), len(entries.starts)
	most := most(l)
	fits := v.TotalChars+res.chars <= most.chars && v.TotalLines+res.lines <= most.lines
	if fits && entries.end == 0 {
		return v
	}
	if entries.end > 0 { // the first ones are to be shown, whatever is of interest after them
		l.Strategy, h = tool.HeadOnly, nil
	}
	room := noticeRoom(most.chars, res)
	c := cutter{whole: whole, chars: v.TotalChars, lines: v.TotalLines, tail: len(whole), highlights: h, listing: entries}
	g := h.begin(l.Strategy)
	if l.Strategy != tool.JSON || !c.runJSON(most.less(room, res.lines+1)) {
		room = c.cut(&v, g, l, most.less(0, res.lines+1), room)
	}
	v.Room = stated(room)
	c.view(&v)
	h.end(g)
	v.By, v.Limit, v.Unit = by.Chars, l.MaxChars, tool.Chars
	if entries.end > 0 && (fits || c.head == entries.end) {
		v.By, v.Limit, v.Unit = tool.LayerTool, entries.show, tool.EntryUnit
	} else if v.TotalChars+res.chars <= most.chars || v.TotalLines+res.lines > most.lines && !c.charBound {
		v.By, v.Limit, v.Unit = by.Lines, l.MaxLines, tool.Lines
	}
	return v
}

// cut selects what is shown within b less room, which it returns. It raises room
// for a notice that says how many lines to keep are left out.
func (c *cutter) cut(v *tool.View, g *search, l tool.Limits, b budget, room int) int {
	s := shape(l)
	if g != nil {
		c.highlights.find(g, c.whole)
		if c.keepLines(g, s, l, b.less(room, 0)) {
			n, by := c.leftOut()
			if n == 0 {
				return room
			}
			v.Grep = c.highlights.grep(by)
			more := longerRemedy(v.Grep)
			if b.chars >= unlimited || room+more > b.chars/5 {
				more, v.Grep = 0, ""
			} else {
				c.keepLines(g, s, l, b.less(room+more, 0))
			}
			v.LeftOut, _ = c.leftOut()
			return room + more
		}
		return room
	}
	c.run(s, b.less(room, 0))
	return room
}

// most returns the largest amount of text that l allows.
func most(l tool.Limits) budget {
	b := budget{unlimited, unlimited}
	if l.MaxChars > 0 {
		b.chars = l.MaxChars
	}
	if l.MaxLines > 0 {
		b.lines = l.MaxLines
	}
	return b
}

// stated returns room as a View stores it: 0 means tool.NoticeChars.
func stated(room int) int {
	if room == tool.NoticeChars {
		return 0
	}
	return room
}

// noticeRoom returns the characters reserved for the notice and the lines around
// it. A limit under tool.MinMaxChars, which no manifest may declare, reserves
// half; the renderer then writes a shorter notice.
func noticeRoom(maxChars int, res reserve) int {
	want := res.notice + res.chars
	if maxChars >= tool.MinMaxChars {
		return min(want, maxChars)
	}
	return min(want, (maxChars+1)/2)
}

// shares divides a budget between the two ends of a text.
type shares struct {
	head, tail float64
	toHead     bool // the head gets the unused rest
}

func shape(l tool.Limits) shares {
	s := shares{head: clamp(l.Head), tail: clamp(l.Tail)}
	if s.head == 0 && s.tail == 0 {
		s.head, s.tail = tool.DefaultShare, tool.DefaultShare
	}
	if sum := s.head + s.tail; sum > 1 {
		s.head, s.tail = s.head/sum, s.tail/sum
	}
	switch l.Strategy {
	case tool.HeadOnly:
		s = shares{head: s.head + s.tail, toHead: true}
	case tool.TailOnly:
		s = shares{tail: s.head + s.tail}
	}
	return s
}

// clamp limits a share to the range 0 to 1. NaN becomes 0.
func clamp(f float64) float64 {
	if !(f > 0) {
		return 0
	}
	return min(f, 1)
}
