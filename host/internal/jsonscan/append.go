package jsonscan

import (
	"encoding/json"
	"unicode/utf8"
)

// AppendString appends a text as a JSON string, as encoding/json writes it without escapes
// for web pages: in one line for every reader of lines.
func AppendString(b []byte, text string) []byte {
	if !utf8.ValidString(text) {
		if quoted, err := json.Marshal(text); err == nil { // each wrong byte becomes U+FFFD
			return append(b, quoted...)
		}
	}
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for {
		n := unescaped(text)
		b = append(b, text[:n]...)
		if text = text[n:]; text == "" {
			return append(b, '"')
		}
		size := 1
		switch c := text[0]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case lineSeparator[0]:
			b = append(b, '\\', 'u', '2', '0', '2', hex[text[2]&0xf])
			size = len(lineSeparator)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		text = text[size:]
	}
}

// lineSeparator and the character after it, the paragraph separator, differ in the last
// byte.
const lineSeparator = "\u2028"

// unescaped returns how many bytes of a valid text come before the first that a JSON
// string escapes.
func unescaped(s string) int {
	for i := 0; i < len(s); i++ {
		for ; i+8 <= len(s); i += 8 {
			// Each term has a high bit where a byte is under 0x20, a quote, a backslash or
			// the first of a line separator; a false alarm costs a closer look.
			t := s[i : i+8]
			w := uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 | uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
			quote, slash, line := w^('"'*ones), w^('\\'*ones), w^(uint64(lineSeparator[0])*ones)
			if ((w-' '*ones)&^w|(quote-ones)&^quote|(slash-ones)&^slash|(line-ones)&^line)&(0x80*ones) != 0 {
				break
			}
		}
		for end := min(i+8, len(s)); i < end; i++ {
			c := s[i]
			if c < ' ' || c == '"' || c == '\\' || c == lineSeparator[0] && s[i+1] == lineSeparator[1] && s[i+2]&^1 == lineSeparator[2] {
				return i
			}
		}
		i--
	}
	return len(s)
}
