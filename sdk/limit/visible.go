package limit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible returns s in a form that hides nothing from a person. Characters that
// are invisible, control a terminal, or change the order or look of others become
// \uXXXX; bytes that are not UTF-8 become \xXX. In JSON text, \uXXXX still means
// the same character. Line ends stay. Visible is idempotent.
func Visible(s string) string { return Escape(s, hides) }

// Escape returns s with each character for which hidden reports true as \uXXXX, and
// each byte that is not UTF-8 as \xXX.
func Escape(s string, hidden func(rune) bool) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hides reports whether Visible must escape a character.
func hides(r rune) bool {
	switch {
	case r == '\n' || r >= ' ' && r < 0x7f:
		return false
	case r == utf8.RuneError:
		return true // U+FFFD itself, too: it looks the same as an invalid byte
	case !unicode.IsGraphic(r), unicode.Is(unicode.Zs, r):
		return true
	}
	return unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
