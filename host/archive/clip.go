package archive

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const zeroWidthJoiner = '\u200d'

// clip cuts s to n characters, the sign of the cut included, without taking a
// mark or a joined emoji from the letter it belongs to. 0 or less: nothing.
func clip(s string, n int) string {
	if n <= 0 {
		return ""
	}
	cut, count := 0, 0 // cut: where n-1 characters end
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

// boundary moves i back to where a letter begins. A letter of more than 64
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

// clipLine is clip of oneLine, and reads no more of s than it takes.
func clipLine(s string, n int) string {
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
	return clip(b.String(), n)
}

func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// oneLine turns every run of white space and control characters into a space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, blank), " ")
}
