package find

import (
	"regexp"
	"slices"
	"strings"
)

// A Line is a line that matches: its bytes without the newline, and the index of
// the expression that found it.
type Line struct{ Start, End, By int }

// A Set is a list of compiled expressions. It is safe for concurrent use.
type Set struct{ exprs []expr }

// An expr is one expression and the literals of which each match contains one.
type expr struct {
	re       *regexp.Regexp
	literals []literal
	by       int
}

// NewSet compiles expressions. It ignores an empty one and one that is not valid,
// and returns nil if none is left.
func NewSet(exprs []string) *Set {
	var s Set
	for i, e := range exprs {
		re, err := regexp.Compile(e)
		if err != nil || e == "" {
			continue
		}
		s.exprs = append(s.exprs, expr{re, requiredLiterals(e), i})
	}
	if s.exprs == nil {
		return nil
	}
	return &s
}

// A Search is the state of one search, for use again in another text.
type Search struct{ finders []finder }

// Begin returns the state of a search for the expressions of s.
func (s *Set) Begin() *Search {
	out := &Search{make([]finder, len(s.exprs))}
	for i, e := range s.exprs {
		out.finders[i] = finder{re: e.re, literals: slices.Clone(e.literals), by: e.by}
	}
	return out
}

// How many lines a search returns at most, and how much of the end of a text it
// searches for the second half of them.
const (
	most = 20_000
	end  = 1 << 20
)

// Lines appends the lines of text that match, in order, to out. A line that
// several expressions match belongs to the first of them. Of more than 20,000,
// it finds the first 10,000 and those in the last MiB.
func (s *Search) Lines(text string, out []Line) []Line {
	for i := range s.finders {
		s.finders[i].forget()
	}
	for pos, first := 0, len(out); pos < len(text); {
		f := nearest(s.finders, text, pos)
		if f == nil || len(out)-first == most {
			break
		}
		out = append(out, Line{f.found.start, f.found.end, f.by})
		pos = f.found.end + 1
		if len(out)-first == most/2 {
			pos = lateStart(text, pos)
		}
	}
	return out
}

// lateStart returns the first start of a line at or after pos in the last MiB.
func lateStart(text string, pos int) int {
	if len(text)-pos <= end {
		return pos
	}
	pos = len(text) - end
	if i := strings.IndexByte(text[pos-1:], '\n'); i >= 0 {
		return pos + i
	}
	return len(text)
}

// Beginning returns the end of the expression's match in a line cut to its first
// n bytes, or false if the match is not within them.
func (s *Set) Beginning(line string, by, n int) bool {
	for _, e := range s.exprs {
		if e.by == by {
			m := e.re.FindStringIndex(line)
			return m != nil && m[1] <= n
		}
	}
	return false
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

// A finder finds the lines of one text that match one expression, in order. It
// remembers the next one, and so searches each line once.
type finder struct {
	re       *regexp.Regexp
	literals []literal
	by       int
	found    struct{ start, end int } // the next matching line, valid if searched
	searched bool
}

// forget resets f for another text.
func (f *finder) forget() {
	f.searched = false
	for i := range f.literals {
		f.literals[i].forget()
	}
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
			f.found.start, f.found.end = start, end
			return true
		}
		pos = end + 1
	}
	f.found.start, f.found.end = len(text), len(text)
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
