// Package tokens estimates how many tokens a text has, by its scripts.
package tokens

import "unicode"

// Tokens per character or run, as common vocabularies of 100,000 to 200,000
// tokens count them.
const (
	perWordChars = 8    // ASCII letters of one word that one token holds
	perDigits    = 3    // ASCII digits that one token holds
	perPunct     = 0.65 // an ASCII punctuation character
	perNewline   = 0.6  // a line end
	perIndent    = 1.0  // a run of two or more spaces
	perHan       = 0.73 // a Chinese character
	perKana      = 0.76 // a Japanese syllable
	perHangul    = 0.76 // a Korean syllable
	perAlphabet  = 0.38 // a letter of another alphabet
	perMark      = 0.5  // a combining mark, a joiner
	perOther     = 1.6  // emoji and everything rare
	perWide      = 0.9  // full-width and CJK punctuation
	PerMessage   = 5    // what a provider adds around one message
)

// Count walks the text once and counts runs: letters of one word, digits,
// spaces; everything else by the character.
func Count(text string) float64 {
	var sum float64
	var kind byte // of the current run: 'a' letters, 'd' digits, ' ' spaces
	var n int
	lower := false // the letter before is a small one
	flush := func() {
		switch kind {
		case 'a':
			sum += float64((n + perWordChars - 1) / perWordChars)
		case 'd':
			sum += float64((n + perDigits - 1) / perDigits)
		case ' ':
			if n > 1 {
				sum += perIndent
			}
		}
		kind, n = 0, 0
	}
	for _, r := range text {
		k := runKind(r)
		// A capital opens a new word inside an identifier: getElementById. In
		// CREATE TABLE it does not.
		capital := r >= 'A' && r <= 'Z'
		if k != kind || k == 'a' && lower && capital {
			flush()
			kind = k
		}
		n++
		lower = k == 'a' && !capital
		if k == 0 {
			sum += charTokens(r)
			n = 0
		}
	}
	flush()
	return sum
}

func runKind(r rune) byte {
	switch {
	case r|0x20 >= 'a' && r|0x20 <= 'z':
		return 'a'
	case r >= '0' && r <= '9':
		return 'd'
	case r == ' ' || r == '\t':
		return ' '
	}
	return 0
}

func charTokens(r rune) float64 {
	switch {
	case r == '\n' || r == '\r':
		return perNewline
	case r < 0x80:
		return perPunct
	case r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF:
		return perHan
	case r >= 0x3040 && r <= 0x30FF:
		return perKana
	case r >= 0xAC00 && r <= 0xD7AF:
		return perHangul
	case r >= 0x3000 && r <= 0x303F, r >= 0xFF00 && r <= 0xFFEF:
		return perWide
	case r < 0x2000 && unicode.IsLetter(r):
		return perAlphabet
	case unicode.Is(unicode.M, r), r == 0x200D:
		return perMark
	}
	return perOther
}
