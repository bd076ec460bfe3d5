package term

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Reveal returns a text as a terminal may show it: characters that steer a terminal or
// are invisible are written as \uXXXX, as JSON writes them, and bytes that are not
// UTF-8 as \xXX. Line ends, tabs and the two selectors of emoji stay.
func Reveal(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unseen(r) || r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
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

// unseen reports whether Reveal writes a character out.
func unseen(r rune) bool {
	switch r {
	case '\n', '\t', '\ufe0e', '\ufe0f':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Texts returns standard output for texts that others wrote. On a terminal they pass
// Reveal; a file or another program gets every byte as it is.
func (e *Env) Texts() io.Writer {
	if IsTerminal(e.Out) {
		return &Cleaner{W: e.Out, Clean: Reveal}
	}
	return e.Out
}

// A Cleaner writes what Clean makes of a text. A character that two writes divide waits
// for its end; Flush writes what is left of one.
type Cleaner struct {
	W     io.Writer
	Clean func(string) string
	rest  []byte
}

// Write implements io.Writer.
func (c *Cleaner) Write(b []byte) (int, error) {
	text := append(c.rest, b...)
	n := len(text)
	for i := n - 1; i >= max(0, n-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				n = i
			}
			break
		}
	}
	if n > 0 && n == len(text) && text[n-1] == '\r' { // a line's end, or not
		n--
	}
	c.rest = append([]byte(nil), text[n:]...)
	if _, err := io.WriteString(c.W, c.Clean(string(text[:n]))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush writes what Write has kept.
func (c *Cleaner) Flush() error {
	_, err := io.WriteString(c.W, c.Clean(string(c.rest)))
	c.rest = nil
	return err
}
