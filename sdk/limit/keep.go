package limit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/weirhost/weir/sdk/tool"
)

// CheckKeep reports the first expression that is not valid RE2. Apply ignores
// such an expression.
func CheckKeep(exprs []string) error {
	for _, e := range exprs {
		if _, err := regexp.Compile(e); err != nil {
			return fmt.Errorf("keep %q is not a regular expression: %w", e, err)
		}
	}
	return nil
}

// A Keep is what Limits.Keep says, its expressions read once for many cuts. Its
// methods may be called concurrently. A nil Keep keeps no lines.
type Keep struct {
	exprs []expr
	idle  atomic.Pointer[keeping] // between two cuts; nil: in use
}

// An expr is one expression with the literals its matches must contain.
type expr struct {
	re      *regexp.Regexp
	needles []needle
}

// CompileKeep reads expressions. An invalid one is ignored, as Apply ignores
// it; CheckKeep reports it. Nil where none is left.
func CompileKeep(exprs []string) *Keep {
	k := new(Keep)
	for _, e := range exprs {
		re, err := regexp.Compile(e)
		if err != nil || e == "" {
			continue
		}
		k.exprs = append(k.exprs, expr{re, needlesOf(e)})
	}
	if k.exprs == nil {
		return nil
	}
	return k
}

// Apply is the function Apply with k in place of l.Keep.
func (k *Keep) Apply(whole string, l tool.Limits, by By) tool.View {
	l.Keep = nil
	return apply(whole, l, by, reserve{notice: tool.NoticeChars}, k)
}

// Fit is the function Fit with k in place of l.Keep.
func (k *Keep) Fit(r tool.Result, l tool.Limits, by By) tool.View {
	l.Keep = nil
	if r.Load != nil {
		l.Strategy, k = tool.HeadOnly, nil
	}
	return apply(r.Whole(), l, by, reserveFor(r), k)
}

// keeping is what one cut needs to remember.
type keeping struct {
	finders []finder
	kept    []span
}

// begin returns what a cut starts with; nil: nothing is kept. It goes back by end.
func (k *Keep) begin() *keeping {
	if k == nil {
		return nil
	}
	g := k.idle.Swap(nil)
	if g == nil {
		g = &keeping{finders: make([]finder, len(k.exprs))}
		for i, e := range k.exprs {
			g.finders[i] = finder{re: e.re, needles: slices.Clone(e.needles)}
		}
	}
	for i := range g.finders {
		f := &g.finders[i]
		f.looked = false
		for j := range f.needles {
			f.needles[j].forget()
		}
	}
	return g
}

func (k *Keep) end(g *keeping) {
	if g != nil {
		k.idle.Store(g)
	}
}

// A finder finds the lines of one text that match one expression, from the
// first on. It remembers the next one, so that it never looks at a line twice.
type finder struct {
	re      *regexp.Regexp
	needles []needle
	found   span // the next matching line, valid once looked
	looked  bool
}

// next returns the first matching line of text that starts at or behind pos,
// which is the start of a line, without its newline. It reports false when
// there is none.
func (f *finder) next(text string, pos int) bool {
	if f.looked && f.found.start >= pos {
		return f.found.start < len(text)
	}
	f.looked = true
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

// candidate returns a byte offset, at or behind pos, in the first line that can
// match; -1: none can.
func (f *finder) candidate(text string, pos int) int {
	if f.needles == nil {
		return pos
	}
	first := -1
	for i := range f.needles {
		if n := f.needles[i].next(text, pos); n >= 0 && (first < 0 || n < first) {
			first = n
		}
	}
	return first
}

// findKept chooses matching lines of the cut middle, in order, as long as they
// fit b with a marker for every run of them.
func (c *cutter) findKept(g *keeping, b budget) []span {
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
			kept, b = c.addKept(kept, line, b)
		} else if end := f.beginning(text, b.chars-mark); end > 0 {
			kept = append(kept, span{line.start, end})
			break
		}
	}
	g.kept = kept
	return kept
}

// beginning returns where to cut the found line, of which only chars
// characters fit; 0: that beginning would not hold the match.
func (f *finder) beginning(text string, chars int) int {
	line := text[f.found.start:f.found.end]
	end, _ := clusterAt(line, forward(line, chars))
	if m := f.re.FindStringIndex(line); m == nil || m[1] > end {
		return 0
	}
	return f.found.start + end
}

// middle returns whole up to the last whole line in front of the tail, and
// where in it the first whole line behind the head starts.
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

// nearest returns the finder with the first matching line from pos on; nil:
// there is none.
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

// addKept adds a line that fits b, joined to the line before it where nothing,
// or less than a marker takes, lies between.
func (c *cutter) addKept(kept []span, line span, b budget) ([]span, budget) {
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
