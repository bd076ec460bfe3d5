package generate

import (
	"encoding/json"
	"math"
	rx "regexp/syntax"
	"strconv"
	"strings"
)

// matching returns a text that matches a regular expression. ok is false if the
// expression is invalid or uses an unsupported operator.
func (g *Generator) matching(pattern string) (text string, ok bool) {
	re, err := rx.Parse(pattern, rx.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	ok = g.write(&b, re.Simplify(), 0)
	return b.String(), ok
}

// maxMatch bounds the text for one expression, in bytes.
const maxMatch = 4096

// write appends a text that matches re.
func (g *Generator) write(b *strings.Builder, re *rx.Regexp, depth int) bool {
	if depth > 100 || b.Len() > maxMatch {
		return false
	}
	repeat := func(low, high int) bool {
		for range low + g.rnd.IntN(high-low+1) {
			if !g.write(b, re.Sub[0], depth+1) {
				return false
			}
		}
		return true
	}
	switch re.Op {
	case rx.OpEmptyMatch, rx.OpBeginLine, rx.OpEndLine, rx.OpBeginText, rx.OpEndText, rx.OpWordBoundary, rx.OpNoWordBoundary:
		return true
	case rx.OpLiteral:
		b.WriteString(string(re.Rune))
		return true
	case rx.OpCharClass:
		return g.oneOf(b, re.Rune)
	case rx.OpAnyChar, rx.OpAnyCharNotNL:
		b.WriteString(string([]rune("aZ0 é漢")[g.rnd.IntN(6)]))
		return true
	case rx.OpCapture:
		return g.write(b, re.Sub[0], depth+1)
	case rx.OpStar:
		return repeat(0, 6)
	case rx.OpPlus:
		return repeat(1, 6)
	case rx.OpQuest:
		return repeat(0, 1)
	case rx.OpConcat:
		for _, sub := range re.Sub {
			if !g.write(b, sub, depth+1) {
				return false
			}
		}
		return true
	case rx.OpAlternate:
		return g.write(b, re.Sub[g.rnd.IntN(len(re.Sub))], depth+1)
	}
	return false
}

// oneOf appends a character of a class. ranges are pairs of first and last.
func (g *Generator) oneOf(b *strings.Builder, ranges []rune) bool {
	if len(ranges) == 0 {
		return false
	}
	i := g.rnd.IntN(len(ranges)/2) * 2
	low, high := ranges[i], ranges[i+1]
	high = min(high, low+200) // a negated class extends to the end of Unicode
	b.WriteRune(low + rune(g.rnd.IntN(int(high-low)+1)))
	return true
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

func numberOf(f float64) json.Number { return json.Number(strconv.FormatFloat(f, 'g', -1, 64)) }

func floatOf(v any, otherwise float64) float64 {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
	case float64:
		return v
	}
	return otherwise
}

func intOf(v any, otherwise int) int {
	f := floatOf(v, math.NaN())
	if math.IsNaN(f) || f < 0 || f > 1<<30 {
		return otherwise
	}
	return int(f)
}

func stringOf(v any) string {
	s, _ := v.(string)
	return s
}
