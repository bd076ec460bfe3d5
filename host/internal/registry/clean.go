package registry

import (
	"strings"
	"unicode"
)

// clean leaves out what a person who approves a text cannot see: control
// characters but newline and tab, and format characters, which are the
// bidirectional controls, the zero-width ones and the invisible tags.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}
