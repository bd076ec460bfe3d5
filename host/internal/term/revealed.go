package term

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/limit"
)

// Reveal returns a text as a terminal may show it: characters that steer a terminal or
// are invisible are written as \uXXXX, as JSON writes them, and bytes that are not
// UTF-8 as \xXX. Line ends, tabs and the two selectors of emoji stay.
func Reveal(s string) string {
	lines := strings.Split(s, "\r\n")
	for i := range lines {
		lines[i] = limit.Escape(lines[i], unseen)
	}
	return strings.Join(lines, "\r\n")
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
