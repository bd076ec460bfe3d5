package limit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/weirhost/weir/sdk/tool"
)

// CheckHighlights reports the first expression that is not valid RE2. Apply ignores
// such an expression.
func CheckHighlights(exprs []string) error {
	for _, e := range exprs {
		if _, err := regexp.Compile(e); err != nil {
			return fmt.Errorf("keep %q is not a regular expression: %w", e, err)
		}
	}
	return nil
}

// Highlights are the compiled expressions of Limits.Keep, for use in many cuts.
// Highlights is safe for concurrent use. Nil highlights select no lines.
type Highlights struct {
	exprs []expr
	idle  atomic.Pointer[search] // nil while a cut uses it
}

// An expr is one expression and the literals of which each match contains one.
type expr struct {
	re       *regexp.Regexp
	literals []literal
}

// CompileHighlights compiles expressions. It ignores an invalid one, as Apply
// does; CheckHighlights reports it. It returns nil if no expression is left.
func CompileHighlights(exprs []string) *Highlights {
	h := new(Highlights)
	for _, e := range exprs {
		re, err := regexp.Compile(e)
		if err != nil || e == "" {
			continue
		}
		h.exprs = append(h.exprs, expr{re, requiredLiterals(e)})
	}
	if h.exprs == nil {
		return nil
	}
	return h
}

// Apply is the function Apply with h in place of l.Keep.
func (h *Highlights) Apply(whole string, l tool.Limits, by By) tool.View {
	l.Keep = nil
	return apply(whole, l, by, reserve{notice: tool.NoticeChars}, h)
}

// Fit is the function Fit with h in place of l.Keep.
func (h *Highlights) Fit(r tool.Result, l tool.Limits, by By) tool.View {
	l.Keep = nil
	if r.Load != nil {
		l.Strategy, h = tool.HeadOnly, nil
	}
	return apply(r.Whole(), l, by, reserveFor(r), h)
}

// search is the state of one cut. Highlights reuses it, to save allocations.
type search struct {
	finders []finder
	kept    []span
}

// begin returns the state for one cut, or nil without highlights. The caller
// returns it with end.
func (h *Highlights) begin() *search {
	if h == nil {
		return nil
	}
	s := h.idle.Swap(nil)
	if s == nil {
		s = &search{finders: make([]finder, len(h.exprs))}
		for i, e := range h.exprs {
			s.finders[i] = finder{re: e.re, literals: slices.Clone(e.literals)}
		}
	}
	for i := range s.finders {
		f := &s.finders[i]
		f.searched = false
		for j := range f.literals {
			f.literals[j].forget()
		}
	}
	return s
}

func (h *Highlights) end(s *search) {
	if s != nil {
		h.idle.Store(s)
	}
}

// A finder finds the lines of one text that match one expression, in order. It
// remembers the next one, and so searches each line once.
type finder struct {
	re       *regexp.Regexp
	literals []literal
	found    span // the next matching line, valid if searched
	searched bool
}

// next finds the first matching line of text at or after pos, which is the start
// of a line. found then excludes the newline. It reports false if no line matches.
func (f *finder) next(text string, pos int) bool {
	if f.searched && f.found.start >= pos {
		return f.found.start < len(text)
	}
	f.searched = true
	for pos < len(text) {
		hit := f.candidate(text, pos)
		if hit < 0 {
			break
		}
		start := pos + strings.LastIndexByte(text[pos:hit], '\n') + 1
		end := len(text)
		if i := strings.IndexByte(text[hit:], '\n'); i >= 0 {
			end = hit + i
		}
		if f.re.MatchString(text[start:end]) {
			f.found = span{start, end}
			return true
		}
		pos = end + 1
	}
	f.found = span{len(text), len(text)}
	return false
}

// candidate returns a byte offset, at or after pos, in the first line that can
// match, or -1 if no line can.
func (f *finder) candidate(text string, pos int) int {
	if f.literals == nil {
		return pos
	}
	first := -1
	for i := range f.literals {
		if n := f.literals[i].next(text, pos); n >= 0 && (first < 0 || n < first) {
			first = n
		}
	}
	return first
}

// findHighlights returns the matching lines between head and tail, in order, as
// many as fit b with one marker for each run of lines.
func (c *cutter) findHighlights(g *search, b budget) []span {
	text, pos := c.middle()
	kept := g.kept[:0]
	mark := c.marker()
	for b.chars > 2*mark && b.lines > 1 && pos < len(text) {
		f := nearest(g.finders, text, pos)
		if f == nil {
			break
		}
		line := span{f.found.start, min(f.found.end+1, len(text))}
		pos = line.end
		if runes(text[line.start:line.end]) <= b.chars-mark {
			kept, b = c.addLine(kept, line, b)
		} else if end := f.beginning(text, b.chars-mark); end > 0 {
			kept = append(kept, span{line.start, end})
			break
		}
	}
	g.kept = kept
	return kept
}

// beginning returns where to cut the found line to chars characters, or 0 if
// the match would not fit.
func (f *finder) beginning(text string, chars int) int {
	line := text[f.found.start:f.found.end]
	end, _ := clusterAt(line, forward(line, chars))
	if m := f.re.FindStringIndex(line); m == nil || m[1] > end {
		return 0
	}
	return f.found.start + end
}

// middle returns whole up to the last complete line before the tail, and the
// offset of the first complete line after the head.
func (c *cutter) middle() (text string, pos int) {
	end := c.tail
	if end < len(c.whole) {
		end = strings.LastIndexByte(c.whole[:end], '\n') + 1
	}
	text, pos = c.whole[:max(end, c.head)], c.head
	if pos > 0 && c.whole[pos-1] != '\n' {
		i := strings.IndexByte(text[pos:], '\n')
		if i < 0 {
			return text, len(text)
		}
		pos += i + 1
	}
	return text, pos
}

// nearest returns the finder whose next match after pos comes first, or nil if
// no line matches.
func nearest(finders []finder, text string, pos int) *finder {
	var best *finder
	for i := range finders {
		f := &finders[i]
		if f.next(text, pos) && (best == nil || f.found.start < best.found.start) {
			best = f
		}
	}
	return best
}

// addLine adds a line that fits b. It joins the line to the one before if the
// text between them is no longer than a marker.
func (c *cutter) addLine(kept []span, line span, b budget) ([]span, budget) {
	last := len(kept) - 1
	if last >= 0 {
		between := c.whole[kept[last].end:line.start]
		if strings.Count(between, "\n") <= 1 && len(between) <= c.marker() {
			kept[last].end = line.end
			return kept, b.less(Count(c.whole[line.start-len(between) : line.end]))
		}
	}
	chars, lines := Count(c.whole[line.start:line.end])
	return append(kept, line), b.less(chars+c.marker(), lines+1)
}
