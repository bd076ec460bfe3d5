// Package kinds finds what a person would look for in a text: the failures of a
// test log, the errors of a compiler, the status of a response. Its table has a
// row for each pattern; the rest of the package applies the table in one pass.
package kinds

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/limit/internal/find"
)

// A Weight says how much a line says of what is wrong.
type Weight int8

// Faults come first. Details say where a fault is. Warnings and facts are also in
// texts in which nothing is wrong.
const (
	Fault Weight = iota
	Detail
	Warning
	Fact
)

// String returns the name of w, for a person.
func (w Weight) String() string { return [...]string{"fault", "detail", "warning", "fact"}[w] }

// A kind is a kind of text with its patterns.
type kind struct {
	name  string
	signs []string
	rows  []row
}

// A row is one pattern of a kind: its name, weight and expression.
type row struct {
	name   string
	weight Weight
	expr   string
}

// A Pattern is a row of the table with its full name, as in "pytest: assertion".
type Pattern struct {
	Name   string
	Weight Weight
	Expr   string
	re     func() *regexp.Regexp
	kind   int
}

// All returns the patterns of the table in their order.
func All() []Pattern { return compiled().patterns }

// rules is the table, compiled.
type rules struct {
	patterns []Pattern
	order    []int        // of the patterns, by weight
	signed   uint64       // kinds that need a sign
	scan     find.Scanner // its owners are patterns, and kinds with a sign as -1-kind
}

// before is what may come before a sign on its line.
const before = "=-0123456789 "

var compiled = sync.OnceValue(func() *rules {
	var r rules
	for k, kind := range table {
		for _, s := range kind.signs {
			r.signed |= 1 << k
			r.scan.AddFirst(s, -1-k)
		}
		for _, row := range kind.rows {
			expr := row.expr
			r.scan.Add(expr, len(r.patterns))
			r.order = append(r.order, len(r.patterns))
			re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
			r.patterns = append(r.patterns, Pattern{kind.name + ": " + row.name, row.weight, expr, re, k})
		}
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return int(r.patterns[a].Weight - r.patterns[b].Weight) })
	r.scan.Ready()
	return &r
})

// How much of a text is searched, the longest line, and how many lines: what a
// person looks for is short, and rare.
const (
	mostBytes = 8<<20 + 4<<10 // of a text that is searched whole: what a host keeps of one, and its sentence about the rest
	reach     = 1 << 20       // at each end of a longer one
	longest   = 2000
	mostLines = 8000
	late      = 1 << 20 // of the end, for the second half of them
)

// A Search is the state of one search, for use again.
type Search struct {
	text         string
	present      uint64 // kinds with a sign in the text
	first, other lines
	verdicts     map[asked]int
}

// asked is a line and the patterns that may match it. Long logs repeat their lines.
type asked struct {
	line  string
	among mask
}

// lines collects the lines that patterns may match, in order.
type lines struct {
	last   line // the line in hand
	all    []line
	enough bool // half of mostLines
}

// A line is a line of the text with the patterns of which it has a literal.
type line struct {
	start, end int
	maybe      mask
}

// A mask is a set of patterns.
type mask [3]uint64

func (m *mask) set(p int)      { m[p/64] |= 1 << (p % 64) }
func (m *mask) has(p int) bool { return m[p/64]>>(p%64)&1 == 1 }
func (m mask) or(o mask) mask  { return mask{m[0] | o[0], m[1] | o[1], m[2] | o[2]} }
func (m mask) and(o mask) mask { return mask{m[0] & o[0], m[1] & o[1], m[2] & o[2]} }

// Lines appends the lines of text that a pattern of its kind matches, in order, to
// out. By is the index of the pattern in All. Of a text over 8 MiB, it searches a
// MiB at each end; after 4,000 lines that may match, only the last MiB.
func (s *Search) Lines(text string, out []find.Line) []find.Line {
	r := compiled()
	s.text, s.present = text, 0
	s.first, s.other = lines{all: s.first.all[:0]}, lines{all: s.other.all[:0]}
	cut := len(text)
	if cut > mostBytes {
		cut = reach
	}
	s.part(r, 0, cut)
	if cut < len(text) {
		s.part(r, len(text)-reach, len(text))
	}
	out = s.settle(r, out)
	s.text = ""
	return out
}

// part searches text[from:to].
func (s *Search) part(r *rules, from, to int) {
	r.scan.First(s.text[from:to], before, func(start, owner int) {
		if owner < 0 {
			s.present |= 1 << (-1 - owner)
		} else {
			s.first.add(s.text, from+start, owner)
		}
	})
	r.scan.Others(s.text[from:to], func(at, owner int) int { return s.other.add(s.text, from+at, owner) - from })
	s.first.take()
	s.other.take()
}

// take keeps the line in hand if a pattern may match it.
func (l *lines) take() {
	if l.last.maybe != (mask{}) && len(l.all) < mostLines {
		l.all = append(l.all, l.last)
	}
	l.last.maybe = mask{}
}

// add notes a literal of a pattern at offset at. It returns where the search goes on.
func (l *lines) add(text string, at, pattern int) int {
	if at >= l.last.end {
		l.take()
		l.last = lineAt(text, l.last.end, at)
	}
	if l.last.end-l.last.start > longest {
		return l.last.end
	}
	l.last.maybe.set(pattern)
	if len(l.all) >= mostLines/2 && !l.enough {
		l.enough = true
		return len(text) - late
	}
	return 0
}

// lineAt returns the line around offset at, which is not before from, an earlier
// line's end or 0.
func lineAt(text string, from, at int) line {
	l := line{start: from + strings.LastIndexByte(text[from:at], '\n') + 1, end: len(text)}
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		l.end = at + i
	}
	return l
}

// settle appends the lines that patterns of the text's kinds match. A line belongs
// to the pattern that says most, and of those to the first in the table.
func (s *Search) settle(r *rules, out []find.Line) []find.Line {
	if len(s.first.all) == 0 && len(s.other.all) == 0 {
		return out
	}
	kinds := s.present
	if !document(s.text) {
		kinds |= ^r.signed
	}
	var apply mask
	for p, pattern := range r.patterns {
		if kinds>>pattern.kind&1 == 1 {
			apply.set(p)
		}
	}
	if s.verdicts == nil {
		s.verdicts = map[asked]int{}
	}
	defer clear(s.verdicts)
	for l := range s.merged() {
		a := asked{s.text[l.start:l.end], l.maybe.and(apply)}
		by, known := s.verdicts[a]
		if !known {
			by = r.match(a.line, a.among)
			s.verdicts[a] = by
		}
		if by >= 0 {
			out = append(out, find.Line{Start: l.start, End: l.end, By: by})
		}
	}
	return out
}

// merged yields the lines in order.
func (s *Search) merged() iter.Seq[line] {
	return func(yield func(line) bool) {
		a, b := s.first.all, s.other.all
		for len(a) > 0 || len(b) > 0 {
			var l line
			switch {
			case len(b) == 0 || len(a) > 0 && a[0].start < b[0].start:
				l, a = a[0], a[1:]
			case len(a) == 0 || b[0].start < a[0].start:
				l, b = b[0], b[1:]
			default:
				l = a[0]
				l.maybe = a[0].maybe.or(b[0].maybe)
				a, b = a[1:], b[1:]
			}
			if !yield(l) {
				return
			}
		}
	}
}

// match returns the first pattern of among, by weight, that matches line, or -1.
func (r *rules) match(line string, among mask) int {
	if among == (mask{}) {
		return -1
	}
	for _, p := range r.order {
		if among.has(p) && r.patterns[p].re().MatchString(line) {
			return p
		}
	}
	return -1
}
