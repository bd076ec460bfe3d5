// Package snippet shortens texts for people and models, and finds the lines of a text
// that contain the words of a query. It counts in characters (Unicode code points).
package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const zeroWidthJoiner = '\u200d'

// Clip shortens s to n characters, with an ellipsis as the last. It does not separate
// a mark or a joined emoji from its letter. If n is 0 or negative, it returns "".
func Clip(s string, n int) string {
	if n <= 0 {
		return ""
	}
	cut, count := 0, 0 // cut: the byte after n-1 characters
	for i := range s {
		if count == n-1 {
			cut = i
		}
		if count == n {
			return strings.TrimRightFunc(s[:boundary(s, cut)], unicode.IsSpace) + "…"
		}
		count++
	}
	return s
}

// boundary returns the start of the letter at byte i. A letter of more than 64
// characters is split.
func boundary(s string, i int) int {
	next, _ := utf8.DecodeRuneInString(s[i:])
	for at, steps := i, 0; at > 0 && steps < 64; steps++ {
		before, size := utf8.DecodeLastRuneInString(s[:at])
		if !belongs(next) && before != zeroWidthJoiner {
			return at
		}
		at -= size
		next = before
	}
	return i
}

// belongs reports whether r continues the letter before it.
func belongs(r rune) bool {
	return r == zeroWidthJoiner || unicode.Is(unicode.M, r) || r >= 0x1F3FB && r <= 0x1F3FF
}

// ClipLine is Clip of OneLine. It reads only as much of s as it needs.
func ClipLine(s string, n int) string {
	var b strings.Builder
	gap, count := false, 0
	for at, size := 0, 0; at < len(s) && count <= n; at += size {
		var r rune
		if r, size = utf8.DecodeRuneInString(s[at:]); blank(r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap, count = false, count+1
		}
		b.WriteString(s[at : at+size])
		count++
	}
	return Clip(b.String(), n)
}

func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// OneLine replaces every run of white space and control characters by a space.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, blank), " ")
}
