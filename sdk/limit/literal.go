package limit

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
// one, or nil if no such set is known.
func requiredLiterals(expr string) []literal {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	lits := required(re.Simplify())
	if len(lits) > maxLiterals {
		return nil
	}
	for _, n := range lits {
		if len(n.lit) == 1 && rarity(n.lit[0]) < rare {
			return nil // too frequent: it is on every line
		}
	}
	return lits
}

// required is requiredLiterals for a syntax tree.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return literalsOf(re)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if lits := required(sub); lits != nil && (best == nil || shortest(lits) > shortest(best)) {
				best = lits
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			lits := required(sub)
			if lits == nil {
				return nil
			}
			all = append(all, lits...)
		}
		return all
	}
	return nil
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
