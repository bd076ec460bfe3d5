package find

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// A literal is a string that each match of an expression contains, or one of
// several such strings. A search for it is many times faster than the expression.
type literal struct {
	lit  string // lower case if fold
	fold bool   // ASCII letters match in either case
	// pivot is the index in lit of its rarest byte. at is the next offset of
	// that byte in text, in lower and in upper case; -1 means not yet searched.
	pivot int
	at    [2]int
	hit   int // the next offset of lit, or len(text); valid if seen
	seen  bool
	first bool // only blanks are before it on its line
}

// forget resets n for another text.
func (n *literal) forget() { n.at, n.seen = [2]int{-1, -1}, false }

// next returns the byte offset of the literal in text at or after pos, or -1.
func (n *literal) next(text string, pos int) int {
	if !n.seen || n.hit < pos {
		n.seen = true
		if n.fold || rarity(n.lit[n.pivot]) >= 0 {
			n.hit = n.byPivot(text, pos)
		} else if i := strings.Index(text[pos:], n.lit); i >= 0 {
			n.hit = pos + i
		} else {
			n.hit = len(text)
		}
	}
	if n.hit >= len(text) {
		return -1
	}
	return n.hit
}

// byPivot searches for the rarest byte and compares the rest only at its offsets.
func (n *literal) byPivot(text string, pos int) int {
	pivot := n.lit[n.pivot]
	cases := [2]byte{pivot, pivot}
	if n.fold && 'a' <= pivot && pivot <= 'z' {
		cases[1] -= 'a' - 'A'
	} else {
		n.at[1] = len(text)
	}
	for i := pos + n.pivot; ; i++ {
		for k := range n.at {
			if n.at[k] < i && n.at[k] < len(text) {
				n.at[k] = indexFrom(text, i, cases[k])
			}
		}
		i = min(n.at[0], n.at[1])
		start := i - n.pivot
		if start+len(n.lit) > len(text) {
			return len(text)
		}
		if part := text[start : start+len(n.lit)]; part == n.lit || n.fold && equalFold(part, n.lit) {
			return start
		}
	}
}

func indexFrom(text string, i int, c byte) int {
	if i < len(text) {
		if j := strings.IndexByte(text[i:], c); j >= 0 {
			return i + j
		}
	}
	return len(text)
}

// equalFold compares s with the lower-case literal lit over ASCII.
func equalFold(s, lit string) bool {
	for i := range len(lit) {
		if lower(s[i]) != lit[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// maxLiterals bounds the alternatives, because each is searched separately.
const maxLiterals = 8

// requiredLiterals returns literals of which every match of expr contains at least
// one, or nil if no such set is known or a search for it takes long.
func requiredLiterals(expr string) []literal {
	lits := atMost(maxLiterals).required(expr)
	for _, n := range lits {
		if len(n.lit) == 1 && rarity(n.lit[0]) < rare {
			return nil // too frequent: it is on every line
		}
	}
	return lits
}

// atMost is how many literals a set may have.
type atMost int

// required returns literals of which every match of expr contains one.
func (n atMost) required(expr string) []literal {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	return n.of(re.Simplify())
}

// of is required for a syntax tree.
func (n atMost) of(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return literalsOf(re)
	case syntax.OpCapture, syntax.OpPlus:
		return n.of(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return n.of(re.Sub[0])
		}
	case syntax.OpConcat:
		return n.ofConcat(re.Sub)
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			lits := n.of(sub)
			if lits == nil {
				return nil
			}
			if all = append(all, lits...); len(all) > int(n) {
				return nil
			}
		}
		return all
	}
	return nil
}

// ofConcat returns the literals of the part of a concatenation with the
// longest ones.
func (n atMost) ofConcat(subs []*syntax.Regexp) (best []literal) {
	better := func(lits []literal) {
		if lits != nil && len(lits) <= int(n) && (best == nil || shortest(lits) > shortest(best)) {
			best = lits
		}
	}
	run := []string{""}
	begun, first := false, false // the run is after the beginning and blanks
	for _, sub := range subs {
		if isBegin(sub) || begun && isBlanks(sub) {
			begun, first, run = true, true, []string{""}
			continue
		}
		begun = false
		strs := exact(sub)
		if run = cross(run, strs); run == nil {
			better(n.of(sub))
			first = false
			if run = strs; run == nil {
				run = []string{""}
			}
		}
		better(literals(run, first))
	}
	return best
}

func isBegin(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpBeginLine
}

// isBlanks reports whether re matches only a number of spaces, or of white space.
func isBlanks(re *syntax.Regexp) bool {
	if re.Op != syntax.OpStar && re.Op != syntax.OpPlus && re.Op != syntax.OpQuest {
		return false
	}
	switch sub := re.Sub[0]; sub.Op {
	case syntax.OpLiteral:
		return string(sub.Rune) == " "
	case syntax.OpCharClass:
		return len(sub.Rune) > 0 && sub.Rune[len(sub.Rune)-1] == ' '
	}
	return false
}

// maxExact bounds the strings of exact.
const maxExact = 24

// exact returns all strings that re matches, or nil if they are many or not known.
func exact(re *syntax.Regexp) (all []string) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 && !strings.ContainsRune(string(re.Rune), utf8.RuneError) {
			return []string{string(re.Rune)}
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i+1]-re.Rune[i] >= 10 || len(all) > 10 {
				return nil
			}
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				all = append(all, string(r))
			}
		}
		return all
	case syntax.OpCapture:
		return exact(re.Sub[0])
	case syntax.OpQuest:
		if all = exact(re.Sub[0]); all != nil {
			return append(all, "")
		}
	case syntax.OpConcat:
		all = []string{""}
		for _, sub := range re.Sub {
			if all = cross(all, exact(sub)); all == nil {
				return nil
			}
		}
		return all
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			strs := exact(sub)
			if all = append(all, strs...); strs == nil || len(all) > maxExact {
				return nil
			}
		}
		return all
	}
	return nil
}

// cross returns each of a followed by each of b, or nil if they are many.
func cross(a, b []string) (all []string) {
	if len(a)*len(b) > maxExact {
		return nil
	}
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+y)
		}
	}
	return all
}

// literals returns literals of strs, or nil if one of them is empty.
func literals(strs []string, first bool) (lits []literal) {
	for _, s := range strs {
		if s == "" {
			return nil
		}
		lits = append(lits, newLiteral(s, false))
		lits[len(lits)-1].first = first
	}
	return lits
}

func shortest(lits []literal) int {
	return len(slices.MinFunc(lits, func(a, b literal) int { return len(a.lit) - len(b.lit) }).lit)
}

// literalsOf returns the literal of an OpLiteral. If it ignores case, this is its
// longest run of ASCII without k and s, which also fold to letters beyond ASCII.
func literalsOf(re *syntax.Regexp) []literal {
	lit := string(re.Rune)
	if strings.ContainsRune(lit, utf8.RuneError) {
		return nil // also matches bytes that are not UTF-8
	}
	if re.Flags&syntax.FoldCase == 0 {
		return []literal{newLiteral(lit, false)}
	}
	runs := strings.FieldsFunc(lit, func(r rune) bool {
		return r >= utf8.RuneSelf || strings.ContainsRune("kKsS", r)
	})
	if len(runs) == 0 {
		return nil
	}
	run := strings.ToLower(slices.MaxFunc(runs, func(a, b string) int { return len(a) - len(b) }))
	return []literal{newLiteral(run, true)}
}

func newLiteral(lit string, fold bool) literal {
	n := literal{lit: lit, fold: fold}
	n.forget()
	for i := range len(lit) {
		if rarity(lit[i]) > rarity(lit[n.pivot]) {
			n.pivot = i
		}
	}
	return n
}

// rare is the lowest rank at which a search for a single letter pays off.
const rare = 8

// rarity ranks bytes by how rare they are in English text and code; higher is
// rarer. Bytes beyond ASCII, digits and spaces count as frequent.
func rarity(c byte) int {
	switch {
	case c >= utf8.RuneSelf || c <= '9':
		return -1
	case 'A' <= c && c <= 'Z':
		return 25
	}
	if i := strings.IndexByte("etaoinsrlcdupmhgfbvyw", c); i >= 0 {
		return i
	}
	return 24
}
