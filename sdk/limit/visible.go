package limit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible writes s so that a person sees all of it and nothing else: characters
// that do not show, that steer a terminal or that change the order or the look
// of others become \uXXXX, bytes that are no UTF-8 become \xXX. In JSON text the
// former mean what they stand for. Line ends stay. It is idempotent.
func Visible(s string) string {
	if !strings.ContainsFunc(s, hides) {
		return s
	}
	var b strings.Builder
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hides(r):
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

// hides reports whether a character is to be written out.
func hides(r rune) bool {
	switch {
	case r == '\n' || r >= ' ' && r < 0x7f:
		return false
	case r == utf8.RuneError:
		return true // the character itself, too: it cannot be told from a broken byte
	case !unicode.IsGraphic(r), unicode.Is(unicode.Zs, r):
		return true
	}
	return unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
