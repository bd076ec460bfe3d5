package text

import (
	"strings"
	"unicode"
)

// Clean returns s without the characters that a person who approves a text cannot
// see, although a model may read them: control characters except newline and tab,
// format characters (bidirectional controls, zero-width characters, invisible tags),
// variation selectors, fillers, private characters, and marks piled up on one letter.
func Clean(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Me) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case invisible(r) || marks > maxMarks:
			return -1
		}
		return r
	}, s)
}

// maxMarks is the most marks on one letter; fully pointed Hebrew has five.
const maxMarks = 6

// invisible reports whether a character leaves nothing on a page.
func invisible(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' '
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Noncharacter_Code_Point):
		return true
	}
	switch r {
	case 0x034f, // joins what it should not
		0x115f, 0x1160, 0x3164, 0xffa0, // fillers of Hangul
		0x17b4, 0x17b5, // vowels of Khmer that are not written
		0x2800: // Braille without a dot
		return true
	}
	return false
}

// Lookalike returns a form that is equal for names that are easily confused:
// underscores do not count, nor do the differences between 0 and o, 1 and l, rn and m,
// vv and w.
func Lookalike(name string) string { return lookalikes.Replace(name) }

var lookalikes = strings.NewReplacer("_", "", "0", "o", "1", "l", "rn", "m", "vv", "w")

// LikeOneOf returns the first of the names that is equal to name or easily confused with
// it; empty: none is.
func LikeOneOf(name string, names []string) string {
	for _, n := range names {
		if Lookalike(n) == Lookalike(name) {
			return n
		}
	}
	return ""
}

// InLine returns a file's name for a line that a person reads: without line breaks and
// characters that reverse the text after it.
func InLine(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(Clean(s)) }
