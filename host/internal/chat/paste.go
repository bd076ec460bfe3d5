package chat

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// newline represents a line break in a line that is being edited.
const newline = "⏎"

// The marks that a terminal puts around pasted text.
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// A paste translates the keys of a terminal for an editor of one line: the line
// breaks of pasted text, and Alt-Enter, become a visible mark.
type paste struct {
	inside  bool
	partial []byte // the beginning of a mark that has not arrived whole
	breaks  int    // line breaks that are written when more text follows
}

func (p *paste) translate(b []byte) []byte {
	b = append(p.partial, b...)
	p.partial = nil
	var out bytes.Buffer
	for len(b) > 0 {
		rest, ok := p.next(&out, b)
		if !ok {
			p.partial = bytes.Clone(b)
			break
		}
		b = rest
	}
	return out.Bytes()
}

// next translates one key or mark of b. ok is false if it has not arrived whole.
func (p *paste) next(out *bytes.Buffer, b []byte) (rest []byte, ok bool) {
	mark := pasteBegins
	if p.inside {
		mark = pasteEnds
	}
	switch {
	case bytes.HasPrefix(b, []byte(mark)):
		p.inside, p.breaks = !p.inside, 0 // the last line break is not part of a question
		return b[len(mark):], true
	case (len(b) > 1 || p.inside) && strings.HasPrefix(mark, string(b)):
		return b, false
	case !p.inside && len(b) > 1 && b[0] == '\x1b' && (b[1] == '\r' || b[1] == '\n'):
		out.WriteString(newline)
		return b[2:], true
	case !p.inside:
		out.WriteByte(b[0])
		return b[1:], true
	case !utf8.FullRune(b):
		return b, false
	}
	r, n := utf8.DecodeRune(b)
	switch {
	case r == '\r' && len(b) > 1 && b[1] == '\n':
		p.breaks++
		n = 2
	case r == '\r' || r == '\n':
		p.breaks++
	case r == '\t':
		p.write(out, "    ") // a tab would ask for completions
	case !unicode.IsControl(r):
		p.write(out, string(r))
	}
	return b[n:], true
}

func (p *paste) write(out *bytes.Buffer, s string) {
	out.WriteString(strings.Repeat(newline, p.breaks) + s)
	p.breaks = 0
}
