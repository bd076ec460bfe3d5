package postgres

import (
	"strings"
	"unicode/utf8"
)

// mark begins what a text of PostgreSQL cannot have: NUL, a byte that is not UTF-8, and the
// mark itself. It is a character that no text has for another purpose. Two hexadecimal
// digits of the byte follow; 00 is NUL, and 01 the mark.
const mark = "\uFDD0"

// escape returns a text as PostgreSQL can hold it. Different texts stay different.
func escape(text string) string {
	if !strings.Contains(text, "\x00") && !strings.Contains(text, mark) && utf8.ValidString(text) {
		return text
	}
	const digits = "0123456789abcdef"
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		c := text[0]
		switch {
		case text[:size] == mark:
			c = 1
		case r != 0 && (r != utf8.RuneError || size > 1):
			b.WriteString(text[:size])
			text = text[size:]
			continue
		}
		b.WriteString(mark + string(digits[c>>4]) + string(digits[c&15]))
		text = text[size:]
	}
	return b.String()
}

// unescape returns the text that escape had.
func unescape(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, mark)
		b.WriteString(before)
		if !found || len(after) < 2 {
			return b.String()
		}
		if c := value(after[0])<<4 | value(after[1]); c == 1 {
			b.WriteString(mark)
		} else {
			b.WriteByte(c)
		}
		text = after[2:]
	}
}

// value returns the value of a hexadecimal digit.
func value(digit byte) byte {
	if digit >= 'a' {
		return digit - 'a' + 10
	}
	return digit - '0'
}
