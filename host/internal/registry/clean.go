package registry

import (
	"strings"
	"unicode"
)

// clean leaves out what a person who approves a text cannot see, and what a
// model may read all the same: control characters but newline and tab, format
// characters, which are the bidirectional controls, the zero-width ones and the
// invisible tags, variation selectors, fillers, private characters, and marks
// piled up on one letter.
func clean(s string) string {
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
		case unseen(r) || marks > maxMarks:
			return -1
		}
		return r
	}, s)
}

// maxMarks is how many marks may stand on one letter; Hebrew with all its
// points takes five.
const maxMarks = 6

// unseen reports whether a character leaves nothing on a page.
func unseen(r rune) bool {
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

// alike returns a form that is the same for names that are easily taken for
// each other: underscores do not count, nor do the differences between 0 and o,
// 1 and l, rn and m, vv and w.
func alike(name string) string { return lookAlikes.Replace(name) }

var lookAlikes = strings.NewReplacer("_", "", "0", "o", "1", "l", "rn", "m", "vv", "w")

// inLine is a file's name as it may stand in a line for a person: a name can
// hold line breaks and what turns the text behind it round.
func inLine(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(clean(s)) }
